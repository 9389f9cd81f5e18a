"""Data frames: columns in the order of training, numbers as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dormie.machine.frames import values_of_frame
from tests.machine.predictors import MACHINE, NAMED, WHOLE, predictor_of

FAST, FAST_NAMED = predictor_of(MACHINE), predictor_of(NAMED)
VALUES = FAST.decision_function(WHOLE.astype(np.float64))


@pytest.mark.parametrize("kind", [bool, "boolean"])
def test_a_column_of_booleans_among_numbers_is_zeros_and_ones(kind: Any) -> None:
    frame = pd.DataFrame(WHOLE, columns=list("abcd"), dtype=np.float64)
    expected = FAST.decision_function(np.where(np.arange(4) == 1, WHOLE > 1, WHOLE).astype(np.float64))
    np.testing.assert_array_equal(FAST.decision_function(frame.assign(b=(frame["b"] > 1).astype(kind))), expected)
    polars = pl.DataFrame(WHOLE, schema=list("abcd")).with_columns(pl.col("b") > 1)
    np.testing.assert_array_equal(FAST.decision_function(polars), expected)


def test_numbers_in_a_frame_are_never_boxed_as_objects() -> None:
    frame = pd.DataFrame(WHOLE, columns=list("abcd"), dtype=np.float32)
    assert values_of_frame(frame, None).dtype == np.float32
    for mixed in (frame.assign(a=True), frame.astype("Float32"), frame.assign(c=pd.array([1, 2, None, 4]))):
        assert values_of_frame(mixed, None).dtype == np.float64


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_the_training_columns_in_order_works(frame: Any) -> None:
    rows = frame({name: WHOLE[:, j] for j, name in enumerate("abcd")})
    np.testing.assert_array_equal(FAST_NAMED.decision_function(rows), VALUES)
    np.testing.assert_array_equal(FAST_NAMED.decision_function(WHOLE), VALUES)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("abdc", "another order than in training: column 2 is 'd', training had 'c'"),
        ("abc", r"missing \['d'\], unknown \[\]"),
        ("abcde", r"missing \[\], unknown \['e'\]"),
        ("abcx", r"missing \['d'\], unknown \['x'\]"),
    ],
)
def test_other_columns_than_in_training_are_named(frame: Any, names: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FAST_NAMED.predict(frame({name: [1.0, 2.0] for name in names}))


def test_a_column_given_twice_is_named() -> None:
    frame = pd.DataFrame(np.zeros((2, 5)), columns=list("abcdb"))
    with pytest.raises(ValueError, match=r"columns given more than once: \['b'\]"):
        FAST_NAMED.predict(frame)

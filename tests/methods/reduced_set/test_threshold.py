"""The threshold with the fewest errors, against trying them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats
from dormie.machine.rules import Argmax, OneVsOneVote, Sign
from dormie.machine.typing import Booleans
from dormie.methods.reduced_set.threshold import least_errors_shift, positions, refitted_bias
from tests.oracles import reduced_set as naive_reduction


def _wrong(values: Floats, positive: Booleans, zero: bool = False) -> int:
    return int((((values > 0) | ((values == 0) & zero)) != positive).sum())


@settings(max_examples=200)
@given(
    values=st.lists(st.integers(-4, 4), min_size=1, max_size=12), sides=st.integers(0, 2**12 - 1), zero=st.booleans()
)
def test_no_threshold_has_fewer_errors(values: list[int], sides: int, zero: bool) -> None:
    found, positive = np.array(values, dtype=np.float64), np.array([bool(sides >> i & 1) for i in range(len(values))])
    shift = least_errors_shift(found, positive, zero)
    now, best = _wrong(found, positive, zero), naive_reduction.fewest_errors(found, positive)
    assert _wrong(found + shift, positive, zero) == min(now, best)
    assert (shift == 0) == (best >= now)


def test_of_equally_good_thresholds_the_nearest_to_the_old_one_is_taken() -> None:
    values = np.array([-9.0, -8.0, -4.0, -3.0, 5.0, 6.0])
    positive = np.array([False, True, False, True, True, True])  # below -8, and between -4 and -3: one error
    assert least_errors_shift(values, positive, False) == 3.5


def test_a_threshold_that_cannot_be_bettered_stays_to_the_bit() -> None:
    values = np.array([-1.0, 0.1, 2.0])
    assert least_errors_shift(values, np.array([False, True, True]), False) == 0
    assert least_errors_shift(np.empty(0), np.empty(0, dtype=np.bool_), False) == 0


@pytest.mark.parametrize("value", [-2.0, -1e-300, -1e12])
def test_outputs_that_are_all_the_same_go_to_the_larger_class(value: float) -> None:
    values, positive = np.full(5, value), np.array([True, True, True, False, False])
    assert _wrong(values + least_errors_shift(values, positive, False), positive) == 2


def test_many_rows_take_a_sort_and_no_more() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(300_000) < 0.5
    values = rng.normal(size=300_000) + positive + 3
    assert least_errors_shift(values, positive, True) == pytest.approx(-3.5, abs=0.05)


def test_each_output_is_judged_by_the_rows_it_is_to_tell_apart() -> None:
    answers = np.array([0, 0, 1, 1, 2, 2])
    outputs = np.zeros((6, 3))
    outputs[:, 0] = [5, 4, 2, 1, -9, 9]  # 0 against 1: best at 3
    outputs[:, 1] = [-1, -2, 9, -9, -4, -5]  # 0 against 2: best at -3
    outputs[:, 2] = [9, -9, 1, 2, -1, -2]  # 1 against 2: best as it is
    bias = np.array([1.0, 1.0, 1.0])
    moved = refitted_bias(OneVsOneVote(np.array([7, 8, 9])), bias, outputs, answers)
    np.testing.assert_allclose(moved - bias, [-3, 3, 0])


def test_one_against_the_rest_is_judged_by_all_rows() -> None:
    answers = np.array([0, 1, 2, 2])
    outputs = np.array([[3.0, -3.0, 0.5], [1.0, -1.0, 0.25], [1.0, -2.0, 1.0], [0.5, -4.0, 2.0]])
    moved = refitted_bias(Argmax(np.arange(3)), np.zeros(3), outputs, answers)
    np.testing.assert_allclose(moved, [-2.0, 1.5, -0.75])


def test_labels_are_found_in_any_order_of_classes() -> None:
    rule = Sign(np.array(["pear", "apple"]))
    assert positions(rule, ["apple", "pear", "apple"], 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"one label for each of the 3 rows of X, got shape \(2,\)"),
        ([[0], [1], [0]], r"got shape \(3, 1\)"),
        ([0, 1, 5], r"^y\[2\] is 5, which is none of the classes \(0, 1\)$"),
        (["a", 0, 1], r"^y\[0\] is 'a', which is none of the classes"),
        ([0, np.nan, 1], r"^y\[1\] is nan, which is none of the classes"),
    ],
)
def test_labels_that_cannot_be_are_named(labels: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        positions(Sign(np.array([0, 1])), labels, 3)

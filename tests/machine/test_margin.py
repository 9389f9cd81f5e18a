"""Margins add, move to other norms, and never claim too much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine.margin import Margin


@given(
    st.lists(st.floats(0, 1e3), min_size=2, max_size=2),
    st.lists(st.floats(0, 1e3), min_size=2, max_size=2),
    st.floats(0, 10),
    st.floats(0, 10),
    st.floats(0, 100),
)
def test_margins_add_and_move_to_other_norms(one: list[float], two: list[float], a: float, b: float, t: float) -> None:
    first = Margin(np.array([1.0]), np.array([2.0]), one[0], one[1], 3)
    second = Margin(np.array([0.5]), np.array([1.0]), two[0], two[1], 3)
    total = (first + second)([t])
    assert (total >= (first([t]) + second([t])) * (1 - 1e-12)).all()
    moved = first.of_norms(a, b)([t])
    assert (moved >= first([a * t + b]) * (1 - 1e-9)).all()


@pytest.mark.parametrize(
    "boundless",
    [
        Margin(np.array([1.0, np.inf]), np.array([2.0, 0.0])),
        Margin(np.array([1.0, 0.0]), np.array([2.0, np.inf]), 1e-300, 0.0, 5),
        Margin(np.array([1.0, 0.0]), np.array([0.0, 1e-300]), np.inf, 0.0, 2),
        Margin(np.array([1.0, 0.0]), np.array([0.0, 1e-300]), 1.0, np.inf, 2),
    ],
)
def test_margins_without_infinity_claim_no_more(boundless: Margin) -> None:
    finite = boundless.without_infinity()
    assert np.isfinite([*finite.constant, *finite.slope, finite.gain, finite.start]).all()
    known, told = boundless([0.0, 1.0, 1e10]), finite([0.0, 1.0, 1e10])
    assert (told[:, 1] >= 1e308).all()
    np.testing.assert_array_equal(told[:, 0], known[:, 0])

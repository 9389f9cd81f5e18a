"""Logarithms of sums: against real numbers, where terms are within the range of float64 and where they are not."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dormie.machine.kernels import RBF, Laplacian
from dormie.machine.rules import LogDensity, Value
from dormie.numerics.log_sum import has_log_sums, log_sums
from tests.oracles import full_sum as naive
from tests.properties.strategies import by_hand


@pytest.mark.parametrize("far", [0.0, 1.0, 30.0, 1e4, 1e9])
def test_logarithms_are_those_of_the_real_sums(far: float) -> None:
    rng = np.random.default_rng(3)
    made = by_hand(
        RBF(0.7), rng.normal(size=(40, 3)), rng.uniform(0, 2, size=40) * rng.integers(0, 2, 40), 0.0, LogDensity()
    )
    rows = rng.normal(size=(6, 3)) + far
    found = log_sums(made, rows)
    with mpmath.workdps(60):
        for value, (real,) in zip(found[:, 0], naive.exact_outputs(made, rows), strict=True):
            exact = mpmath.log(real)
            assert abs(mpmath.mpf(float(value)) - exact) <= (3 + 6) * 2.0**-53 * abs(exact) + 60 * 2.0**-53


def test_no_terms_and_other_machines() -> None:
    none = by_hand(RBF(0.7), np.ones((2, 1)), np.zeros(2), 0.0, LogDensity())
    assert log_sums(none, np.ones((1, 1))).tolist() == [[-np.inf]]
    assert has_log_sums(none)
    assert not has_log_sums(by_hand(RBF(0.7), np.ones((2, 1)), [1.0, -1.0], 0.0, LogDensity()))
    assert not has_log_sums(by_hand(RBF(0.7), np.ones((2, 1)), [1.0, 1.0], 0.5, Value()))
    assert not has_log_sums(by_hand(Laplacian(0.7), np.ones((2, 1)), [1.0, 1.0], 0.0, Value()))

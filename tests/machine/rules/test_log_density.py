"""The rule of densities: logarithms of outputs, their bounds, and what a tolerance means."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine.rules import LogDensity


@given(
    low=st.floats(-1e-300, 1e300),
    share=st.floats(0.0, 2.0),
    inside=st.floats(0.0, 1.0),
    shift=st.floats(-1e6, 1e6),
)
def test_bounds_contain_the_real_logarithms_and_the_values(
    low: float, share: float, inside: float, shift: float
) -> None:
    rule, high = LogDensity(shift), low + share * abs(low)
    output = min(max(low + inside * (high - low), low), high)
    least, most = rule.bounds(np.array([[low]]), np.array([[high]]))
    value = rule.values(np.array([[output]]))[0, 0]
    assert least[0, 0] <= value <= most[0, 0]
    if output > 0:
        with mpmath.workdps(50):
            real = mpmath.log(mpmath.mpf(output)) + mpmath.mpf(shift)
            assert mpmath.mpf(float(least[0, 0])) <= real <= mpmath.mpf(float(most[0, 0]))


def test_an_output_that_may_be_zero_settles_nothing() -> None:
    low, high = np.array([[0.99], [0.0], [-1e-9], [0.5]]), np.array([[1.01], [1e-9], [1e-9], [0.6]])
    with np.errstate(invalid="ignore"):
        assert LogDensity(0.0, 0.05).settled(low, high).tolist() == [True, False, False, False]
    assert LogDensity(-3.0).labels(LogDensity(-3.0).answer(np.array([[1.0]]))).tolist() == [-3.0]


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="shift and tolerance must be finite"):
        LogDensity(float("inf"))
    with pytest.raises(ValueError, match="the tolerance not negative"):
        LogDensity(0.0, -1.0)
    with pytest.raises(ValueError, match="LogDensity reads one output, the machine has 2"):
        LogDensity().check_outputs(2)
    assert LogDensity(1.0).within(0.5) == LogDensity(1.0, 0.5)

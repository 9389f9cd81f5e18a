"""Transformed targets: bounds that contain the values of all outputs between, in real numbers and as NumPy rounds."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine.rules import Transformed
from dormie.machine.rules.transformed import FUNCTIONS

_EXACT: dict[str, Any] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "square": lambda x: x * x,
    "arcsinh": mpmath.asinh,
    "arctanh": mpmath.atanh,
    "negative": lambda x: -x,
    "positive": lambda x: x,
}
_DOMAIN = {
    **dict.fromkeys(("log", "log2", "log10"), (1e-6, 1e6)),
    "log1p": (-0.999, 1e6),
    "sqrt": (0.0, 1e6),
    "arctanh": (-0.999, 0.999),
    **dict.fromkeys(("cbrt", "square", "arcsinh", "negative", "positive"), (-1e6, 1e6)),
}


@given(name=st.sampled_from(sorted(FUNCTIONS)), ends=st.tuples(st.floats(0, 1), st.floats(0, 1)), share=st.floats(0, 1))
@settings(max_examples=400)
def test_bounds_contain_the_values_of_all_outputs_between(name: str, ends: Any, share: float) -> None:
    least, most = _DOMAIN.get(name, (-50.0, 50.0))
    low, high = (np.array([[least + (most - least) * end]]) for end in sorted(ends))
    rule = Transformed(name)
    bottom, top = rule.bounds(low, high)
    for inside in (low, high, np.clip(low + share * (high - low), low, high)):
        with mpmath.workdps(60):
            exact = (_EXACT[name] if name in _EXACT else getattr(mpmath, name))(mpmath.mpf(float(inside[0, 0])))
            assert float(bottom[0, 0]) <= exact <= float(top[0, 0])
        assert bottom <= rule.values(inside) <= top
    if low == high:
        assert top - bottom <= 1e-13 * abs(rule.values(low)) + 1e-299


def test_values_out_of_range_are_numpys_and_never_settled() -> None:
    rule = Transformed("exp", tolerance=1.0)
    outputs = np.array([[1000.0], [0.0]])
    assert rule.values(outputs)[:, 0].tolist() == [np.inf, 1.0]
    assert rule.settled(outputs, outputs).tolist() == [False, True]
    below = np.array([[-1.0]])
    assert np.isnan(Transformed("sqrt").values(below)).all()
    assert not Transformed("sqrt", tolerance=1.0).settled(below, -below).any()


def test_answers_have_the_shape_of_the_targets() -> None:
    outputs = np.zeros((3, 1))
    assert Transformed("exp").labels(np.exp(outputs)).shape == (3,)
    assert Transformed("exp", flat=False).labels(np.exp(outputs)).shape == (3, 1)
    assert Transformed("exp").within(0.5) == Transformed("exp", 0.5)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no function 'sin'; there are exp, exp2"):
        Transformed("sin")
    with pytest.raises(ValueError, match="tolerance must be finite"):
        Transformed("exp", -1.0)
    with pytest.raises(ValueError, match="flat answers need one output"):
        Transformed("exp").check_outputs(2)

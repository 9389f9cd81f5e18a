"""Regressors of several and of transformed targets that are not read, and what to do with these instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.preprocessing import FunctionTransformer, PowerTransformer
from sklearn.svm import SVR

import dormie
from dormie.estimators import CompiledRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
NEW = RNG.normal(size=(200, 3))
y = np.exp(X[:, 0])


def _cube(values: Any) -> Any:
    return values**3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"func": np.cbrt, "inverse_func": _cube}, "its inverse_func is none of numpy"),
        (
            {"func": np.sin, "inverse_func": np.arcsin, "check_inverse": False},
            "its inverse_func is none of numpy's exp",
        ),
        ({"transformer": PowerTransformer()}, "its transformer_ is no scaler: PowerTransformer"),
        ({"transformer": FunctionTransformer(np.log, np.power, inv_kw_args={"x2": 2})}, "none of numpy's"),
    ],
)
def test_unknown_functions_are_refused_and_the_advice_is_of_use(options: dict[str, Any], message: str) -> None:
    bounded = X[:, 0] / 10 if options.get("func") is np.sin else y
    if "transformer" in options and isinstance(options["transformer"], FunctionTransformer):
        options = options | {"check_inverse": False}
        model = TransformedTargetRegressor(SVR(), func=np.log, inverse_func=np.exp).fit(X, y)
        model.transformer_ = options["transformer"]
    else:
        model = TransformedTargetRegressor(SVR(), **options).fit(X, bounded)
    with pytest.raises(dormie.UnreadableModelError, match=message) as refusal:
        dormie.compile(model)
    assert "TransformedTargetRegressor(dormie.estimators.CompiledRegressor(SVR()), ...)" in str(refusal.value)
    if model.transformer_ is options.get("transformer"):
        return
    advised = TransformedTargetRegressor(CompiledRegressor(SVR(), effort="quick"), **options).fit(X, bounded)
    np.testing.assert_allclose(advised.predict(NEW), model.predict(NEW), rtol=1e-9)


def test_values_that_are_mapped_already_are_refused() -> None:
    inside = TransformedTargetRegressor(SVR(), func=np.log, inverse_func=np.exp)
    model = TransformedTargetRegressor(inside, func=np.log1p, inverse_func=np.expm1).fit(X, y)
    with pytest.raises(dormie.UnreadableModelError, match="are mapped already"):
        dormie.compile(model)


def test_a_gaussian_process_may_be_inside() -> None:
    model = TransformedTargetRegressor(GaussianProcessRegressor(alpha=0.1), func=np.log, inverse_func=np.exp).fit(X, y)
    np.testing.assert_allclose(dormie.compile(model).predict(NEW), model.predict(NEW), rtol=1e-9)

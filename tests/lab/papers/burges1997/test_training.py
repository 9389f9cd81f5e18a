"""The three penalties against a general solver of the primal problem, and chunks against all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from dormie.lab.papers.burges1997 import training
from dormie.lab.papers.burges1997.training import PENALTIES, ChunkedSVC, train
from dormie.machine import Floats
from dormie.machine.kernels import Linear, Polynomial

RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(60, 2))
SIGNS = np.where(ROWS[:, 0] + 0.8 * RNG.normal(size=60) > 0, 1.0, -1.0)  # no line separates them


def _penalty(name: str, slacks: Floats) -> float:
    return float({"sum": slacks.sum(), "sum, squared": slacks.sum() ** 2, "squares, summed": (slacks**2).sum()}[name])


def _objective(name: str, w: Floats, b: float, C: float) -> float:
    """Equation 3 of a line, with the least slacks that it allows."""
    return float(w @ w / 2 + C * _penalty(name, np.maximum(1 - SIGNS * (ROWS @ w + b), 0)))


@pytest.mark.parametrize("C", [0.001, 0.02, 1.0])
@pytest.mark.parametrize("name", PENALTIES)
def test_equation_3_is_minimised(name: str, C: float) -> None:
    found = train(Linear(), ROWS, SIGNS, C, name)
    ours = _objective(name, found.weights @ ROWS[found.support], float(found.bias[0]), C)
    starts = [np.zeros(3), np.array([1.0, 0.0, 0.0]), RNG.normal(size=3)]
    options = {"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-12}
    best = min(
        minimize(lambda v: _objective(name, v[:2], v[2], C), start, method="Nelder-Mead", options=options).fun
        for start in starts
    )
    assert ours == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("C", [0.001, 0.02, 1.0])
def test_with_the_sum_squared_the_bound_is_twice_c_times_the_slack(C: float) -> None:
    found = train(Linear(), ROWS, SIGNS, C, "sum, squared")
    assert found.bound == pytest.approx(2 * C * found.total_slack, rel=0.05)
    assert np.abs(found.weights).max() <= found.bound


def _digit_rows() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), np.where(y == 8, 1.0, -1.0)


def test_chunks_give_the_machine_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_CHUNK", 100)
    X, signs = _digit_rows()
    chunked = ChunkedSVC(Polynomial(1.0, 0.0, 5), 10.0).fit(X, signs)
    whole = SVC(kernel="poly", degree=5, gamma=1.0, coef0=0.0, C=10.0, tol=1e-4).fit(X.astype(np.float64), signs)
    np.testing.assert_allclose(chunked.decision_function(X), whole.decision_function(X), atol=0.01)
    assert chunked.machine_.n_points == len(chunked.support_)
    np.testing.assert_array_equal(chunked.machine_.points, X[chunked.support_])


@pytest.mark.parametrize("C", [0.001, 0.02, 1.0, 100.0])
@pytest.mark.parametrize("name", PENALTIES)
def test_tiny_chunks_come_to_the_same_end(name: str, C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(Linear(), ROWS, SIGNS, C, name)
    monkeypatch.setattr(training, "_CHUNK", 6)
    found = train(Linear(), ROWS, SIGNS, C, name)
    both = [_objective(name, each.weights @ ROWS[each.support], float(each.bias[0]), C) for each in (found, whole)]
    assert both[0] == pytest.approx(both[1], rel=2e-3)


def test_an_unknown_penalty_is_refused() -> None:
    with pytest.raises(ValueError, match=r"penalty must be one of 'sum', .*, got 'squares'"):
        train(Linear(), ROWS, SIGNS, 1.0, "squares")


def test_separable_rows_have_next_to_no_slack() -> None:
    """Then a bound changes little: both penalties on the sum give nearly the machine without slacks."""
    X, signs = _digit_rows()
    for name in ("sum", "sum, squared"):
        found = train(Polynomial(1.0, 0.0, 5), X[:300], signs[:300], 10.0, name)
        assert found.total_slack < 1

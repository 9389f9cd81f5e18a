"""Kernel density estimates: log-densities near the points and far from them, weights, tolerances, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dormie
from dormie.errors import UnreadableModelError
from dormie.machine.rules import LogDensity

RNG = np.random.default_rng(43)


def fitted(n: int, d: int, bandwidth: Any, weighted: bool = False, **parameters: Any) -> Any:
    """With one leaf: search trees lose digits far from the points."""
    X = RNG.normal(size=(n, d))
    weights = RNG.uniform(0.01, 3, size=n) if weighted else None
    return KernelDensity(bandwidth=bandwidth, leaf_size=n + 1, **parameters).fit(X, sample_weight=weights)


def rows_for(model: Any) -> Any:
    d, points = model.n_features_in_, np.asarray(model.tree_.data)
    near, far = RNG.normal(size=(40, d)), RNG.normal(size=(8, d))
    return np.vstack([near, points[:3], 10 * far, 1e4 * far])


def real_log_density(model: Any, row: Any) -> Any:
    """By the definition, in many digits."""
    points, h = np.asarray(model.tree_.data).tolist(), mpmath.mpf(float(model.bandwidth_))
    weights = model.tree_.sample_weight
    weights = [1.0] * len(points) if weights is None else np.asarray(weights).tolist()
    terms = [
        mpmath.mpf(w)
        * mpmath.exp(-sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(row, s, strict=True)) / (2 * h * h))
        for w, s in zip(weights, points, strict=True)
    ]
    total = mpmath.fsum(map(mpmath.mpf, weights))
    return mpmath.log(mpmath.fsum(terms) / total / (mpmath.sqrt(2 * mpmath.pi) * h) ** len(row))


SHAPES = [(60, 1, 0.3, False), (200, 3, 0.5, True), (100, 40, 0.8, False), (30, 2, 1e-3, True), (30, 200, 0.1, False)]


@pytest.mark.parametrize(
    ("n", "d", "bandwidth", "weighted"), [*SHAPES, (80, 4, "scott", False), (80, 4, "silverman", True)]
)
def test_log_densities_are_those_of_scikit_learn(
    n: int, d: int, bandwidth: Any, weighted: bool, tmp_path: Path
) -> None:
    model = fitted(n, d, bandwidth, weighted)
    rows = rows_for(model)
    fast = dormie.compile(model)
    found = fast.predict(rows)
    np.testing.assert_allclose(found, model.score_samples(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(fast.score_samples(rows), found)
    fast.save(tmp_path / "plan")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(rows), found)


@pytest.mark.parametrize(("n", "d", "bandwidth", "weighted"), SHAPES)
@pytest.mark.parametrize("tolerance", [0.05, 1e-6])
def test_a_tolerance_holds_of_the_real_log_densities(
    n: int, d: int, bandwidth: float, weighted: bool, tolerance: float
) -> None:
    model = fitted(n, d, bandwidth, weighted)
    rows = rows_for(model)
    found = dormie.compile(model, tolerance=tolerance, effort="quick").predict(rows)
    with mpmath.workdps(60):
        for value, row in list(zip(found, rows.tolist(), strict=True))[::4]:
            real = real_log_density(model, row)
            assert abs(mpmath.mpf(float(value)) - real) <= tolerance + (d + 6) * 2.0**-53 * abs(real)


@pytest.mark.parametrize("methods", [["fast_stopping"], ["geometry"], ["reduced_set"]], ids=str)
def test_named_methods_keep_the_tolerance(methods: list[str]) -> None:
    model = fitted(150, 2, 0.7)
    rows = rows_for(model)
    fast = dormie.compile(model, rows, tolerance=0.05, methods=methods, effort="quick")
    np.testing.assert_allclose(fast.predict(rows), model.score_samples(rows), rtol=1e-9, atol=0.05)


def test_densities_behind_a_scaler_and_on_numpy() -> None:
    X = RNG.normal(size=(50, 3)) * [1, 100, 0.01]
    model = make_pipeline(StandardScaler(), KernelDensity(bandwidth=0.5)).fit(X)
    np.testing.assert_allclose(dormie.compile(model).predict(X), model.score_samples(X), rtol=1e-9)
    machine = dormie.read(model)
    assert isinstance(machine.rule, LogDensity)
    assert machine.rule.shift == pytest.approx(-1.5 * np.log(2 * np.pi) - 3 * np.log(0.5))


def test_a_negative_weight_and_other_kernels_have_logarithms_of_their_outputs() -> None:
    rule = LogDensity(1.0)
    machine = dormie.Machine(dormie.kernels.RBF(0.5), [[0.0], [1.0]], [2.0, -1.0], 0.0, rule)
    found = dormie.compile(machine).predict([[0.0], [100.0]])
    np.testing.assert_allclose(found, [1 + np.log(2 - np.exp(-0.5)), -np.inf])


@pytest.mark.parametrize("kernel", ["tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_other_kernels_are_refused(kernel: str) -> None:
    with pytest.raises(UnreadableModelError, match="Fit it with kernel='gaussian'"):
        dormie.read(fitted(20, 2, 0.5, kernel=kernel))


def test_other_metrics_and_risks_are_refused() -> None:
    with pytest.raises(UnreadableModelError, match="metric='manhattan' is not euclidean"):
        dormie.read(fitted(20, 2, 0.5, metric="manhattan"))
    model = fitted(300, 2, 0.5)
    with pytest.raises(ValueError, match="Leave the risk out"):
        dormie.compile(model, RNG.normal(size=(3000, 2)), tolerance=0.1, risk=0.1)

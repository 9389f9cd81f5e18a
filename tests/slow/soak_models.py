"""Models trained with scikit-learn for the soak: data on the decision boundary, or that strains arithmetic."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, NuSVC, OneClassSVM

import dormie

Generator = np.random.Generator
ROWS = 1000


def check_model(rng: Generator) -> tuple[int, int]:
    """Compile a model and compare every label with its own; returns the rows, and how many its own sum decided."""
    style = sorted(STYLES)[int(rng.integers(len(STYLES)))]
    X: Any = STYLES[style](rng, int(rng.integers(8, 120)), int(rng.integers(1, 9)))
    model = _fitted(rng, X)
    if model is None:
        return 0, 0
    rows = _rows(rng, X, model)
    fast = dormie.compile(model, effort="quick")
    found, expected = fast.predict(rows), model.predict(rows)
    wrong = np.flatnonzero(found != expected)
    assert not len(wrong), f"{model!r} on {style}, row {wrong[0]} {rows[wrong[0]]}: {found[wrong[0]]}\n  {fast!r}"
    return len(found), int((fast.trace(rows).stage == "source").sum())


def _fitted(rng: Generator, X: Any) -> Any:
    """A model of one of many kinds, or None where the data will not have it."""
    classes = int(rng.choice([2, 2, 3, 4]))
    y = (np.abs(X).sum(axis=1) % 7).astype(int) % classes if rng.random() < 0.3 else rng.integers(classes, size=len(X))
    if len(np.unique(y)) < 2:
        return None
    scale = float(np.clip(np.var(X), 1e-300, 1e300))
    gamma = 10.0 ** rng.uniform(-2, 1) / scale if rng.random() < 0.5 else "scale" if rng.random() < 0.5 else 0.5
    kernel = {
        "kernel": str(rng.choice(["rbf", "rbf", "linear", "poly", "sigmoid"])),
        "gamma": gamma,
        "degree": int(rng.integers(1, 5)),
        "coef0": float(rng.choice([0.0, 1.0])),
        "max_iter": 2000,  # numbers may be such that the solver never gets there
    }
    C = float(rng.choice([0.1, 1.0, 100.0]))
    model = [
        SVC(**kernel, C=C, break_ties=bool(rng.random() < 0.3)),
        SVC(**kernel, C=C),
        NuSVC(**kernel, nu=0.2),
        OneClassSVM(**kernel, nu=0.3),
        OneVsRestClassifier(SVC(**kernel, C=C)),
    ][int(rng.integers(5))]
    scalers = [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]
    steps = [scalers[i] for i in rng.permutation(4)[: int(rng.choice([0, 0, 1, 2]))]]
    sparse = rng.random() < 0.2 and not steps
    X = X.astype(str(rng.choice(["float32", "float64"]))) if np.abs(X).max() < 1e10 else X  # to be trained on
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make_pipeline(*steps, model).fit(scipy.sparse.csr_matrix(X) if sparse else X, y)
        except ValueError:  # infeasible nu, one class only, numbers that overflow
            return None


def _rows(rng: Generator, X: Any, model: Any) -> Any:
    """Training rows, rows between two of them, mixtures of columns, rows halved down to the decision boundary."""
    a, b = X[rng.integers(len(X), size=(2, ROWS))]
    share = rng.choice([0.0, 0.5, 0.25, 1.0], size=(ROWS, 1))
    mixed = np.where(rng.random(X.shape[1]) < 0.5, a, b)
    rows = np.where(rng.random((ROWS, 1)) < 0.5, a + share * (b - a), mixed)
    one, other = rows[:50].copy(), rows[50:100].copy()
    labels = model.predict(one)
    for _ in range(60):
        middle = one / 2 + other / 2
        same = (model.predict(middle) == labels)[:, None]
        one, other = np.where(same, middle, one), np.where(same, other, middle)
    rows[:100] = np.vstack([one, other])
    return rows


def _far_clusters(rng: Generator, n: int, d: int) -> Any:
    X = rng.normal(size=(n, d))
    X[: n // 2, 0] += 10.0 ** rng.uniform(4, 10)
    return X


def _timestamps(rng: Generator, n: int, d: int) -> Any:
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(1.6e12 + rng.uniform(0, 3.15e10, size=n))
    return X


STYLES: dict[str, Callable[[Generator, int, int], Any]] = {
    "whole numbers": lambda rng, n, d: rng.integers(-3, 4, size=(n, d)).astype(float),
    "counts": lambda rng, n, d: rng.poisson(2.0, size=(n, d)).astype(float),
    "one-hot": lambda rng, n, d: np.eye(d + 1)[rng.integers(d + 1, size=n)],
    "ordinary": lambda rng, n, d: rng.normal(size=(n, d)),
    "halves": lambda rng, n, d: rng.integers(-4, 5, size=(n, d)) / 2,
    "far clusters": _far_clusters,
    "timestamps": _timestamps,
    "tiny": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-20, -3),
    "huge": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(3, 20),
}

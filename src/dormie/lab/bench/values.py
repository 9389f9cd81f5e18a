"""Values instead of labels: regressors and probabilities with a tolerance and a risk, and the most anomalous rows.

Times are of the processor, with one thread, in interleaved rounds, the best of which counts: other programs on the
computer change them least. The model itself is asked for fewer rows, since it takes so much longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dormie.lab import datasets
from dormie.planner import compile

_SEED = 0
_RISK = 0.001
_HELD_OUT = 20_000
_ROUNDS = 5
_SOURCE_ROWS = 2000
_MOST_ROWS = 40_000

Task = Callable[[], Any]


@dataclass(frozen=True)
class ValueStanding:
    """Microseconds of a row, of the model and compiled; the largest error, and how many rows are off by too much."""

    title: str
    stages: str
    model: float
    compiled: float
    largest: float
    off: int
    compared: int

    @property
    def times(self) -> float:
        return self.model / self.compiled


def friedman(kind: str, percent: float) -> ValueStanding:
    """Friedman's first function of 8 features with noise; the tolerance is a share of the targets' deviation."""
    from sklearn.datasets import make_friedman1  # optional

    X, y = make_friedman1(7000 + _HELD_OUT + _MOST_ROWS, n_features=8, noise=1.0, random_state=_SEED)
    train, rest = X[:7000], X[7000:]
    model = _regressor(kind, train, y[:7000])
    tolerance = percent / 100 * float(y[:7000].std())
    fast = compile(model, rest[:_HELD_OUT], fit_rows=train, tolerance=tolerance, risk=_RISK)
    title = f"{kind} on friedman1, within {percent:g} % of the deviation"
    return _standing(title, str(fast.plan.cascade), model.predict, fast.predict, rest[_HELD_OUT:], tolerance)


def _regressor(kind: str, X: Any, y: Any) -> Any:
    """An SVR, or a Gaussian process whose kernel was fitted to the first 1,000 rows, since that takes so long."""
    from sklearn.gaussian_process import GaussianProcessRegressor  # optional
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel  # optional
    from sklearn.svm import SVR  # optional

    if kind == "svr":
        return SVR(C=10).fit(X, y)
    few = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True).fit(X[:1000], y[:1000])
    return GaussianProcessRegressor(few.kernel_, normalize_y=True, optimizer=None).fit(X, y)


def probabilities(name: str, training: int, **parameters: Any) -> ValueStanding:
    """Probabilities of a calibrated SVC within 0.01."""
    from sklearn.calibration import CalibratedClassifierCV  # optional
    from sklearn.svm import SVC  # optional

    data = datasets.load(name)
    X, y = data.X, data.y
    if data.X_test is not None and data.y_test is not None:
        X, y = np.vstack([X, data.X_test]), np.concatenate([y, data.y_test])
    order = np.random.default_rng(_SEED).permutation(len(y))
    train, rest = X[order[:training]], X[order[training:]]
    if "gamma" not in parameters:
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        train, rest = ((part - mean) / np.where(deviation == 0, 1, deviation) for part in (train, rest))
    model = CalibratedClassifierCV(SVC(**parameters), ensemble=False).fit(train, y[order[:training]])
    held_out = min(_HELD_OUT, len(rest) // 2)
    fast = compile(model, rest[:held_out], fit_rows=train, tolerance=0.01, risk=_RISK)
    assert fast.plan.values is not None
    stages = str(fast.plan.values.cascade)
    title = f"probabilities on {name}, {training:,} training rows, within 0.01"
    return _standing(title, stages, model.predict_proba, fast.predict_proba, rest[held_out:], 0.01)


def anomalies(count: int = 1_000_000, k: int = 100) -> ValueStanding:
    """The most anomalous rows of many, against scoring all of them."""
    from sklearn.svm import OneClassSVM  # optional

    rng = np.random.default_rng(_SEED)
    X = rng.normal(size=(count, 10)) * rng.choice([1.0, 1.5], size=(count, 1))
    model = OneClassSVM(nu=0.1).fit(X[:10_000])
    fast = compile(model, X[:_HELD_OUT])
    found = fast.most_anomalous(X, k)
    errors = np.abs(found.scores - model.score_samples(X[found.rows]))
    few = X[:_SOURCE_ROWS]
    tasks = {"model": lambda: model.score_samples(few), "compiled": lambda: fast.most_anomalous(X, k)}
    taken = _microseconds(tasks, {"model": len(few), "compiled": count})
    title = f"the {k} most anomalous of {count:,}"
    return ValueStanding(title, str(fast.plan.cascade), **taken, largest=float(errors.max()), off=0, compared=k)


VALUE_CASES: dict[str, Callable[[], ValueStanding]] = {
    "svr-10": partial(friedman, "svr", 10),
    "svr-1": partial(friedman, "svr", 1),
    "gp-10": partial(friedman, "gp", 10),
    "gp-1": partial(friedman, "gp", 1),
    "ijcnn1": partial(probabilities, "ijcnn1", 20_000),
    "electricity": partial(probabilities, "electricity", 20_000),
    "mnist": partial(probabilities, "mnist", 10_000, C=10, gamma=0.02),
    "anomalies": anomalies,
}


def _standing(
    title: str, stages: str, model: Callable[[Any], Any], fast: Callable[[Any], Any], rows: Any, tolerance: float
) -> ValueStanding:
    few, many = rows[:_SOURCE_ROWS], rows[:_MOST_ROWS]
    tasks = {"model": lambda: model(few), "compiled": lambda: fast(many)}
    taken = _microseconds(tasks, {"model": len(few), "compiled": len(many)})
    errors = np.abs(np.asarray(model(few)) - fast(few)).reshape(len(few), -1).max(axis=1)
    off = int(np.count_nonzero(errors > tolerance))
    return ValueStanding(title, stages, **taken, largest=float(errors.max()), off=off, compared=len(few))


def _microseconds(tasks: Mapping[str, Task], rows: Mapping[str, int]) -> dict[str, float]:
    """Of the processor, for each row, in the best of several interleaved rounds with one thread."""
    best = dict.fromkeys(tasks, np.inf)
    with threadpool_limits(1):
        for _ in range(_ROUNDS):
            for name, task in tasks.items():
                began = time.process_time()
                task()
                best[name] = min(best[name], 1e6 * (time.process_time() - began) / rows[name])
    return best

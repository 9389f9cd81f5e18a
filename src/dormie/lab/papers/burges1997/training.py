"""Two-class machines as the paper trains them: equation 3, whose slacks may be penalised in three ways.

    "sum"              C sum_i xi_i, p = 1: an ordinary SVM
    "sum, squared"     C (sum_i xi_i)^2, the paper's p = 2
    "squares, summed"  C sum_i xi_i^2, which is often meant by squared slacks

With the sum squared, the machine is that of an ordinary SVM whose own C solves C' = 2 C sum_i xi_i(C'). The sum falls
as C' rises, so a search in one number finds it. With squares summed, weights have no bound, and 1 / (2 C) is added to
the diagonal of the Gram matrix.

Training goes by chunks: a machine is trained on few rows, those that violate its margin join its support vectors, and
it is trained again until no row does. It never needs the Gram matrix of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import Sign
from dormie.machine.typing import Positions
from dormie.numerics.evaluate import FullSum

PENALTIES = ("sum", "sum, squared", "squares, summed")
_CHUNK = 4000  # rows that a chunk starts with, and half of what may join it at a time
_TOLERANCE = 2e-3  # a row with a smaller slack is on the margin; LIBSVM's own tolerance is 1e-3
_BLOCK = 4096
_UNBOUNDED = 1e6  # C where weights have no bound; on MNIST they stay below 10
_SAME = 0.05  # C' is found to this relative precision, where the least objective is flat
_NEAR = 2  # the search for C' takes this many times as many rows as there are support vectors, those of least margin

Rows = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Trained:
    """Support vectors (positions among the rows), their weights up to a bound, the bias, and all rows' margins."""

    support: Positions
    weights: Floats
    bias: Floats
    margins: Floats
    bound: float

    @property
    def total_slack(self) -> float:
        """The sum of the slacks; only weights at the bound have any, other values are the solver's tolerance."""
        at_bound = self.support[np.abs(self.weights) >= self.bound]
        return float(np.maximum(1 - self.margins[at_bound], 0).sum())


class ChunkedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A two-class SVM with one of the penalties; `support_` and `machine_` hold the result, `C_` the C' found."""

    def __init__(self, kernel: Kernel, C: float, penalty: str = "sum") -> None:
        self.kernel = kernel
        self.C = C
        self.penalty = penalty

    def fit(self, X: Rows, y: npt.NDArray[Any]) -> ChunkedSVC:
        self.classes_ = np.unique(y)
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        found = train(self.kernel, X, signs, self.C, self.penalty)
        self.support_, self.C_ = found.support, found.bound
        points = X[found.support].astype(np.float64)
        self.machine_ = Machine(self.kernel, points, found.weights, found.bias, Sign(self.classes_))
        return self

    def decision_function(self, X: Rows) -> Floats:
        return FullSum(self.machine_).outputs(np.asarray(X, dtype=np.float64))[:, 0]


def train(kernel: Kernel, X: Rows, signs: Floats, C: float, penalty: str) -> Trained:
    """The machine with the least |w|^2 / 2 plus penalty, one of PENALTIES."""
    if penalty not in PENALTIES:
        raise ValueError(f"penalty must be one of {', '.join(map(repr, PENALTIES))}, got {penalty!r}")
    chunk = _first_chunk(signs)
    if penalty == "sum":
        return _by_chunks(kernel, X, signs, C, 0.0, chunk)
    if penalty == "squares, summed":
        return _by_chunks(kernel, X, signs, _UNBOUNDED, 1 / (2 * C), chunk)
    return _with_sum_squared(kernel, X, signs, C, chunk)


def _with_sum_squared(kernel: Kernel, X: Rows, signs: Floats, C: float, chunk: Positions) -> Trained:
    """The machine whose bound is 2 C times the sum of its slacks, found on the rows near the margin."""
    first = _by_chunks(kernel, X, signs, C, 0.0, chunk)
    near = np.union1d(first.support, np.argsort(first.margins, kind="stable")[: _NEAR * len(first.support)])
    bound, support = _found_bound(kernel, X[near], signs[near], C, np.searchsorted(near, first.support))
    return _by_chunks(kernel, X, signs, bound, 0.0, near[support])


def _found_bound(kernel: Kernel, X: Rows, signs: Floats, C: float, support: Positions) -> tuple[float, Positions]:
    """The bound that is 2 C times the sum of the slacks, and the support vectors of a machine near it."""

    @cache
    def excess(log_bound: float) -> float:
        """By how much 2 C times the sum of the slacks is above the bound; falls as the bound rises."""
        nonlocal support
        trained = _by_chunks(kernel, X, signs, float(np.exp(log_bound)), 0.0, support)
        support = trained.support
        return 2 * C * trained.total_slack - trained.bound

    low = high = float(np.log(C))
    if excess(low) > 0:
        high = float(np.log(excess(low) + C)) + _SAME  # above 2 C times the slack at `low`, and it has less
    else:
        while excess(low) <= 0:
            low -= 1
    return float(np.exp(brentq(excess, low, high, xtol=_SAME))), support


def _by_chunks(kernel: Kernel, X: Rows, signs: Floats, bound: float, ridge: float, chunk: Positions) -> Trained:
    """The SVM on all rows with weights up to the bound.

    Only the first chunk is cut down to its support vectors: the later ones grow, so that they come to an end.
    """
    kept = np.empty(0, dtype=np.intp)
    while True:
        rows = X[chunk].astype(np.float64)
        gram = kernel.matrix(rows, rows)
        gram[np.diag_indices_from(gram)] += ridge
        svc = SVC(kernel="precomputed", C=bound, cache_size=1000).fit(gram, signs[chunk])
        support, weights = chunk[svc.support_], svc.dual_coef_[0]
        margins = signs * (_sums(kernel, X, X[support], weights) + svc.intercept_)
        outside = np.setdiff1d(np.flatnonzero(margins < 1 - _TOLERANCE), chunk)
        if not len(outside):
            return Trained(support, weights, svc.intercept_, margins, bound)
        worst = outside[np.argsort(margins[outside], kind="stable")]
        kept = chunk = np.unique(np.concatenate([kept, support, worst[: max(_CHUNK // 2, len(support))]]))


def _sums(kernel: Kernel, X: Rows, points: Rows, weights: Floats) -> Floats:
    """The machine's sums for all rows, in the rows' own precision."""
    own = weights.astype(X.dtype)
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(X), _BLOCK))
    return np.concatenate([kernel.matrix(X[block], points) @ own for block in blocks]).astype(np.float64)


def _first_chunk(signs: Floats) -> Positions:
    """Rows at equal steps, of either class."""
    step = max(1, len(signs) // _CHUNK)
    return np.sort(np.concatenate([np.flatnonzero(signs == sign)[::step] for sign in (-1.0, 1.0)]))

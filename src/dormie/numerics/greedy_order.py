"""Greedy orders of points as landmarks, such that the first few already make intervals narrow.

The radius of an interval is rho R: the distance of w from the span of the landmarks times that of the row (derived in
`dormie.methods.geometry.span`). `WGreedy` takes next the point that reduces rho most. `SGMA`, the order of DeCoste 2002
(sparse greedy matrix approximation, Smola & Schölkopf 2000), takes the point that reduces R most, over the points
themselves. `RadiusGreedy`, which the planner uses, reduces their product over sample rows. None of them forms the whole
kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import some
from dormie.machine.typing import Booleans, Positions
from dormie.numerics.feature_space import FeatureVector

# A point becomes a landmark only if at least this share of its squared norm lies outside the span of the landmarks so
# far: below that, the rounding of the triangular solve costs more than the landmark gains.
LEAST_RESIDUAL = 1e-8

# Inner products with rows of a larger squared norm overflow in float32 when they are squared and added.
_LARGEST_ROW = 1e30


@dataclass
class _Residuals:
    """The residuals of all points and of w: their parts outside the span of the landmarks so far."""

    machine: Machine
    columns: Floats  # L x n: the points' coordinates in an orthonormal basis of the span
    squares: Floats  # |residual of phi(s)|^2
    products: Floats  # L x c: <residual of w, phi(s)>
    taken: int = 0

    @classmethod
    def start(cls, w: FeatureVector, n: int) -> _Residuals:
        machine = w.machine
        columns = np.zeros((machine.n_points, n), order="F")
        return cls(machine, columns, machine.kernel.diagonal(machine.points), w.products)

    def column(self, j: int) -> Floats:
        """The coordinates of all points along the residual of point j, if it became the next landmark."""
        columns = self.columns[:, : self.taken]
        values = self.machine.kernel.matrix(self.machine.points, self.machine.points[j : j + 1])[:, 0]
        return np.asarray((values - columns @ columns[j]) / np.sqrt(self.squares[j]))

    def take(self, j: int, column: Floats) -> None:
        self.products = self.products - np.outer(column, self.products[j] / np.sqrt(self.squares[j]))
        self.columns[:, self.taken] = column
        self.squares = self.squares - column**2
        self.squares[j] = 0
        self.taken += 1


class _Greedy:
    """Takes points one after the other, each the best by the criterion of a subclass."""

    def __init__(self, w: FeatureVector, most: int) -> None:
        self.residuals = _Residuals.start(w, most)
        self.most = most
        self.order: list[int] = []
        self._least = LEAST_RESIDUAL * np.maximum(self.residuals.squares, 1e-300)

    def best(self, allowed: Booleans) -> tuple[int, Floats | None]:
        raise NotImplementedError

    def extend(self, n: int) -> Positions:
        """The first n points of the order, or fewer where no further point gains anything."""
        while len(self.order) < min(n, self.most):
            allowed = self.residuals.squares > self._least
            if not allowed.any():
                break
            j, column = self.best(allowed)
            if column is None:
                break
            self.residuals.take(j, column)
            self.order.append(j)
        return np.array(self.order[:n], dtype=np.intp)


class WGreedy(_Greedy):
    """Takes the point with the largest <residual of w, phi(s)>^2 / |residual of phi(s)|^2, which reduces rho^2 most.

    Several outputs share one order: their gains, each divided by the output's |w|^2, are added.
    """

    def __init__(self, w: FeatureVector, most: int) -> None:
        super().__init__(w, most)
        sizes = w.squared_norm
        self._share = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def best(self, allowed: Booleans) -> tuple[int, Floats | None]:
        gains = self.residuals.products**2 @ self._share
        gains = np.divide(gains, self.residuals.squares, out=np.zeros(len(allowed)), where=allowed)
        j = int(gains.argmax())
        return (j, self.residuals.column(j)) if gains[j] > 0 else (j, None)


class RadiusGreedy(_Greedy):
    """Takes the point that leaves the smallest rho^2 times the sum of R^2 over sample rows.

    The rows, some tens or hundreds, are in mapped coordinates, or what a Python kernel takes. With several outputs the
    remaining shares of their rho^2 are added. Rows too large for float32 are left out; without any row, rho alone
    decides.
    """

    def __init__(self, w: FeatureVector, most: int, rows: Any) -> None:
        super().__init__(w, most)
        kernel, points = w.machine.kernel, w.machine.points
        with np.errstate(over="ignore", invalid="ignore"):
            squares = kernel.diagonal(rows)
        small = squares < _LARGEST_ROW
        # <residual of phi(x), phi(s)>, rows x points, scaled so that the longest phi(s) has length 1. For choosing a
        # point, float32 is precise enough.
        self._length = float(np.sqrt(self.residuals.squares.max(initial=0))) or 1.0
        self._products = (kernel.matrix(some(rows, np.flatnonzero(small)), points) / self._length).astype(np.float32)
        self._far = float(squares[small].sum()) or 1.0  # 1 where no row is left
        sizes = w.squared_norm
        self._share = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        self._open = float((sizes > 0).sum())

    def best(self, allowed: Booleans) -> tuple[int, Floats | None]:
        residuals = self.residuals
        inverse = np.divide(1.0, residuals.squares, out=np.zeros(len(allowed)), where=allowed)
        gains = residuals.products**2 @ self._share * inverse
        nearer = np.einsum("ij,ij->j", self._products, self._products) * (self._length**2 * inverse)
        left = np.maximum(self._open - gains, 0) * np.maximum(self._far - nearer, 0)
        j = int(np.where(allowed, left, np.inf).argmin())
        if gains[j] <= 0 and nearer[j] <= 0:
            return j, None
        column = residuals.column(j)
        self._open, self._far = self._open - gains[j], self._far - nearer[j]
        along = self._products[:, j] * np.float32(self._length * np.sqrt(inverse[j]))
        self._products -= np.outer(along, (column / self._length).astype(np.float32))
        return j, column


class SGMA(_Greedy):
    """Takes the one of a few random candidates that best approximates the whole kernel matrix.

    The best of 59 candidates is among the best 5 % of all points with a probability of 95 %.
    """

    def __init__(self, w: FeatureVector, most: int, seed: int = 0, candidates: int = 59) -> None:
        super().__init__(w, most)
        self._random = np.random.default_rng(seed)
        self._candidates = candidates

    def best(self, allowed: Booleans) -> tuple[int, Floats | None]:
        pool = np.flatnonzero(allowed)
        tried = self._random.choice(pool, size=min(self._candidates, len(pool)), replace=False)
        columns = [self.residuals.column(int(j)) for j in tried]
        place = int(np.argmax([column @ column for column in columns]))
        return int(tried[place]), columns[place]


def w_greedy(machine: Machine, n: int) -> Positions:
    """Up to n points in the order of `WGreedy`."""
    return WGreedy(FeatureVector.of(machine), n).extend(n)


def radius_greedy(machine: Machine, n: int, rows: Floats) -> Positions:
    """Up to n points in the order of `RadiusGreedy`."""
    return RadiusGreedy(FeatureVector.of(machine), n, rows).extend(n)


def sgma(machine: Machine, n: int, seed: int = 0, candidates: int = 59) -> Positions:
    """Up to n points in the order of `SGMA`."""
    return SGMA(FeatureVector.of(machine), n, seed, candidates).extend(n)


def w_greedy_order(vectors: Floats, w: FeatureVector) -> Positions:
    """The order of `WGreedy` for any vectors, not only the machine's points; those in the span of others come last."""
    first = WGreedy(w.of_vectors(vectors), len(vectors)).extend(len(vectors))
    return np.concatenate([first, np.setdiff1d(np.arange(len(vectors)), first)])

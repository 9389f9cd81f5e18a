"""Greedy orders of points: the first few should tell the most, of w or of rows.

An interval's radius is rho R: what is unknown of w times what is unknown of the row. `WGreedy` takes next the point
that most reduces rho; `SGMA`, the order of DeCoste 2002 (sparse greedy matrix approximation, Smola & Scholkopf 2000),
the one that most reduces R, over the points themselves; `RadiusGreedy`, which the planner uses, reduces their product
over sample rows. None ever forms the whole kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.numerics.feature_space import FeatureVector, InnerProducts

# A point is no landmark once less than this share of its squared norm lies outside the span of those before it: what
# is gained is lost again to the rounding of the triangular solve.
LEAST_RESIDUAL = 1e-8

# Products with rows of a larger squared norm would overflow in single precision when squared and added up.
_LARGEST_ROW = 1e30


@dataclass
class _Residuals:
    """What of every point, and of w, lies outside the span of the landmarks so far."""

    machine: Machine
    columns: Floats  # L x n: the points' coordinates
    squares: Floats  # |residual of phi(s)|^2
    products: Floats  # L x c: <residual of w, phi(s)>
    taken: int = 0

    @classmethod
    def start(cls, w: FeatureVector, n: int) -> _Residuals:
        machine = w.machine
        columns = np.zeros((machine.n_points, n), order="F")
        return cls(machine, columns, machine.kernel.diagonal(machine.points), w.products)

    def column(self, j: int) -> Floats:
        """Coordinates of every point along the landmark that point j would be."""
        known = self.columns[:, : self.taken]
        values = self.machine.kernel.matrix(self.machine.points, self.machine.points[j : j + 1])[:, 0]
        return np.asarray((values - known @ known[j]) / np.sqrt(self.squares[j]))

    def take(self, j: int, column: Floats) -> None:
        self.products = self.products - np.outer(column, self.products[j] / np.sqrt(self.squares[j]))
        self.columns[:, self.taken] = column
        self.squares = self.squares - column**2
        self.squares[j] = 0
        self.taken += 1


class _Greedy:
    """Points taken one after the other, each the best by a rule that subclasses give."""

    def __init__(self, w: FeatureVector, most: int) -> None:
        self.residuals = _Residuals.start(w, most)
        self.most = most
        self.order: list[int] = []
        self._least = LEAST_RESIDUAL * np.maximum(self.residuals.squares, 1e-300)

    def best(self, allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
        raise NotImplementedError

    def extend(self, n: int) -> npt.NDArray[np.intp]:
        """The first n points of the order, or as many as are worth taking."""
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
    """Next the point with the largest <residual of w, phi(s)>^2 / |residual of phi(s)|^2.

    Several outputs share the order: their gains are added, each over its own |w|^2.
    """

    def __init__(self, w: FeatureVector, most: int) -> None:
        super().__init__(w, most)
        sizes = w.squared_norm
        self._share = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def best(self, allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
        gains = self.residuals.products**2 @ self._share
        gains = np.divide(gains, self.residuals.squares, out=np.zeros(len(allowed)), where=allowed)
        j = int(gains.argmax())
        return (j, self.residuals.column(j)) if gains[j] > 0 else (j, None)


class RadiusGreedy(_Greedy):
    """Next the point that leaves the least rho^2 times sum of R^2: the radius itself, over rows like those to come.

    rows: some tens or hundreds of them, in mapped coordinates. Where there are several outputs, the shares of rho^2
    that are left are added. Rows too large for single precision are left out; without any, rho alone decides.
    """

    def __init__(self, w: FeatureVector, most: int, rows: Floats) -> None:
        super().__init__(w, most)
        kernel, points = w.machine.kernel, w.machine.points
        with np.errstate(over="ignore", invalid="ignore"):
            squares = kernel.diagonal(rows)
        small = squares < _LARGEST_ROW
        # <residual of phi(x), phi(s)>, rows x points, the longest phi(s) of length 1: single precision is enough to
        # choose by.
        self._length = float(np.sqrt(self.residuals.squares.max(initial=0))) or 1.0
        self._products = (kernel.matrix(rows[small], points) / self._length).astype(np.float32)
        self._far = float(squares[small].sum()) or 1.0  # 1: no row has a say
        sizes = w.squared_norm
        self._share = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        self._open = float((sizes > 0).sum())

    def best(self, allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
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
    """Next the best of a few random candidates at approximating the whole kernel matrix.

    With 59 candidates the best is, with 95 % probability, among the best 5 % of all.
    """

    def __init__(self, w: FeatureVector, most: int, seed: int = 0, candidates: int = 59) -> None:
        super().__init__(w, most)
        self._random = np.random.default_rng(seed)
        self._candidates = candidates

    def best(self, allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
        pool = np.flatnonzero(allowed)
        tried = self._random.choice(pool, size=min(self._candidates, len(pool)), replace=False)
        columns = [self.residuals.column(int(j)) for j in tried]
        place = int(np.argmax([column @ column for column in columns]))
        return int(tried[place]), columns[place]


def w_greedy(machine: Machine, n: int) -> npt.NDArray[np.intp]:
    """Up to n points in the order of `WGreedy`."""
    return WGreedy(FeatureVector.of(machine), n).extend(n)


def radius_greedy(machine: Machine, n: int, rows: Floats) -> npt.NDArray[np.intp]:
    """Up to n points in the order of `RadiusGreedy`."""
    return RadiusGreedy(FeatureVector.of(machine), n, rows).extend(n)


def sgma(machine: Machine, n: int, seed: int = 0, candidates: int = 59) -> npt.NDArray[np.intp]:
    """Up to n points in the order of `SGMA`."""
    return SGMA(FeatureVector.of(machine), n, seed, candidates).extend(n)


def w_greedy_order(machine: Machine, vectors: Floats, w: FeatureVector) -> npt.NDArray[np.intp]:
    """The order of `WGreedy` for vectors that need not be points of the machine; those others can express come last."""
    candidates = replace(machine, points=vectors, weights=np.zeros((len(vectors), machine.n_outputs)), input_map=None)
    products = InnerProducts.with_w(machine, vectors).values
    first = WGreedy(replace(w, machine=candidates, products=products), len(vectors)).extend(len(vectors))
    return np.concatenate([first, np.setdiff1d(np.arange(len(vectors)), first)])

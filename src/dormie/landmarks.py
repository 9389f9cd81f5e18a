"""Which points to use as landmarks, and in which order: the first few should tell the most.

`w_greedy` takes next the point that most reduces what is unknown of w; `sgma` is the order DeCoste 2002 used (sparse
greedy matrix approximation, Smola & Scholkopf 2000), which best approximates the kernel matrix instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.rules import Value
from dormie.stages.dense import Dense

# A point is no landmark once less than this share of its squared norm lies outside the span of those before it: what
# is gained is lost again to the rounding of the triangular solve.
LEAST_RESIDUAL = 1e-8


def correlations(machine: Machine, weights: Floats) -> Floats:
    """<phi(s), sum_i beta_i phi(s_i)> for every point s and every column of weights, in float64."""
    bare = replace(
        machine, weights=weights, bias=np.zeros(weights.shape[1]), rule=Value(flat=False), input_map=None
    )
    return Dense(bare).outputs(bare.points)


@dataclass
class _Residuals:
    """What of every point, and of w, lies outside the span of the landmarks so far."""

    machine: Machine
    columns: Floats  # L x n: the points' coordinates
    squares: Floats  # |residual of phi(s)|^2
    corr: Floats  # L x c: <residual of w, phi(s)>
    taken: int = 0

    @classmethod
    def start(cls, machine: Machine, n: int) -> _Residuals:
        squares = machine.kernel.diagonal(machine.points)
        columns = np.zeros((machine.n_points, n), order="F")
        return cls(machine, columns, squares, correlations(machine, machine.weights))

    def column(self, j: int) -> Floats:
        """Coordinates of every point along the landmark that point j would be."""
        known = self.columns[:, : self.taken]
        values = self.machine.kernel.matrix(self.machine.points, self.machine.points[j : j + 1])[:, 0]
        return np.asarray((values - known @ known[j]) / np.sqrt(self.squares[j]))

    def take(self, j: int, column: Floats) -> None:
        self.corr = self.corr - np.outer(column, self.corr[j] / np.sqrt(self.squares[j]))
        self.columns[:, self.taken] = column
        self.squares = self.squares - column**2
        self.squares[j] = 0
        self.taken += 1


def w_greedy(machine: Machine, n: int) -> npt.NDArray[np.intp]:
    """Up to n points, each the one with the largest <residual of w, phi(s)>^2 / |residual of phi(s)|^2.

    Several outputs share the order: their gains are added, each over its own |w|^2.
    """
    residuals = _Residuals.start(machine, n)
    sizes = np.einsum("ic,ic->c", machine.weights, residuals.corr)
    share = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def best(allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
        gains = np.divide(residuals.corr**2 @ share, residuals.squares, out=np.zeros(len(allowed)), where=allowed)
        j = int(gains.argmax())
        return (j, residuals.column(j)) if gains[j] > 0 else (j, None)

    return _greedy(residuals, n, best)


def sgma(machine: Machine, n: int, seed: int = 0, candidates: int = 59) -> npt.NDArray[np.intp]:
    """Up to n points, each the best of a few random candidates at approximating the whole kernel matrix.

    With 59 candidates the best is, with 95 % probability, among the best 5 % of all.
    """
    residuals = _Residuals.start(machine, n)
    random = np.random.default_rng(seed)

    def best(allowed: npt.NDArray[np.bool_]) -> tuple[int, Floats | None]:
        pool = np.flatnonzero(allowed)
        tried = random.choice(pool, size=min(candidates, len(pool)), replace=False)
        columns = [residuals.column(int(j)) for j in tried]
        place = int(np.argmax([column @ column for column in columns]))
        return int(tried[place]), columns[place]

    return _greedy(residuals, n, best)


def _greedy(
    residuals: _Residuals, n: int, best: Callable[[npt.NDArray[np.bool_]], tuple[int, Floats | None]]
) -> npt.NDArray[np.intp]:
    least = LEAST_RESIDUAL * np.maximum(residuals.squares, 1e-300)
    order: list[int] = []
    while len(order) < n:
        allowed = residuals.squares > least
        if not allowed.any():
            break
        j, column = best(allowed)
        if column is None:
            break
        residuals.take(j, column)
        order.append(j)
    return np.array(order, dtype=np.intp)

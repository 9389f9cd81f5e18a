"""Fast stopping in NumPy: a partial sum, and a bound on the remaining terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.numerics.reference import blocks, partial_sum, settled_between


class FastStopping:
    """The twin of the native core's `FastStopping`; the points of the machine are in the order they are added in."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def decide(self, rows: Any) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row: here all of them."""
        low, high = self.interval(rows, self._machine.n_points)
        settled = settled_between(self._machine, rows, low, high)
        evaluations = np.full(rows.shape[0], self._machine.n_points)
        return self._machine.rule.answer((low + high) / 2), settled, evaluations

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Low and high ends of every output of every row after the first `budget` terms."""
        require_finite(rows)
        lowering, raising = self._tails(budget)
        low, high = np.empty((2, rows.shape[0], self._machine.n_outputs))
        for block, part in blocks(self._machine, rows):
            middle, rounding = partial_sum(self._machine, part, budget)
            root = np.sqrt(self._machine.kernel.diagonal(part))[:, None] * (1 + 1e-9)
            low[block], high[block] = middle - rounding - root * lowering, middle + rounding + root * raising
        return low, high

    def _tails(self, budget: int) -> tuple[Floats, Floats]:
        """How far the remaining terms can lower and raise each output of a row with K(x,x) = 1."""
        kernel, weights = self._machine.kernel, self._machine.weights[budget:]
        sizes = np.abs(weights) * np.sqrt(kernel.diagonal(self._machine.points[budget:]))[:, None]
        lowers, raises = (weights < 0, weights > 0) if kernel.nonnegative else (True, True)
        return np.where(lowers, sizes, 0).sum(axis=0), np.where(raises, sizes, 0).sum(axis=0)

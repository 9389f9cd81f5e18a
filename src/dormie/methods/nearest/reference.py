"""The nearest stage in NumPy: the order of terms of each row, and the partial sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.methods.nearest.ordering import Ordering
from dormie.methods.nearest.sketch import approximate_kernel, scores, tug_of_war
from dormie.methods.thresholds import compared, crossed, in_pairs
from dormie.numerics.k_means import nearest_center
from dormie.numerics.reference import blocks


class Nearest:
    """The twin of the native core's `Nearest`."""

    def __init__(self, machine: Machine, ordering: Ordering) -> None:
        self._machine = machine
        self._ordering = ordering

    def order(self, rows: Any) -> Any:
        """The order in which each row adds the points; -1 for rows too large to evaluate."""
        require_finite(rows, self._machine)
        machine, ordering, count = self._machine, self._ordering, int(self._ordering.steps[-1])
        order = np.full((rows.shape[0], count), -1, dtype=np.int64)
        for block, part in blocks(machine, rows):
            usable = _usable(part)
            if len(ordering.centers):
                found = ordering.orders[nearest_center(ordering.centers, part[usable] @ ordering.basis.T)]
            else:
                sizes = scores(machine, approximate_kernel(machine, ordering.basis, part[usable]))
                found = np.array([tug_of_war(machine, row, count) for row in sizes], dtype=np.int64).reshape(-1, count)
            order[block][usable] = found
        return order

    def sums(self, rows: Any) -> tuple[Floats, Any]:
        """Partial sums after each step, rows x steps x outputs (NaN for rows too large to evaluate), and the cells."""
        machine, ordering, steps = self._machine, self._ordering, self._ordering.steps
        order, cells = self.order(rows), np.zeros(rows.shape[0], np.int64)
        sums = np.full((rows.shape[0], len(steps), machine.n_outputs), np.nan)
        for block, part in blocks(machine, rows):
            predictions = self._predicted_values(part)
            for i, x, predicted in zip(range(block.start, block.stop), part, predictions, strict=True):
                if order[i, 0] >= 0:
                    values = machine.kernel.matrix(x[None], machine.points[order[i]])[0] - predicted[order[i]]
                    first = machine.bias + predicted @ machine.weights
                    sums[i] = np.cumsum(np.vstack([first, machine.weights[order[i]] * values[:, None]]), axis=0)[steps]
                    if len(ordering.centers):
                        [cells[i]] = nearest_center(ordering.centers, x[None] @ ordering.basis.T)
        return sums, cells

    def _predicted_values(self, rows: Floats) -> Floats:
        """The kernel values that stand in for terms not added yet, rows x points."""
        if not self._ordering.foresight.any():
            return np.zeros((len(rows), self._machine.n_points))
        return np.asarray(self._ordering.foresight * approximate_kernel(self._machine, self._ordering.basis, rows))

    def decide(self, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the terms each row took; low, high: as `Thresholds` has them."""
        sums, cells = self.sums(rows)
        values, rule = compared(self._machine.rule, sums), in_pairs(self._machine.rule)
        answers, settled = np.full(len(cells), -1, dtype=np.intp), np.zeros(len(cells), dtype=bool)
        terms = np.where(np.isnan(sums).all(axis=(1, 2)), 0, self._ordering.steps[-1])
        for step, count in enumerate(self._ordering.steps):
            found, now = crossed(rule, values[:, step], low[step, cells], high[step, cells])
            now &= ~settled
            answers[now], terms[now] = found[now], count
            settled |= now
        return answers, settled, terms


def _usable(rows: Floats) -> Any:
    """Which rows the native core can evaluate in float32 without overflow."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    return squares < 1e76

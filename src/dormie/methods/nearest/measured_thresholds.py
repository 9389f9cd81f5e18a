"""The thresholds of the nearest stage, measured on the partial sums of sample rows (DeCoste & Mazzoni 2003).

Every step, cell and output has its own thresholds; where the largest output is the answer, every pair of outputs has
them, for the difference of the two (`dormie.methods.thresholds.in_pairs`). A cell with few or no sample rows of a sign
borrows the statistics of all cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.machine.rules import Rule
from dormie.machine.typing import Booleans, Integers
from dormie.methods.thresholds import NEVER, Thresholds, compared, in_pairs, positive, relevant

Sums = Callable[[Any], tuple[Floats, Integers]]  # rows -> partial sums (rows x steps x outputs), cell of each row
Shape = tuple[int, int, int]  # steps x cells x outputs, or pairs of them

_SUMS_AT_ONCE = 1 << 22  # 32 MiB
_MOST_SUMS = 1 << 24  # partial sums that errors are measured on
_ROWS_OF_ALL = 20  # rows at which a cell's own statistic and that of all cells have equal weight


def extremes(rule: Rule, outputs: Floats, sums: Sums, rows: Any, shape: Shape, window: int) -> Thresholds:
    """The paper's thresholds: L_k is the smallest sum of a positive row, H_k the largest of a negative row.

    Smoothing replaces each by the extreme over `window` steps on either side.
    """
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    at_once = max(1, _SUMS_AT_ONCE // (shape[0] * shape[2]))
    for start in range(0, rows.shape[0], at_once):
        some = slice(start, start + at_once)
        sample = _Sample.of(rule, outputs[some], *sums(rows[some]))
        for cell in np.unique(sample.cells):
            mine = sample.cells == cell
            partial, up, down = sample.partial[mine], sample.up[mine], sample.down[mine]
            low[:, cell] = np.minimum(low[:, cell], np.where(up, partial, np.inf).min(axis=0))
            high[:, cell] = np.maximum(high[:, cell], np.where(down, partial, -np.inf).max(axis=0))
    low = np.where(np.isfinite(low), low, low.min(axis=1, keepdims=True))
    high = np.where(np.isfinite(high), high, high.max(axis=1, keepdims=True))
    return Thresholds.between(-_smoothed(-low, window), _smoothed(high, window))


def typical_errors(rule: Rule, outputs: Floats, sums: Sums, rows: Any, shape: Shape) -> Thresholds:
    """Thresholds for calibration: minus the mean of the remaining sum, with its standard deviation as half-width."""
    every = max(1, rows.shape[0] * shape[0] * shape[2] // _MOST_SUMS)
    sample = _Sample.of(rule, outputs[::every], *sums(rows[::every]))
    found = [sample.typical_error(output, shape[1]) for output in range(shape[2])]
    return Thresholds(*(np.stack(parts, axis=2) for parts in zip(*found, strict=True)))


class _Sample(NamedTuple):
    """The outputs (rows x outputs) and partial sums (rows x steps x outputs) of sample rows, or those of pairs."""

    outputs: Floats
    partial: Floats
    cells: Integers
    up: Booleans  # where the output is positive and decides the answer; of the shape of partial
    down: Booleans  # where it is negative and decides the answer

    @classmethod
    def of(cls, rule: Rule, outputs: Floats, partial: Floats, cells: Integers) -> _Sample:
        outputs, partial, rule = compared(rule, outputs), compared(rule, partial), in_pairs(rule)
        used = (relevant(rule, outputs) & np.isfinite(outputs))[:, None] & np.isfinite(partial)
        up = positive(rule, outputs)[:, None]
        return cls(outputs, partial, cells, used & up, used & ~up)

    def typical_error(self, output: int, cells: int) -> tuple[Floats, Floats]:
        """Middle and half-width of one output, steps x cells, from the half of the rows with the smallest |output|."""
        up, down = (side[:, :, output].all(axis=1) for side in (self.up, self.down))  # at all steps: no overflow
        if not up.any() or not down.any():
            never = np.full((self.partial.shape[1], cells), NEVER)
            return np.zeros_like(never), never
        g = self.outputs[:, output]
        near = (up | down) & (np.abs(g) <= np.median(np.abs(g[up | down])))
        remaining, mine = g[near, None] - self.partial[near, :, output], self.cells[near]
        return -_by_cell(np.mean, remaining, mine, cells), _by_cell(np.std, remaining, mine, cells)


def _by_cell(statistic: Callable[..., Floats], values: Floats, cells: Integers, count: int) -> Floats:
    """A statistic of values (rows x steps) in each cell, steps x cells, shrunk to that of all rows in small cells."""
    of_all = statistic(values, axis=0)
    found = np.repeat(of_all[:, None], count, axis=1)
    for cell in np.unique(cells):
        mine = values[cells == cell]
        found[:, cell] += len(mine) / (len(mine) + _ROWS_OF_ALL) * (statistic(mine, axis=0) - of_all)
    return found


def _smoothed(high: Floats, window: int) -> Floats:
    """The maximum of each step and the `window` steps on either side."""
    steps = len(high)
    return np.array([high[max(k - window, 0) : min(k + window, steps - 1) + 1].max(axis=0) for k in range(steps)])

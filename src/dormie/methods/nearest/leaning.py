"""How far partial sums lean the wrong way on sample rows: the thresholds of the nearest stage (DeCoste & Mazzoni 2003).

Partial sums come step by step, and row by row in cells that have thresholds of their own; where a cell has no rows of a
sign, or few, those of all cells stand in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.methods.thresholds import NEVER, Booleans, Thresholds, positive, relevant
from dormie.numerics.evaluate import FullSum

Cells = npt.NDArray[np.int64]
Sums = Callable[[Any], tuple[Floats, Cells]]  # of rows: rows x steps x outputs, and the cell of each row
Shape = tuple[int, int, int]  # steps x cells x outputs

_SUMS_AT_ONCE = 1 << 22  # 32 MiB
_MOST_SUMS = 1 << 24  # that errors are taken of
_ROWS_OF_ALL = 20  # as many rows of its own does a cell need for its errors to count as much as those of all cells


def extremes(machine: Machine, sums: Sums, rows: Any, shape: Shape, window: int) -> Thresholds:
    """As in the paper: L_k is the smallest sum of a positive row, H_k the largest of a negative one.

    Smoothed, each is the extreme over `window` steps to either side.
    """
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    at_once = max(1, _SUMS_AT_ONCE // (shape[0] * shape[2]))
    for start in range(0, rows.shape[0], at_once):
        sample = _Sample.of(machine, sums, rows[start : start + at_once])
        for cell in np.unique(sample.cells):
            mine = sample.cells == cell
            partial, up, down = sample.partial[mine], sample.up[mine], sample.down[mine]
            low[:, cell] = np.minimum(low[:, cell], np.where(up, partial, np.inf).min(axis=0))
            high[:, cell] = np.maximum(high[:, cell], np.where(down, partial, -np.inf).max(axis=0))
    low = np.where(np.isfinite(low), low, low.min(axis=1, keepdims=True))
    high = np.where(np.isfinite(high), high, high.max(axis=1, keepdims=True))
    return Thresholds.between(-_smoothed(-low, window), _smoothed(high, window))


def usual_errors(machine: Machine, sums: Sums, rows: Any, shape: Shape) -> Thresholds:
    """A base for calibration: what is still to come, on average the middle, and as much as it varies to either side."""
    every = max(1, rows.shape[0] * shape[0] * shape[2] // _MOST_SUMS)
    sample = _Sample.of(machine, sums, rows[::every])
    found = [sample.usual_error(output, shape[1]) for output in range(shape[2])]
    return Thresholds(*(np.stack(parts, axis=2) for parts in zip(*found, strict=True)))


class _Sample(NamedTuple):
    """Rows with their outputs (rows x outputs), and their partial sums (rows x steps x outputs)."""

    outputs: Floats
    partial: Floats
    cells: Cells
    up: Booleans  # where a positive output is to be told, as partial
    down: Booleans  # and where a negative one

    @classmethod
    def of(cls, machine: Machine, sums: Sums, rows: Any) -> _Sample:
        outputs, (partial, cells) = FullSum(machine).outputs(rows), sums(rows)
        counted = (relevant(machine.rule, outputs) & np.isfinite(outputs))[:, None] & np.isfinite(partial)
        up = positive(machine.rule, outputs)[:, None]
        return cls(outputs, partial, cells, counted & up, counted & ~up)

    def usual_error(self, output: int, cells: int) -> tuple[Floats, Floats]:
        """Middle and half-width of one output, steps x cells, by the half of the rows that is nearer to the border."""
        up, down = (side[:, :, output].all(axis=1) for side in (self.up, self.down))  # nothing overflowed on the way
        if not up.any() or not down.any():
            never = np.full((self.partial.shape[1], cells), NEVER)
            return np.zeros_like(never), never
        g = self.outputs[:, output]
        near = (up | down) & (np.abs(g) <= np.median(np.abs(g[up | down])))
        rest, mine = g[near, None] - self.partial[near, :, output], self.cells[near]
        return -_by_cell(np.mean, rest, mine, cells), _by_cell(np.std, rest, mine, cells)


def _by_cell(statistic: Callable[..., Floats], rest: Floats, cells: Cells, count: int) -> Floats:
    """A statistic of rows (rows x steps), steps x cells; the fewer rows a cell has, the more it is that of all."""
    of_all = statistic(rest, axis=0)
    found = np.repeat(of_all[:, None], count, axis=1)
    for cell in np.unique(cells):
        mine = rest[cells == cell]
        found[:, cell] += len(mine) / (len(mine) + _ROWS_OF_ALL) * (statistic(mine, axis=0) - of_all)
    return found


def _smoothed(high: Floats, window: int) -> Floats:
    """The largest of `window` steps to either side of each, and its own."""
    steps = len(high)
    return np.array([high[max(k - window, 0) : min(k + window, steps - 1) + 1].max(axis=0) for k in range(steps)])

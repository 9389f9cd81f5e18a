"""How far partial sums lean the wrong way on sample rows: the thresholds of the nearest stage (DeCoste & Mazzoni 2003).

Partial sums come step by step, and row by row in cells that have thresholds of their own; where a cell has no rows of a
sign, or few, those of all cells stand in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.stages.dense import Dense
from dormie.thresholds import Booleans, Thresholds, positive, relevant

Cells = npt.NDArray[np.int64]
Sums = Callable[[Any], tuple[Floats, Cells]]  # of rows: rows x steps x outputs, and the cell of each row
Shape = tuple[int, int, int]  # steps x cells x outputs

_SUMS_AT_ONCE = 1 << 22  # 32 MiB
_MOST_SUMS = 1 << 24  # that quantiles are taken of
_QUANTILE = 0.995
_ROWS_OF_ALL = 20  # as many rows of its own does a cell need for its quantile to count as much as that of all cells
_LEAST_SPREAD = 0.25  # of the spread of what is still to come: thresholds are no narrower


def extremes(machine: Machine, sums: Sums, rows: Any, shape: Shape, window: int) -> Thresholds:
    """As in the paper: L_k is the smallest sum of a positive row, H_k the largest of a negative one.

    Smoothed, each is the extreme over `window` steps to either side.
    """
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    at_once = max(1, _SUMS_AT_ONCE // (shape[0] * shape[2]))
    for start in range(0, rows.shape[0], at_once):
        partial, cells, up, down = _leaning(machine, sums, rows[start : start + at_once])[:4]
        for cell in np.unique(cells):
            mine = cells == cell
            low[:, cell] = np.minimum(low[:, cell], np.where(up[mine], partial[mine], np.inf).min(axis=0))
            high[:, cell] = np.maximum(high[:, cell], np.where(down[mine], partial[mine], -np.inf).max(axis=0))
    low = np.where(np.isfinite(low), low, low.min(axis=1, keepdims=True))
    high = np.where(np.isfinite(high), high, high.max(axis=1, keepdims=True))
    return Thresholds.between(-_smoothed(-low, window), _smoothed(high, window))


def quantiles(machine: Machine, sums: Sums, rows: Any, shape: Shape) -> Thresholds:
    """A base for calibration: nearly the extremes, but not for single rows to say; never narrower than a share of what
    is still to come varies by, for rows fitted on often lean rightly at once, and caution needs something to scale.
    """
    every = max(1, rows.shape[0] * shape[0] * shape[2] // _MOST_SUMS)
    partial, cells, up, down, rest = _leaning(machine, sums, rows[::every])
    found = []
    for s, g, positives, negatives in zip(partial.T, rest.T, up.T, down.T, strict=True):
        p, n = positives.all(axis=0), negatives.all(axis=0)  # at every step: nothing overflowed on the way
        low, high = -_ends(-s.T[p], cells[p], shape[1]), _ends(s.T[n], cells[n], shape[1])
        between = Thresholds.between(low, high)
        spread = g.T[p | n].std(axis=0) if (p | n).any() else np.zeros(shape[0])
        found.append((between.middle, np.maximum(between.half, _LEAST_SPREAD * spread[:, None])))
    return Thresholds(*(np.stack(parts, axis=2) for parts in zip(*found, strict=True)))


def _leaning(machine: Machine, sums: Sums, rows: Any) -> tuple[Floats, Cells, Booleans, Booleans, Floats]:
    """Partial sums, cells, where a positive and where a negative output is to be told, and what is still to come."""
    outputs, (partial, cells) = Dense(machine).outputs(rows), sums(rows)
    counted = (relevant(machine.rule, outputs) & np.isfinite(outputs))[:, None] & np.isfinite(partial)
    up = positive(machine.rule, outputs)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        return partial, cells, counted & up, counted & ~up, outputs[:, None] - partial


def _ends(sums: Floats, cells: Cells, count: int) -> Floats:
    """How far up the sums of rows (rows x steps) go, steps x cells; inf where there are no rows at all."""
    if not len(sums):
        return np.full((sums.shape[1], count), np.inf)
    of_all = np.quantile(sums, _QUANTILE, axis=0)
    ends = np.repeat(of_all[:, None], count, axis=1)
    for cell in np.unique(cells):
        mine = sums[cells == cell]
        share = len(mine) / (len(mine) + _ROWS_OF_ALL)
        ends[:, cell] += share * (np.quantile(mine, _QUANTILE, axis=0) - of_all)
    return ends


def _smoothed(high: Floats, window: int) -> Floats:
    """The largest of `window` steps to either side of each, and its own."""
    steps = len(high)
    return np.array([high[max(k - window, 0) : min(k + window, steps - 1) + 1].max(axis=0) for k in range(steps)])

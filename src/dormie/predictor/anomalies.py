"""The most anomalous rows of a batch: those of the least outputs, found without working out the others.

The k-th least upper end of any rows bounds the k-th least output of all. So some rows, spread over the batch, are
evaluated first; then all rows go through the intervals of the plan's certified stages, the cheapest first, and those
whose lower end is above the bound are out. What is left is ordered by the model's own sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.machine.typing import Positions
from dormie.methods.base import Rung, certified_among
from dormie.methods.dense import Dense
from dormie.numerics.reference import widened
from dormie.plan.cascade import Cascade

_BLOCK = 1 << 16  # rows
_FIRST = 64  # one of so many rows is evaluated first
_FEWEST_FIRST = 16  # of these for each row that is asked for


class Anomalies(NamedTuple):
    """
    The most anomalous rows of a batch.

    Parameters
    ----------
    rows : ndarray of int of shape (k,)
        The numbers of the rows, the most anomalous first, and the first of those with equal scores.
    scores : ndarray of shape (k,)
        Their scores, as `score_samples` of the model gives them.
    """

    rows: Positions
    scores: Floats


def least_outputs(cascade: Cascade, dense: Dense, rows: Any, k: int) -> tuple[Positions, Floats]:
    """The numbers and outputs of the k checked rows with the least outputs of the model's own sum, in order."""
    count = rows.shape[0]
    rungs = [rung for stage in certified_among(cascade.early.stages) for rung in stage.rungs(1.0)]
    rough, exact = dense.rungs(1.0)
    few = np.unique(np.linspace(0, count - 1, min(count, max(count // _FIRST, _FEWEST_FIRST * k))).astype(np.intp))
    search = _Search(dense, k)
    search.admit(rows, few, [rough])
    known = np.zeros(count, dtype=np.bool_)
    known[few] = True
    for start in range(0, count, _BLOCK):
        part = np.arange(start, min(start + _BLOCK, count))
        search.admit(rows, part[~known[part]], [*rungs, rough])
    left = search.left(rows, exact)
    outputs = dense.full_sum.source_sum.outputs(rows[left])[:, 0]
    order = np.lexsort((left, outputs))[:k]
    return left[order], outputs[order]


class _Search:
    """Rows that may be among the k least, and a bound on the k-th least output of all."""

    def __init__(self, dense: Dense, k: int) -> None:
        self._machine, self._k = dense.machine, k
        self._bound = np.inf
        self._rows, self._low, self._high = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)

    def admit(self, rows: Any, numbers: Positions, rungs: Sequence[Rung]) -> None:
        """Keep those of the numbered rows whose lower ends stay below the bound through all of the intervals."""
        low, high = np.empty((2, len(numbers)))
        for rung in rungs:
            if not len(numbers):
                return
            low, high = self._ends(rows[numbers], rung)
            kept = low <= self._bound
            numbers, low, high = numbers[kept], low[kept], high[kept]
        self._rows = np.append(self._rows, numbers)
        self._low, self._high = np.append(self._low, low), np.append(self._high, high)
        self._tighten()

    def left(self, rows: Any, rung: Rung) -> Positions:
        """The rows left after one more interval, in order."""
        self._low, self._high = self._ends(rows[self._rows], rung)
        self._tighten()
        return np.sort(self._rows)

    def _ends(self, rows: Any, rung: Rung) -> tuple[Floats, Floats]:
        """Ends that contain the model's own sums; NaN counts as unknown."""
        low, high = widened(self._machine, rows, *rung.interval(rows))
        return np.where(np.isnan(low), -np.inf, low)[:, 0], np.where(np.isnan(high), np.inf, high)[:, 0]

    def _tighten(self) -> None:
        if len(self._rows) > self._k:
            self._bound = min(self._bound, float(np.partition(self._high, self._k - 1)[self._k - 1]))
        kept = self._low <= self._bound
        self._rows, self._low, self._high = self._rows[kept], self._low[kept], self._high[kept]

"""Estimates the cost of every cascade of up to three stages from runs of the single stages.

In a cascade, a row costs what all stages cost up to the one that settles it, and its answer is wrong if that stage is
wrong. Both are sums over the rows that reach a stage, so matrix products estimate thousands of cascades at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dormie.machine.typing import Booleans, Floats, Positions
from dormie.methods.base import Stage
from dormie.plan.cascade import Cascade

STAGE_PENALTY = 1.05  # a longer cascade must be faster by this factor for every stage it has more


@dataclass(frozen=True, eq=False)
class Run:
    """What a stage did alone on the sample."""

    stage: Stage
    caution: float
    candidate: int  # shared by stages that differ only in their caution: a cascade has at most one of them
    settled: Booleans
    wrong: Floats  # per row, the probability that it settles the row with another answer than the dense stage
    costs: Floats  # seconds per row


@dataclass(frozen=True)
class Cascades:
    """Cascades and their estimated cost; each row of `runs` lists the runs before the dense stage, padded with -1."""

    runs: Positions  # cascades x 3, indices of runs
    seconds: Floats  # estimated time of the whole cascade on the sample
    wrong: Floats  # expected number of wrong rows
    before_dense: Floats  # estimated time without the dense stage

    def lengths(self) -> Positions:
        """The number of stages before the dense one."""
        return np.asarray(np.count_nonzero(self.runs >= 0, axis=1))

    def sizes(self, runs: Sequence[Run]) -> Positions:
        """The number of vectors in all stages before the dense one."""
        of_run = np.array([*(run.stage.size for run in runs), 0])  # the last is for the padding, -1
        return np.asarray(of_run[self.runs].sum(axis=1))

    def penalized_seconds(self) -> Floats:
        """The estimated time, with a penalty for every stage."""
        return np.asarray(self.seconds * STAGE_PENALTY ** self.lengths())

    def cascade(self, index: int, runs: Sequence[Run]) -> Cascade:
        """One of the cascades, without the dense stage."""
        chosen = [runs[number] for number in self.runs[index] if number >= 0]
        return Cascade(tuple(run.stage for run in chosen), tuple(run.caution for run in chosen))


def weigh(runs: Sequence[Run], dense: Run) -> Cascades:
    """The dense stage alone, and all cascades of up to three stages before it, ordered from cheap to expensive."""
    table = _Table(runs, dense)
    none = Cascades(np.full((1, 3), -1), dense.costs.sum()[None], np.zeros(1), np.zeros(1))
    first = table.longer(none, 0)
    second = table.longer(first, 1)
    third = [table.longer(_those(second, second.runs[:, 0] == number), 2) for number in np.unique(second.runs[:, 0])]
    return _joined([none, first, second, *third])


class _Table:
    """The results of all runs as matrices of shape runs x rows."""

    def __init__(self, runs: Sequence[Run], dense: Run) -> None:
        shape = len(runs), len(dense.costs)
        self._open = np.array([~run.settled for run in runs], dtype=np.float64).reshape(shape)
        self._costs = np.array([run.costs for run in runs]).reshape(shape)
        self._wrong = np.array([run.wrong for run in runs]).reshape(shape)
        self._dense = self._open * dense.costs
        self._candidates = np.array([run.candidate for run in runs], dtype=np.intp)
        self._places = np.argsort(np.argsort(self._costs.sum(axis=1), kind="stable"))  # from cheap to expensive

    def longer(self, cascades: Cascades, length: int) -> Cascades:
        """Cascades of the given length, each extended by every run that may follow."""
        waiting = np.ones((len(cascades.runs), self._open.shape[1]))
        follows = np.ones((len(cascades.runs), len(self._open)), dtype=bool)
        for numbers in cascades.runs[:, :length].T:
            waiting *= self._open[numbers]
            follows &= self._places > self._places[numbers, None]
            follows &= self._candidates != self._candidates[numbers, None]
        line, number = np.nonzero(follows)
        before = (cascades.before_dense[:, None] + waiting @ self._costs.T)[line, number]
        wrong = (cascades.wrong[:, None] + waiting @ self._wrong.T)[line, number]
        together = cascades.runs[line]
        together[:, length] = number
        return Cascades(together, before + (waiting @ self._dense.T)[line, number], wrong, before)


def _those(cascades: Cascades, kept: Booleans) -> Cascades:
    return Cascades(cascades.runs[kept], cascades.seconds[kept], cascades.wrong[kept], cascades.before_dense[kept])


def _joined(parts: Sequence[Cascades]) -> Cascades:
    return Cascades(
        np.concatenate([part.runs for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.wrong for part in parts]),
        np.concatenate([part.before_dense for part in parts]),
    )

"""Which cascades are promising: all of a few stages, weighed up from what each stage did alone.

A cascade costs every row what its stages up to the one that settles it cost, and is wrong where that one is. Both are
sums over the rows that get as far, so that matrix products weigh thousands of cascades at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dormie.machine.typing import Booleans, Floats, Positions
from dormie.methods.base import Stage

EVERY_STAGE = 1.05  # a longer cascade must be this much faster, a stage


@dataclass(frozen=True, eq=False)
class Run:
    """A stage alone on the sample."""

    stage: Stage
    candidate: int  # the same for stages that differ in their caution only: a cascade has one of them at most
    settled: Booleans
    wrong: Floats  # the chance that it settles the row, but not as the dense stage has it
    costs: Floats  # seconds of each row


@dataclass(frozen=True)
class Cascades:
    """Cascades of runs before the dense stage, one a line, padded with -1, and what they are expected to do."""

    runs: Positions  # cascades x 3, by number
    seconds: Floats
    wrong: Floats  # how many rows are likely to be wrong
    before_dense: Floats  # seconds without the dense stage

    def lengths(self) -> Positions:
        return np.asarray(np.count_nonzero(self.runs >= 0, axis=1))

    def handicapped(self) -> Floats:
        return np.asarray(self.seconds * EVERY_STAGE ** self.lengths())

    def stages(self, line: int, runs: Sequence[Run]) -> tuple[Stage, ...]:
        return tuple(runs[number].stage for number in self.runs[line] if number >= 0)


def weigh(runs: Sequence[Run], dense: Run) -> Cascades:
    """The dense stage alone, and all cascades of up to three stages before it, the cheap ones first."""
    table = _Table(runs, dense)
    none = Cascades(np.full((1, 3), -1), dense.costs.sum()[None], np.zeros(1), np.zeros(1))
    first = table.longer(none, 0)
    second = table.longer(first, 1)
    third = [table.longer(_those(second, second.runs[:, 0] == number), 2) for number in np.unique(second.runs[:, 0])]
    return _joined([none, first, second, *third])


class _Table:
    """What every run did, runs x rows."""

    def __init__(self, runs: Sequence[Run], dense: Run) -> None:
        shape = len(runs), len(dense.costs)
        self._open = np.array([~run.settled for run in runs], dtype=np.float64).reshape(shape)
        self._costs = np.array([run.costs for run in runs]).reshape(shape)
        self._wrong = np.array([run.wrong for run in runs]).reshape(shape)
        self._dense = self._open * dense.costs
        self._candidates = np.array([run.candidate for run in runs], dtype=np.intp)
        self._places = np.argsort(np.argsort(self._costs.sum(axis=1), kind="stable"))  # cheap ones first

    def longer(self, cascades: Cascades, length: int) -> Cascades:
        """Cascades of that length, each with every run after it that may follow."""
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

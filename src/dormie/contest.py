"""Which list of stages is the cheapest: every stage is run alone on the same rows, lists are weighed up from that, and
the most promising are run for real.

What a stage costs a row is its share of the time, by kernel evaluations. A list costs every row what the stages up to
the one that settles it do; that is known for all lists once each stage has run alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import flow
from dormie.machine import Floats
from dormie.plan import Trial
from dormie.stages import Dense, Stage

_ROUNDS = 3
_FINAL_ROUNDS = 7
_FINALISTS = 5
_MOST_STAGES = 3  # before the dense one
_CLEAR_WIN = 0.9  # of the dense stage's time
_EVERY_STAGE = 1.05  # a longer list must be this much faster, a stage

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Run:
    """A stage alone on the sample."""

    stage: Stage
    settled: Booleans
    wrong: Floats  # the chance that it settles the row, but not as the dense stage has it
    costs: Floats  # seconds of each row


_List = tuple[_Run, ...]  # before the dense stage


class Contest:
    """Sample rows, the stage that every list ends in, and lists of stages before it."""

    def __init__(
        self, dense: Dense, stages: Sequence[Stage], sample: Any, flips: Mapping[Stage, Floats] | None = None
    ) -> None:
        """flips: of stages without a certificate, the chance that a row's answer is wrong (see `dormie.flips`)."""
        self._dense = dense
        self._sample = sample
        *self._runs, self._dense_run = self._measure([*stages, dense], flips or {})

    def winner(
        self, dense_alone: bool = True, allowed: float | None = None
    ) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
        """The cheapest list, and what was measured; with `dense_alone` others must win clearly over the dense stage.

        allowed: the share of the rows that stages without a certificate may get wrong; None: there are to be no such.
        """
        lists = [*_lists(self._runs, len(self._dense_run.costs) * allowed if allowed is not None else None)]
        expected = {entry: _seconds(entry, self._dense_run) for entry in lists}
        finalists = sorted(expected, key=lambda entry: _handicapped(entry, expected))[:_FINALISTS]
        if dense_alone or not finalists:
            finalists.insert(0, ())
        measured = self._race(finalists)
        best = min(finalists, key=lambda entry: _handicapped(entry, measured))
        if dense_alone and measured[best] > _CLEAR_WIN * measured[()]:
            best = ()
        alone = {entry: seconds for entry, seconds in expected.items() if len(entry) == 1}
        return self._stages(best), self._trials(alone | measured)

    def timed(self, *lists: tuple[Stage, ...]) -> list[Trial]:
        """What whole lists take, dense stage included, run in turns."""
        found = [flow.run(stages, self._sample) for stages in lists]
        seconds = best_of([partial(flow.run, stages, self._sample) for stages in lists], _FINAL_ROUNDS)
        early = [float(np.mean(run.settled_by < len(stages) - 1)) for run, stages in zip(found, lists, strict=True)]
        each = zip(lists, early, seconds, strict=True)
        return [Trial(flow.describe(stages), share, 1e6 * s / self._sample.shape[0]) for stages, share, s in each]

    def _stages(self, entry: _List) -> tuple[Stage, ...]:
        return (*(run.stage for run in entry), self._dense)

    def _trials(self, seconds: dict[_List, float]) -> tuple[Trial, ...]:
        """One for each description, the fastest first."""
        count = self._sample.shape[0]
        trials: dict[str, Trial] = {}
        for entry in sorted(seconds, key=seconds.__getitem__):
            words = flow.describe(self._stages(entry))
            settled = 1 - float(np.mean(_open(entry, count)))
            trials.setdefault(words, Trial(words, settled, 1e6 * seconds[entry] / count))
        return tuple(trials.values())

    def _measure(self, stages: Sequence[Stage], flips: Mapping[Stage, Floats]) -> list[_Run]:
        """Every stage alone, timed in turns."""
        found = [stage.decide(self._sample) for stage in stages]
        right = found[-1].answers
        seconds = best_of([partial(stage.decide, self._sample) for stage in stages], _ROUNDS)
        count = self._sample.shape[0]
        runs = []
        for stage, decisions, total in zip(stages, found, seconds, strict=True):
            share = np.broadcast_to(np.asarray(decisions.evaluations, dtype=np.float64), count)
            settled = np.ones(count, dtype=bool) if decisions.settled is None else decisions.settled
            wrong: Floats = settled * flips.get(stage, np.zeros(count))
            if not stage.certified:
                wrong = np.maximum(wrong, settled & (decisions.answers != right))
            runs.append(_Run(stage, settled, wrong, total * share / max(share.sum(), 1.0)))
        return runs

    def _race(self, finalists: Sequence[_List]) -> dict[_List, float]:
        tasks = [partial(flow.run, self._stages(entry), self._sample) for entry in finalists]
        return dict(zip(finalists, best_of(tasks, _FINAL_ROUNDS), strict=True))


def _handicapped(entry: _List, seconds: dict[_List, float]) -> float:
    return seconds[entry] * _EVERY_STAGE ** len(entry)


def _lists(runs: Sequence[_Run], most_wrong: float | None) -> Iterator[_List]:
    """Up to so many stages, cheap ones first, that get no more rows wrong than that; None: all of them certified."""
    allowed = [run for run in runs if run.stage.certified or most_wrong is not None]
    by_cost = sorted(allowed, key=lambda run: float(run.costs.sum()))
    for count in range(1, _MOST_STAGES + 1):
        for entry in combinations(by_cost, count):
            if most_wrong is None or _wrong(entry) <= most_wrong:
                yield entry


def _arrivals(entry: _List) -> Iterator[tuple[_Run, Booleans]]:
    """Every stage of the list, and the rows that get as far."""
    waiting = np.ones(len(entry[0].costs), dtype=bool)
    for run in entry:
        yield run, waiting
        waiting = waiting & ~run.settled


def _wrong(entry: _List) -> float:
    """How many rows the list is likely to get wrong: each is settled by the first stage that can."""
    return sum(float(run.wrong @ waiting) for run, waiting in _arrivals(entry))


def _seconds(entry: _List, dense: _Run) -> float:
    """What the list is expected to take."""
    return sum(float(run.costs @ waiting) for run, waiting in _arrivals((*entry, dense)))


def _open(entry: _List, count: int) -> Booleans:
    """Which rows no stage of the list settles."""
    return ~np.any([run.settled for run in entry], axis=0) if entry else np.ones(count, dtype=bool)


def best_of(tasks: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The least processor time of each task, over rounds in which all take their turn.

    Processor time, all threads together: what a busy neighbour does to the clock on the wall stays out of it.
    """
    times = np.full(len(tasks), np.inf)
    for _ in range(rounds):
        for i, task in enumerate(tasks):
            start = time.process_time()
            task()
            times[i] = min(times[i], time.process_time() - start)
    return [float(seconds) for seconds in times]

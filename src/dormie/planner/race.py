"""The race: which cascade is the cheapest.

Every stage is run alone on the same rows, cascades are weighed up from that (`cascades.py`), and the most promising are
run for real. What a stage costs a row is its share of the time, by kernel evaluations and what takes as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.methods.base import Decisions, Stage
from dormie.methods.dense import Dense
from dormie.plan.plan import Trial, describe_cascade
from dormie.planner.cascades import EVERY_STAGE, Run, weigh
from dormie.predictor import cascade

_ROUNDS = 3
_FINAL_ROUNDS = 7
_FINALISTS = 5
CLEAR_WIN = 0.9  # of the time of what promises more


@dataclass(frozen=True, eq=False)
class Candidate:
    """A stage, or one at several cautions, and of each the chance of every sample row that its answer is wrong."""

    stages: Sequence[Stage]
    disagreement: Sequence[Floats | float] = (0.0,)  # see `dormie.planner.risk.disagreement`


class Race:
    """Sample rows, the stage that every cascade ends in, and candidates to run before it."""

    def __init__(self, dense: Dense, candidates: Iterable[Candidate], sample: Any) -> None:
        self._dense = dense
        self._sample = sample
        *self._runs, self._dense_run = self._measure([*candidates, Candidate([dense])])

    def winner(self, dense_alone: bool = True) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
        """The cheapest cascade of certified stages, and what was measured; with `dense_alone` it must win clearly."""
        runs = [run for run in self._runs if run.stage.certified]
        cascades = weigh(runs, self._dense_run)
        cheapest = np.argsort(cascades.handicapped(), kind="stable")[: _FINALISTS + 1]
        finalists = [stages for line in cheapest if (stages := cascades.stages(line, runs))][:_FINALISTS]
        if dense_alone or not finalists:
            finalists.insert(0, ())
        trials = self.timed(*((*entry, self._dense) for entry in finalists))
        times = {entry: trial.microseconds for entry, trial in zip(finalists, trials, strict=True)}
        best = min(finalists, key=lambda entry: times[entry] * EVERY_STAGE ** len(entry))
        if dense_alone and times[best] > CLEAR_WIN * times[()]:
            best = ()
        return (*best, self._dense), _each_once([*trials, *map(self._alone, runs)])

    def cheapest_within(self, shares: Iterable[float]) -> list[tuple[Stage, ...]]:
        """For each share of the rows that may be wrong the stages before the dense one that are likely the cheapest."""
        cascades = weigh(self._runs, self._dense_run)
        handicapped = cascades.handicapped()
        allowed = (cascades.wrong <= share * self._sample.shape[0] for share in shares)
        return [cascades.stages(int(np.argmin(np.where(few, handicapped, np.inf))), self._runs) for few in allowed]

    def timed(self, *cascades: tuple[Stage, ...]) -> list[Trial]:
        """What whole cascades take, dense stage included, run in turns."""
        found = [cascade.run(stages, self._sample) for stages in cascades]
        seconds = best_of([partial(cascade.run, stages, self._sample) for stages in cascades], _FINAL_ROUNDS)
        early = [float(np.mean(run.settled_by < len(stages) - 1)) for run, stages in zip(found, cascades, strict=True)]
        each = zip(cascades, early, seconds, strict=True)
        return [Trial(describe_cascade(stages), share, self._microseconds(s)) for stages, share, s in each]

    def _alone(self, run: Run) -> Trial:
        """What a stage is expected to take, alone before the dense one."""
        seconds = run.costs.sum() + self._dense_run.costs @ ~run.settled
        words = describe_cascade((run.stage, self._dense))
        return Trial(words, float(run.settled.mean()), self._microseconds(seconds))

    def _microseconds(self, seconds: float) -> float:
        return float(1e6 * seconds / self._sample.shape[0])

    def _measure(self, candidates: Sequence[Candidate]) -> Iterator[Run]:
        """Every stage alone. Only the first of a candidate is timed: an evaluation costs the same in all."""
        seconds = best_of([partial(candidate.stages[0].decide, self._sample) for candidate in candidates], _ROUNDS)
        right = self._dense.decide(self._sample).answers
        for number, (candidate, total) in enumerate(zip(candidates, seconds, strict=True)):
            found = [stage.decide(self._sample) for stage in candidate.stages]
            each = total / max(self._work(candidate.stages[0], found[0]).sum(), 1.0)
            for stage, chances, decisions in zip(candidate.stages, candidate.disagreement, found, strict=True):
                settled = self._each(True if decisions.settled is None else decisions.settled)
                wrong = settled * np.maximum(chances, decisions.answers != right) if not stage.certified else 0.0
                yield Run(stage, number, settled, self._each(wrong), each * self._work(stage, decisions))

    def _work(self, stage: Stage, decisions: Decisions) -> Floats:
        """Of every row, in kernel evaluations."""
        return self._each(stage.overhead + np.asarray(decisions.evaluations, dtype=np.float64))

    def _each(self, values: Any) -> npt.NDArray[Any]:
        """One for each row of the sample."""
        return np.broadcast_to(values, self._sample.shape[0])


def _each_once(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The first of each description, the fastest in front."""
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.stages, trial)
    return tuple(sorted(first.values(), key=lambda trial: trial.microseconds))


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

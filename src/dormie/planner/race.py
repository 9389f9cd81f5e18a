"""The race: finds the cheapest cascade.

Every stage is run alone on the same sample rows. The cost of all cascades is estimated from that (`cascades.py`), and
the most promising cascades are run and timed. A stage's time is divided among the rows in proportion to their kernel
evaluations, plus the stage's overhead per row in units of kernel evaluations. A slow Python kernel is not timed again
and again: evaluations are counted, and each costs what one was seen to cost (`slow_kernels.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.machine.kernel_memory import memory_of
from dormie.machine.typing import Integers
from dormie.methods.base import Decisions, Stage
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Guarantee
from dormie.plan.plan import CLEAR_WIN, Trial
from dormie.planner.cascades import STAGE_PENALTY, Run, weigh
from dormie.predictor.cascade import run

_ROUNDS = 3
_FINAL_ROUNDS = 7
_FINALISTS = 5


@dataclass(frozen=True, eq=False)
class Candidate:
    """A stage at one or several cautions; for each, the probability that its answer to a sample row is wrong."""

    stage: Stage
    cautions: Sequence[float] = (1.0,)
    disagreement: Sequence[Floats | float] = (0.0,)  # from `dormie.planner.risk.disagreement`


class Chosen(NamedTuple):
    """The cascade of a plan, what it guarantees, and what was timed to choose it."""

    cascade: Cascade
    guarantee: Guarantee
    trials: tuple[Trial, ...]


@dataclass(frozen=True, eq=False)
class Race:
    """What candidates did alone on sample rows, to choose cascades by; every cascade ends in the dense stage."""

    dense: Dense
    sample: Any
    runs: Sequence[Run]
    dense_run: Run

    @classmethod
    def between(cls, dense: Dense, candidates: Iterable[Candidate], sample: Any) -> Race:
        """Run every candidate, and the dense stage, alone on the sample."""
        *runs, dense_run = _measured([*candidates, Candidate(dense)], dense, sample)
        return cls(dense, sample, runs, dense_run)

    def winner(self, dense_alone: bool = True) -> tuple[Cascade, tuple[Trial, ...]]:
        """The cheapest certified cascade, and all trials; with `dense_alone` it must clearly beat the dense stage."""
        runs = [run for run in self.runs if run.stage.certified]
        cascades = weigh(runs, self.dense_run)
        cheapest = np.argsort(cascades.penalized_seconds(), kind="stable")[: _FINALISTS + 1]
        alone = Cascade.of(self.dense)
        early = [found for index in cheapest if len(found := cascades.cascade(index, runs))][:_FINALISTS]
        finalists = [alone] if dense_alone or not early else []
        finalists += [cascade.before(self.dense) for cascade in early]
        trials = self.timed(*finalists)
        times = {entry: trial.microseconds for entry, trial in zip(finalists, trials, strict=True)}
        best = min(finalists, key=lambda entry: times[entry] * STAGE_PENALTY ** len(entry))
        if dense_alone and times[best] > CLEAR_WIN * times[alone]:
            best = alone
        return best, _each_once([*trials, *map(self._alone, runs)])

    def cheapest_within(self, shares: Iterable[float]) -> list[Cascade]:
        """For each share of rows that may be wrong, the cheapest cascade by estimate, without the dense stage."""
        cascades = weigh(self.runs, self.dense_run)
        seconds = cascades.penalized_seconds()
        allowed = (cascades.wrong <= share * self.sample.shape[0] for share in shares)
        return [cascades.cascade(int(np.argmin(np.where(few, seconds, np.inf))), self.runs) for few in allowed]

    def timed(self, *cascades: Cascade) -> list[Trial]:
        """The measured time of whole cascades, dense stage included, run in turns."""
        found = [run(cascade, self.sample) for cascade in cascades]
        memory = memory_of(self.dense.machine.kernel)
        if memory is None:
            seconds = best_of([partial(run, cascade, self.sample) for cascade in cascades], _FINAL_ROUNDS)
        else:
            seconds = [memory.pace * _sum(each.evaluations, self.sample) for each in found]
        return [
            Trial(str(cascade), float(np.mean(each.settled_by < len(cascade) - 1)), self._microseconds(total))
            for cascade, each, total in zip(cascades, found, seconds, strict=True)
        ]

    def _alone(self, alone: Run) -> Trial:
        """The estimated time of one stage before the dense one."""
        seconds = alone.costs.sum() + self.dense_run.costs @ ~alone.settled
        cascade = Cascade((alone.stage, self.dense), (alone.caution, 1.0))
        return Trial(str(cascade), float(alone.settled.mean()), self._microseconds(seconds))

    def _microseconds(self, seconds: float) -> float:
        return float(1e6 * seconds / self.sample.shape[0])


def _measured(candidates: Sequence[Candidate], dense: Dense, sample: Any) -> Iterator[Run]:
    """Run every stage alone. Of a candidate only the first is timed: evaluations cost the same at any caution."""
    tasks = [partial(candidate.stage.decide, sample, candidate.cautions[0]) for candidate in candidates]
    count, rule, right = sample.shape[0], dense.machine.rule, dense.right(sample)
    memory = memory_of(dense.machine.kernel)
    seconds = best_of(tasks, _ROUNDS) if memory is None else [0.0] * len(tasks)
    for number, (candidate, total) in enumerate(zip(candidates, seconds, strict=True)):
        stage = candidate.stage
        found = [stage.decide(sample, caution) for caution in candidate.cautions]
        each = total / max(_work(stage, found[0], count).sum(), 1.0) if memory is None else memory.pace
        for caution, chances, decisions in zip(candidate.cautions, candidate.disagreement, found, strict=True):
            settled = np.broadcast_to(True if decisions.settled is None else decisions.settled, count)
            wrong = settled * np.maximum(chances, rule.differ(decisions.answers, right)) if not stage.certified else 0.0
            costs = each * _work(stage, decisions, count)
            yield Run(stage, caution, number, settled, np.broadcast_to(wrong, count), costs)


def _work(stage: Stage, decisions: Decisions, count: int) -> Floats:
    """The cost of every row in units of kernel evaluations."""
    return np.broadcast_to(stage.overhead + np.asarray(decisions.evaluations, dtype=np.float64), count)


def _sum(evaluations: Integers | int, sample: Any) -> int:
    return int(np.broadcast_to(evaluations, sample.shape[0]).sum())


def _each_once(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The first trial of each cascade, sorted by time."""
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.stages, trial)
    return tuple(sorted(first.values(), key=lambda trial: trial.microseconds))


def best_of(tasks: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The least processor time of each task over several rounds, in each of which every task runs once.

    Processor time counts all threads together, and is hardly disturbed by other programs on the computer.
    """
    times = np.full(len(tasks), np.inf)
    for _ in range(rounds):
        for i, task in enumerate(tasks):
            start = time.process_time()
            task()
            times[i] = min(times[i], time.process_time() - start)
    return [float(seconds) for seconds in times]

"""What stages and cascades cost: timed on this computer, counted in kernel values, or estimated by a profile.

The race asks for costs in one place, here, so that it need not know where they come from. `Timed` is the default.
`Counted` serves slow Python kernels (`slow_kernels.py`). `Estimated` asks no clock: with a `Profile` the same plan is
made again, byte by byte, wherever the same versions of NumPy and BLAS run.

Costs are of batches of rows, or of single rows in calls of their own: a call, and the way of a row through stages that
were made for blocks of rows, then count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernel_memory import KernelMemory, memory_of
from dormie.machine.typing import Booleans, Integers
from dormie.methods.base import Decisions, Stage
from dormie.plan.cascade import Cascade
from dormie.planner.clock import best_of
from dormie.planner.profile import Profile
from dormie.planner.work import FastAt, entry_seconds, features_of, seconds_of
from dormie.predictor.cascade import run

_ROUNDS = 3  # of stages alone
_FINAL_ROUNDS = 7  # of whole cascades
_SINGLE_ROWS = 128  # that are timed in calls of their own


class Costs(ABC):
    """A way to tell how long stages and cascades take on sample rows."""

    def __init__(self, fast_at: FastAt = "batch") -> None:
        self.fast_at = fast_at

    @abstractmethod
    def of_stages(self, alone: Sequence[Alone], sample: Any) -> list[Callable[[Decisions], Floats]]:
        """For each stage a function: from what it decided on the sample, at any caution, to the seconds of each row."""

    @abstractmethod
    def of_entry(self, dense: Stage, sample: Any) -> float:
        """The seconds of a row that `of_stages` leaves out, because they do not depend on the number of stages."""

    @abstractmethod
    def of_cascades(self, cascades: Sequence[Cascade], sample: Any) -> list[float]:
        """The mean seconds of a row in each cascade."""

    def for_kernel_of(self, machine: Machine) -> Costs:
        """These costs, or counted ones if the values of the machine's kernel are remembered."""
        memory = memory_of(machine.kernel)
        return self if memory is None else Counted(memory, self.fast_at)


@dataclass(frozen=True, eq=False)
class Alone:
    """A stage at a caution, and what it decided on the sample."""

    stage: Stage
    caution: float
    found: Decisions


class Timed(Costs):
    """By the clock. Times of stages alone are divided among the rows in proportion to their work."""

    def of_stages(self, alone: Sequence[Alone], sample: Any) -> list[Callable[[Decisions], Floats]]:
        cascades = [Cascade((each.stage,), (each.caution,)) for each in alone]
        sample = self._timed(sample)
        seconds = best_of([self._task(cascade, sample) for cascade in cascades], _ROUNDS)
        calls = sample.shape[0] * self.of_entry(alone[-1].stage, sample)
        return [
            partial(_shared_out, each.stage, sample.shape[0], max(total - calls, 0.0), each.found)
            for each, total in zip(alone, seconds, strict=True)
        ]

    def of_entry(self, dense: Stage, sample: Any) -> float:
        """What a call takes without a row: a cascade is called once, however many stages it has."""
        if self.fast_at == "batch":
            return 0.0
        [seconds] = best_of([partial(_run_singly, Cascade.of(dense), [sample[:0]] * _SINGLE_ROWS)], _ROUNDS)
        return seconds / _SINGLE_ROWS

    def of_cascades(self, cascades: Sequence[Cascade], sample: Any) -> list[float]:
        sample = self._timed(sample)
        totals = best_of([self._task(cascade, sample) for cascade in cascades], _FINAL_ROUNDS)
        return [total / max(sample.shape[0], 1) for total in totals]

    def _timed(self, sample: Any) -> Any:
        """The rows to run: of single rows some are enough."""
        return sample if self.fast_at == "batch" else sample[:_SINGLE_ROWS]

    def _task(self, cascade: Cascade, sample: Any) -> Callable[[], Any]:
        if self.fast_at == "batch":
            return partial(run, cascade, sample)
        return partial(_run_singly, cascade, [sample[i : i + 1] for i in range(sample.shape[0])])


def _run_singly(cascade: Cascade, rows: Sequence[Any]) -> None:
    for row in rows:
        run(cascade, row, threads=1)


def _shared_out(stage: Stage, count: int, seconds: float, first: Decisions, found: Decisions) -> Floats:
    """Seconds of each row: those of the first decisions, on `count` rows, per unit of work."""
    total = float(_work(stage, first)[:count].sum())
    return seconds / max(total, 1.0) * _work(stage, found)


def _work(stage: Stage, found: Decisions) -> Floats:
    """The cost of every row in units of kernel evaluations."""
    return stage.overhead + _each(found.evaluations, len(found.answers))


def _each(evaluations: Integers | int, count: int) -> Floats:
    return np.broadcast_to(np.asarray(evaluations, dtype=np.float64), count)


class Counted(Costs):
    """By the number of kernel values, each of which costs what it was seen, or is assumed, to cost."""

    def __init__(self, memory: KernelMemory, fast_at: FastAt = "batch") -> None:
        super().__init__(fast_at)
        self._memory = memory

    def of_stages(self, alone: Sequence[Alone], sample: Any) -> list[Callable[[Decisions], Floats]]:  # noqa: ARG002
        return [partial(self._of_rows, each.stage) for each in alone]

    def _of_rows(self, stage: Stage, found: Decisions) -> Floats:
        return self._memory.pace * _work(stage, found)

    def of_entry(self, dense: Stage, sample: Any) -> float:  # noqa: ARG002 - only kernel values count
        return 0.0

    def of_cascades(self, cascades: Sequence[Cascade], sample: Any) -> list[float]:
        count = sample.shape[0]
        values = [_each(run(cascade, sample).evaluations, count).sum() for cascade in cascades]
        return [float(self._memory.pace * total / max(count, 1)) for total in values]


class Estimated(Costs):
    """By the profile of a computer, which knows what a unit of each method's work costs there."""

    def __init__(self, profile: Profile, fast_at: FastAt = "batch") -> None:
        super().__init__(fast_at)
        self._costs = profile.costs

    def of_stages(self, alone: Sequence[Alone], sample: Any) -> list[Callable[[Decisions], Floats]]:
        return [partial(self._of_rows, each.stage, sample) for each in alone]

    def _of_rows(self, stage: Stage, sample: Any, found: Decisions) -> Floats:
        evaluations = _each(found.evaluations, len(found.answers))
        return seconds_of(self._costs, stage, evaluations, features_of(sample), self.fast_at)

    def of_entry(self, dense: Stage, sample: Any) -> float:  # noqa: ARG002 - the same for all stages
        return entry_seconds(self._costs, features_of(sample), self.fast_at)

    def of_cascades(self, cascades: Sequence[Cascade], sample: Any) -> list[float]:
        entry = entry_seconds(self._costs, features_of(sample), self.fast_at)
        return [entry + self._of_stages_in_turn(cascade, sample) / max(sample.shape[0], 1) for cascade in cascades]

    def _of_stages_in_turn(self, cascade: Cascade, rows: Any) -> float:
        total = 0.0
        for stage, caution in cascade:
            if not rows.shape[0]:
                break
            found = stage.decide(rows, caution)
            total += float(self._of_rows(stage, rows, found).sum())
            rows = rows[_open(found, rows.shape[0])]
        return total


def _open(found: Decisions, count: int) -> Booleans:
    return np.zeros(count, dtype=np.bool_) if found.settled is None else ~found.settled

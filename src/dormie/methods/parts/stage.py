"""The parts stage: intervals of the outputs of each member of a sum of machines, and the rule of the sum over them.

Rows meet the members in turn, level after level: first the cheapest intervals of each member, then closer ones, and in
the certified stage last the members' full sums in float32, the smallest member first. What is known of a member stays
known, and nothing is known of one that was not met yet. So a row whose answer no other member can change is settled
before all members have been evaluated.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.rows import require_finite_vectors, some
from dormie.machine.typing import Arrays, Integers
from dormie.methods.base import (
    CalibratedStage,
    CertifiedStage,
    Decisions,
    Rung,
    Stage,
    Usable,
    middle_of,
    require,
    returns_exact_values,
    unknown_interval,
)
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.memory import Shapes, Size, packed
from dormie.methods.parts.nesting import nested, own
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.thresholds import require_caution
from dormie.numerics.evaluate import SumOfMachines
from dormie.numerics.reference import margins

_ROWS = 8192  # that are decided at once: their intervals stay in the cache
_COST_OF_ASKING = 150  # kernel evaluations for each output of the sum; measured with probabilities of two classes
_NAME, _ASKS = "parts", "asks"

Kinds = Mapping[str, type[Stage]]
Ends = tuple[Floats, Floats]


class Step(NamedTuple):
    """The next interval of a member, and whether the rule is asked after it."""

    member: int
    rung: Rung
    asks: bool


def needs_sum(machine: Machine) -> Usable:
    """Usable if the machine is a sum whose rows can stop early."""
    if not isinstance(machine, MachineSum):
        return Usable(f"{_NAME} serves sums of machines, and this is one machine: leave it out")
    if returns_exact_values(machine):
        return Usable(
            f"{_NAME} stops once intervals are narrow enough: give tolerance=0.001, say, or leave methods out"
        )
    return Usable()


class _PartsStage(Stage):
    """A stage for each member of a sum of machines.

    stages: one for each member, over that member; or none
    """

    name = _NAME
    machine: MachineSum
    kinds: ClassVar[Kinds]  # of the stages of members, by name

    def __init__(self, machine: Machine, stages: Sequence[Stage]) -> None:
        require(needs_sum(machine))
        assert isinstance(machine, MachineSum)
        stages = tuple(stages)
        if stages and [stage.machine for stage in stages] != list(machine.members):
            raise ValueError(f"{_NAME}: there must be one stage for each of the {len(machine.members)} members")
        self.machine, self.stages = machine, stages
        self.details = ", ".join(dict.fromkeys(map(str, stages))) or "full sums"

    @property
    def size(self) -> int:
        return sum(stage.size for stage in self.stages)

    @abstractmethod
    def _margins(self, rows: Any) -> Floats | float:
        """How far from the decision boundary intervals must stay."""

    @abstractmethod
    def _steps(self, caution: float) -> list[Step]:
        """The intervals of all members, in the order in which rows meet them."""

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        require_caution(caution)
        require_finite_vectors(rows, self.machine)
        steps, count = self._steps(caution), rows.shape[0]
        blocks = [np.arange(start, min(start + _ROWS, count)) for start in range(0, max(count, 1), _ROWS)]
        found = [self._decide(some(rows, block), steps) for block in blocks]
        return Decisions(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _decide(self, rows: Any, steps: Sequence[Step]) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and kernel evaluations, of a block of rows."""
        rule, count = self.machine.rule, rows.shape[0]
        answers = np.repeat(rule.answer(self.machine.bias[None]), count, axis=0)
        settled, evaluations, waiting = np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64), np.arange(count)
        margin = self._margins(rows)
        ends = [unknown_interval(member, rows) for member in self.machine.members]
        for member, rung, asks in steps:
            ends[member] = rung.interval(some(rows, waiting))
            evaluations[waiting] += rung.evaluations
            if not asks:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                low, high = self.machine.joined_ends(ends)
                now = rule.settled(low - margin, high + margin)
                answers[waiting[now]] = rule.answer(_within(low[now], high[now]))
            settled[waiting[now]] = True
            if now.any():
                waiting, ends = waiting[~now], [(least[~now], most[~now]) for least, most in ends]
                margin = margin if isinstance(margin, float) else margin[~now]
            if not len(waiting):
                break
        return answers, settled, evaluations

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return nested(self.stages)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        """That of the stages of all members, and of their full sums in float32."""
        return sum(cls._memory(number, member, shapes) for number, member in enumerate(machine.members))

    @classmethod
    def _memory(cls, number: int, member: Size, shapes: Shapes) -> int:
        """The same for one member; a stage without arrays may be of any kind that needs none."""
        arrays = {kind: own(number, name, shapes) for name, kind in cls.kinds.items()}
        given = [kind for kind, shapes in arrays.items() if shapes] or [*arrays]
        return packed(member, 4) + max(kind.memory(member, arrays[kind]) for kind in given)

    @classmethod
    def _restored(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> list[Stage]:
        """The stages of the members from their numbers and arrays."""
        require(needs_sum(machine))
        assert isinstance(machine, MachineSum)
        names = [str(numbers.get(str(number))) for number in range(len(machine.members))]
        if any(name not in cls.kinds for name in names):
            raise ValueError(f"{_NAME}: the stage of a member is none of {', '.join(cls.kinds)}")
        mine = [(own(at, name, numbers), own(at, name, arrays)) for at, name in enumerate(names)]
        if sum(map(len, (part for pair in mine for part in pair))) + len(names) != len(numbers) + len(arrays):
            raise ValueError(f"{_NAME}: there are numbers or arrays of no member's stage")
        members = zip(names, machine.members, mine, strict=True)
        return [cls.kinds[name].restore(member, *each) for name, member, each in members]

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return type(self), (self.machine, self.stages)


class Parts(_PartsStage, CertifiedStage):
    """Certified intervals of the members; without stages, those of their full sums alone.

    stages: one for each member, or none
    asks: after which steps the rule is asked, ascending to the last step (default: all); see `fitted`
    """

    kinds: ClassVar[Kinds] = {kind.name: kind for kind in (Geometry, ReducedSet, FastStopping)}

    def __init__(self, machine: Machine, stages: Sequence[Stage] = (), asks: Integers | None = None) -> None:
        super().__init__(machine, stages)
        self._sums = SumOfMachines(self.machine).members
        sums = [Rung(each.machine.n_points, each.rough_ends) for each in self._sums]
        rungs = [[*stage.rungs(1.0)] or [full] for stage, full in zip(self.stages, sums, strict=False)]
        most = max(map(len, rungs), default=0)
        smallest_first = sorted(range(len(sums)), key=lambda number: sums[number].evaluations)
        self._levels = [[own[min(at, len(own) - 1)] for own in rungs] for at in range(most)] or [sums]
        self._rungs = [(number, own[at]) for at in range(most) for number, own in enumerate(rungs) if at < len(own)]
        self._rungs += [(number, sums[number]) for number in smallest_first]
        self.asks = np.arange(len(self._rungs)) if asks is None else asks
        if not _ascends(self.asks, len(self._rungs) - 1):
            raise ValueError(f"{_NAME}: asks must ascend to {len(self._rungs) - 1}, the last of the steps")

    @property
    def words(self) -> str:
        first = "certified intervals of each machine of the sum, and then " if self.stages else ""
        return f"{first}the full sums of its machines one after the other, until they settle the answer together"

    def fitted(self, rows: Any) -> Parts:
        """The same stage, asking only where that pays on average over checked rows."""
        ends = np.cumsum([rung.evaluations for _, rung in self._rungs])
        found = self.decide(rows)
        assert not isinstance(found.evaluations, int)
        settled = np.bincount(np.searchsorted(ends, found.evaluations[found.settled]), minlength=len(ends))
        shares = 1 - np.cumsum(settled) / max(rows.shape[0], 1)
        return type(self)(
            self.machine, self.stages, asks_that_pay(ends, shares, _COST_OF_ASKING * self.machine.n_outputs)
        )

    def _margins(self, rows: Any) -> Floats:
        return margins(self.machine, rows)

    def _steps(self, caution: float) -> list[Step]:  # noqa: ARG002 - certified
        asks = set(self.asks.tolist())
        return [Step(member, rung, at in asks) for at, (member, rung) in enumerate(self._rungs)]

    def estimate(self, rows: Any) -> Floats:
        return self.machine.joined(
            [each.estimate(rows) for each in self.stages] or [f.outputs(rows) for f in self._sums]
        )

    @property
    def budgets(self) -> list[int]:
        return [sum(rung.evaluations for rung in level) for level in self._levels]

    def interval(self, rows: Any, budget: int) -> Ends:
        level = sum(least <= budget for least in self.budgets) - 1
        if level < 0:
            require_finite_vectors(rows, self.machine)
            return unknown_interval(self.machine, rows)
        return self.machine.joined_ends([rung.interval(rows) for rung in self._levels[level]])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        numbers, arrays = super().state()
        return numbers, arrays | {_ASKS: self.asks}

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        arrays = dict(arrays)
        asks = arrays.pop(_ASKS, np.empty(0))
        return cls(machine, cls._restored(machine, numbers, arrays) if numbers or arrays else (), asks)

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return type(self), (self.machine, self.stages, self.asks)


class CalibratedParts(_PartsStage, CalibratedStage):
    """Reduced sets of the members, with intervals measured on rows."""

    kinds: ClassVar[Kinds] = {CalibratedReducedSet.name: CalibratedReducedSet}
    words = "a few vectors for each machine of the sum, with error intervals measured on sample rows"
    answers_by_estimate = True

    def __init__(self, machine: Machine, stages: Sequence[Stage]) -> None:
        super().__init__(machine, stages)
        if not self.stages or any(len(stage.rungs(1.0)) != 1 for stage in self.stages):
            raise ValueError(f"{_NAME}: the reduced set of each member must have one level")

    def _margins(self, rows: Any) -> float:  # noqa: ARG002 - rounding is far below what is measured
        return 0.0

    def _steps(self, caution: float) -> list[Step]:
        rungs, last = [rung for [rung] in (stage.rungs(caution) for stage in self.stages)], len(self.stages) - 1
        return [Step(number, rung, number == last) for number, rung in enumerate(rungs)]

    def estimate(self, rows: Any) -> Floats:
        return self.machine.joined([stage.estimate(rows) for stage in self.stages])

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        return cls(machine, cls._restored(machine, numbers, arrays))


def _ascends(asks: Any, last: int) -> bool:
    """Whether these are places of steps, ascending to the last one."""
    if asks.ndim != 1 or asks.dtype != np.int64 or not len(asks):
        return False
    return bool(asks[0] >= 0 and asks[-1] == last and (asks[1:] > asks[:-1]).all())


def asks_that_pay(ends: Integers, shares: Floats, cost: float) -> Integers:
    """The steps after which to ask, so that rows cost least on average; the last one is always among them.

    ends: the kernel evaluations of a row up to the end of each step
    shares: of the rows that would still be open after each step, if the rule was asked after each
    cost: of asking, in kernel evaluations
    """
    count = len(ends)
    before, opened = np.append(0, ends), np.append(1.0, shares)
    least, best = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64)  # from after an ask to the end; the next ask
    for at in range(count - 1, -1, -1):
        later = opened[at] * (before[at + 1 :] - before[at] + cost) + least[at + 1 :]
        best[at] = at + 1 + np.argmin(later)
        least[at] = later.min()
    places = [int(best[0])]
    while places[-1] < count:
        places.append(int(best[places[-1]]))
    return np.array(places) - 1


def _within(low: Floats, high: Floats) -> Floats:
    """Outputs between two ends: the middle where both are known."""
    return np.clip(middle_of(low, high), low, high)

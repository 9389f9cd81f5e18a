"""The protocol of methods and stages, which the planner, the plan and the predictor rely on.

A *method* is one paper's way to settle rows. It says which machines it can serve, and it fits candidates for a plan.
A *stage* is a method fitted to a machine. It receives the rows that no earlier stage has settled and settles some of
them. Every stage offers

    decide(rows, caution=1.0)   answers, which of them are settled, and the kernel evaluations of each row
    estimate(rows)              the best guess of the outputs that the stage has

and a certified stage moreover

    interval(rows, budget)      low and high ends that contain the outputs, for a number of kernel evaluations

A stage is plain data, frozen parameters and a machine: a plan file stores it as names, numbers and arrays, and no code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.rules import ValueRule
from dormie.machine.typing import Arrays, Booleans, Integers
from dormie.methods.fitting import CalibratedFitting, CertifiedFitting
from dormie.methods.memory import Shapes, Size
from dormie.numerics import backend
from dormie.numerics.reference import widened

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NO_ROWS = np.empty(0, dtype=np.int64)
Parameters = TypeVar("Parameters", bound="DataclassInstance")


class Decisions(NamedTuple):
    """What a stage returns: answers, which of them are settled (None: all), and the kernel evaluations of each row."""

    answers: npt.NDArray[Any]
    settled: Booleans | None
    evaluations: Integers | int  # one number where all rows cost the same
    by_source: Integers = NO_ROWS  # rows that the source model's own sum had to decide


class Rung(NamedTuple):
    """Intervals of all outputs of checked rows, and the kernel evaluations that they take for each row."""

    evaluations: int
    interval: Callable[[Any], tuple[Floats, Floats]]


class Stage(ABC):
    """A method fitted to a machine."""

    name: ClassVar[str]  # of its method
    certified: ClassVar[bool]  # whether its answers are proved, rounding included
    has_caution: ClassVar[bool] = False  # whether a caution changes its answers
    machine: Machine
    guess: Stage | None = None  # a cheap stage inside it, for estimates at a deadline
    details: str = ""  # what tells the stage from others of its method, such as its number of vectors

    def __str__(self) -> str:
        return f"{self.name}({self.details})" if self.details else self.name

    def described(self, caution: float) -> str:
        """The stage with its caution, if it has one."""
        details = [detail for detail in (self.details, f"caution {caution:.3g}") if detail]
        return f"{self.name}({'; '.join(details)})" if self.has_caution else str(self)

    @property
    @abstractmethod
    def words(self) -> str:
        """What the stage does, as one phrase for `explain`."""

    @property
    def overhead(self) -> float:
        """The cost of a row besides its kernel evaluations, in kernel evaluations."""
        return 0.0

    @property
    def outputs_at_once(self) -> int:
        """How many outputs each kernel value is weighted for."""
        return self.machine.n_outputs

    @property
    def size(self) -> int:
        """How many vectors the stage has besides the machine's points, each counted with its weights as one."""
        return 0

    @abstractmethod
    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        """Settle as many of the rows as possible; the rows are checked (see `dormie.machine.rows`).

        caution: a factor on measured half-widths, finite and at least 0; certified stages have none
        """

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - see NativeStage
        """The stage at a caution as the native core runs it in a cascade; None if it is computed in Python."""
        return None

    def finish(self, rows: Any) -> Decisions | None:  # noqa: ARG002 - most leave rows to the next stage
        """Decide rows that `native` leaves open, all of them; None if the stage leaves such rows to the next one."""
        return None

    def rungs(self, caution: float) -> Sequence[Rung]:  # noqa: ARG002 - some have none
        """Intervals, the cheapest first: what the stage decides by under a rule that the native core does not know."""
        return ()

    @abstractmethod
    def estimate(self, rows: Any) -> Floats:
        """The best guess of every output of checked rows, rows x outputs."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The numbers and arrays from which `restore` rebuilds this stage, given the machine."""

    @classmethod
    @abstractmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        """Bytes that the stage needs besides its arrays, from the shapes of the arrays: see `dormie.methods.memory`."""

    @classmethod
    @abstractmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        """Rebuild a stage from its `state`; raises ValueError if the data does not fit the machine."""


class NativeStage(Stage):
    """A stage that the native core runs where there is one, and its twin in NumPy elsewhere."""

    @abstractmethod
    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        """What `decide` returns where `native` is None."""

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        if not backend.decides(self.machine):
            return decide_by_intervals(self.machine, rows, self.rungs(caution))
        alone = self._alone(caution)
        if alone is None:
            return self.decide_in_numpy(rows, caution)
        answers, _, evaluations, open_rows = alone.trace(rows)
        return Decisions(answers, settled_but(open_rows, rows), evaluations)

    @cached_property
    def _alone(self) -> Callable[[float], backend.extension.Cascade | None]:
        """From a caution to a cascade of this stage. Typed: True is no caution, though it equals 1.0."""
        return lru_cache(16, typed=True)(lambda caution: backend.cascade_of([self.native(caution)]))


class CertifiedStage(Stage):
    """A stage whose answers are proved, and so are intervals of the outputs."""

    certified = True

    @property
    @abstractmethod
    def budgets(self) -> Sequence[int]:
        """The numbers of kernel evaluations, ascending, at which `interval` becomes narrower."""

    @abstractmethod
    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Low and high ends of every output of checked rows, for at most `budget` kernel evaluations per row.

        The ends contain the real-number outputs, rounding included. They are infinite below the first of `budgets`.
        """

    def rungs(self, caution: float) -> Sequence[Rung]:  # noqa: ARG002 - certified
        """A few of the intervals, each of four times the evaluations of the one before: every one begins anew."""
        places = sorted({len(self.budgets) // part - 1 for part in (16, 4, 1) if len(self.budgets) >= part})
        return [Rung(self.budgets[at], partial(self.interval, budget=self.budgets[at])) for at in places]

    def steps(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        """The kernel evaluations spent on one row (1 x d), and its interval, budget by budget; computed lazily.

        A stage whose intervals begin anew, and have many budgets, may leave some out.
        """
        for budget in self.budgets:
            low, high = self.interval(row, budget)
            yield budget, low[0], high[0]


class CalibratedStage(Stage):
    """A stage with half-widths measured on rows, not proved; a higher caution makes it wrong less often.

    Calibration (`dormie.planner.risk.calibration`) chooses the caution at which held-out rows show the promised risk.
    """

    certified = False
    has_caution = True

    @property
    def answers_by_estimate(self) -> bool:
        """Whether every answer of `decide` is the rule's answer to `estimate`."""
        return False

    def chances(self, rows: Any, outputs: Floats) -> Floats | None:  # noqa: ARG002 - most know none
        """For every row, the probability that its answer is wrong if it is settled; None if the stage cannot tell."""
        return None


def decide_by_intervals(machine: Machine, rows: Any, rungs: Iterable[Rung]) -> Decisions:
    """Settle checked rows by intervals of their outputs, in NumPy: for rules that the native core does not know."""
    rule, n = machine.rule, rows.shape[0]
    answers = np.repeat(rule.answer(machine.bias[None]), n, axis=0)
    settled, evaluations, waiting = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64), np.arange(n)
    for rung in rungs:
        part = rows if len(waiting) == n else rows[waiting]
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = widened(machine, part, *rung.interval(part))
            now = rule.settled(low, high)
            answers[waiting[now]] = rule.answer((low / 2 + high / 2)[now])
        evaluations[waiting] = rung.evaluations
        settled[waiting[now]] = True
        waiting = waiting[~now]
        if not len(waiting):
            break
    return Decisions(answers, settled, evaluations)


def settled_but(open_rows: Integers | None, rows: Any) -> Booleans:
    """True for all rows but the open ones."""
    settled = np.ones(rows.shape[0], dtype=np.bool_)
    if open_rows is not None:
        settled[open_rows] = False
    return settled


def certified_among(stages: Iterable[Stage | None]) -> list[CertifiedStage]:
    """The certified stages among these."""
    return [stage for stage in stages if isinstance(stage, CertifiedStage)]


def unknown_interval(machine: Machine, rows: Any) -> tuple[Floats, Floats]:
    """The interval of rows that nothing is known of: from minus infinity to infinity."""
    ends = np.full((rows.shape[0], machine.n_outputs), np.inf)
    return -ends, ends


def middle_of(low: Floats, high: Floats) -> Floats:
    """The middle of intervals; 0 where nothing is known."""
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.where(known, low, 0.0) / 2 + np.where(known, high, 0.0) / 2, 0.0)


def arrays_of(*parameters: DataclassInstance) -> Arrays:
    """The arrays of frozen parameters by name, for `Stage.state`."""
    return {each.name: getattr(part, each.name) for part in parameters for each in fields(part)}


def parameters_from(kind: type[Parameters], arrays: Arrays) -> Parameters:
    """The parameters whose `arrays_of` are among these arrays, for `Stage.restore`."""
    return kind(**{name: arrays[name] for name in names_of(kind)})


def names_of(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """The names of the arrays of frozen parameters."""
    return tuple(each.name for each in fields(kind))


def require_state(
    stage: str, numbers: Mapping[str, Any], arrays: Mapping[str, Any], names: Iterable[str] = (), **types: type
) -> None:
    """Raise ValueError unless there are arrays of these names, and numbers of these types."""
    if set(arrays) != set(names) or {name: type(value) for name, value in numbers.items()} != types:
        raise ValueError(f"{stage}: the arrays or numbers of another stage")


@dataclass(frozen=True)
class Usable:
    """Whether a method can serve a machine: true, or false with a reason."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


class Method(ABC):
    """One paper's way to settle rows."""

    stages: ClassVar[tuple[type[Stage], ...]]  # one that is certified, or one that is not, or both
    serves_sparse_points: ClassVar[bool] = False
    needs_risk: ClassVar[bool] = False  # whether all its stages are calibrated: right on nearly all rows

    @property
    def name(self) -> str:
        """The name in `methods=[...]` and in plan files."""
        return self.stages[0].name

    def stage(self, certified: bool) -> type[Stage] | None:
        """The certified stage of the method, or the other one; None if it has none such."""
        return next((stage for stage in self.stages if stage.certified == certified), None)

    @abstractmethod
    def is_usable_for(self, machine: Machine) -> Usable:
        """Whether the method can serve the machine, whose points are dense; if not, the reason."""

    def usable_for(self, machine: Machine) -> Usable:
        """Whether the method can serve the machine; if not, the reason."""
        if machine.has_sparse_points and not self.serves_sparse_points:
            return Usable(
                f"{self.name} lays points out densely, and those of this machine are sparse: leave it out, or build "
                "the Machine with points.toarray()"
            )
        return self.is_usable_for(machine)

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:  # noqa: ARG002 - has none
        """Stages worth trying in an exact plan; raises CannotFit if none can be fitted."""
        yield from ()

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:  # noqa: ARG002 - has none
        """Stages worth trying in a plan with a risk; raises CannotFit if none can be fitted."""
        yield from ()

    def certified_companions(self, fitting: CalibratedFitting) -> Iterator[CertifiedStage]:  # noqa: ARG002 - has none
        """Certified stages made of what calibrated candidates were fitted to, for plans with a risk; little work."""
        yield from ()

    def stage_without_fitting(self, machine: Machine) -> CertifiedStage | None:  # noqa: ARG002 - has none
        """A certified stage that needs no fitting, for intervals in plans without one; None if there is none."""
        return None


def needs_inner_product(name: str, machine: Machine) -> Usable:
    """Usable if the kernel is an inner product."""
    if machine.kernel.positive_semidefinite:
        return Usable()
    if isinstance(machine, MachineSum):
        return Usable(f"{name} serves one machine, not a sum of machines: leave it out")
    if machine.kernel.is_python:
        return Usable(
            f"{name} needs a kernel known to be positive semi-definite; if the function is, say so: "
            "Custom(function, positive_semidefinite=True)"
        )
    return Usable(f"{name} needs a kernel known to be positive semi-definite, {machine.kernel!r} is not")


def needs_plain_rule(name: str, machine: Machine) -> Usable:
    """Usable if classes follow from the signs or the order of outputs."""
    if isinstance(machine.rule, ValueRule):
        return Usable(f"{name} serves classifiers only")
    if not backend.decides(machine):
        return Usable(
            f"{name} serves machines whose classes follow from the signs or the order of outputs: leave it out"
        )
    return Usable()


def needs_vectors(name: str, machine: Machine) -> Usable:
    """Usable if rows are vectors, and so can be moved, and the kernel is not a Python function."""
    if machine.kernel.is_python:
        return Usable(
            f"{name} makes vectors of its own, for which it must know more of a kernel than a Python function tells: "
            "leave it out"
        )
    if not machine.kernel.has_derivative and not isinstance(machine, MachineSum):
        return Usable(
            f"{name} makes vectors of its own by the kernel's derivative, and {machine.kernel} has none where a vector "
            "and a point share a coordinate: leave it out"
        )
    return needs_inner_product(name, machine)


def returns_exact_values(machine: Machine) -> bool:
    """Whether the answers are values without a tolerance, which only the full sum gives.

    Those of a Python kernel are found by steps that know no values but the outputs (`dormie.methods.stepwise`).
    """
    rule = machine.rule
    return isinstance(rule, ValueRule) and (
        rule.tolerance == 0 or (machine.kernel.is_python and not backend.decides(machine))
    )


def needs_early_stop(name: str, machine: Machine) -> Usable:
    """Usable if the kernel is an inner product and the rule lets rows stop before the full sum."""
    if returns_exact_values(machine):
        return Usable(
            f"{name} stops once an interval is narrow enough: give tolerance=0.001, say, or leave methods out"
        )
    return needs_inner_product(name, machine)


def require(usable: Usable) -> None:
    """Raise ValueError with the reason if a method is not usable."""
    if not usable:
        raise ValueError(usable.why_not)

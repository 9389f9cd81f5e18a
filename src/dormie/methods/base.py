"""The protocol of methods and stages, which the planner, the plan and the predictor rely on.

A *method* is one paper's way to settle rows. It says which machines it can serve, and it fits candidates for a plan.
A *stage* is a method fitted to a machine. It receives the rows that no earlier stage has settled and settles some of
them. A stage is plain data: a plan file stores it as a name, a few numbers and arrays, and no code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rules import Value
from dormie.machine.typing import Arrays, Booleans, Integers
from dormie.methods.memory import Shapes, Size
from dormie.numerics.evaluate import FullSum
from dormie.progress import Progress

NO_ROWS = np.empty(0, dtype=np.int64)


class Decisions(NamedTuple):
    """What a stage returns: answers, which of them are settled (None: all), and the kernel evaluations of each row."""

    answers: npt.NDArray[Any]
    settled: Booleans | None
    evaluations: Integers | int  # one number where all rows cost the same
    by_source: Integers = NO_ROWS  # rows that the source model's own sum had to decide


class Stage(ABC):
    """A method fitted to a machine."""

    name: ClassVar[str]
    machine: Machine
    certified: bool = True  # whether its answers are proved, rounding included
    narrows: ClassVar[bool] = False  # whether it has `bounds` and `refine`: intervals before the full sum
    guesses: ClassVar[bool] = False  # whether it has `guess`: an estimate for rows it leaves open

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def words(self) -> str:
        """What the stage does, as one phrase for `explain`."""

    @property
    def overhead(self) -> float:
        """The cost of a row besides its kernel evaluations, in kernel evaluations."""
        return 0.0

    @abstractmethod
    def decide(self, rows: Any) -> Decisions:
        """Settle as many of the rows as possible; the rows are checked (see `dormie.machine.rows`)."""

    def bounds(self, rows: Any, budget: int) -> tuple[Floats, Floats] | None:  # noqa: ARG002 - for stages that narrow
        """Certified low and high ends of every output, for at most `budget` kernel evaluations per row.

        None where the budget is too small for any bound.
        """
        return None

    def refine(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:  # noqa: ARG002 - for stages that narrow
        """Yield, step by step, the kernel evaluations spent on one row and the certified ends of its outputs."""
        yield from ()

    def guess(self, rows: Any) -> tuple[Floats, Floats]:
        """An estimate of every output of rows that are not settled, and a bound on its error."""
        raise NotImplementedError(f"{self.name} has no guesses")

    def scaled(self, scale: float) -> Stage:  # noqa: ARG002 - nothing to scale here
        """The same stage with `scale` times the caution; a certified stage returns itself."""
        return self

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


class CalibratedStage(Stage):
    """A stage whose thresholds are measured on rows, not proved; a higher caution makes it wrong less often.

    Calibration (`dormie.planner.risk.calibration`) chooses the caution at which held-out rows show the promised risk.
    A certified ReducedSet is an instance too: its half-widths are proved, so it refuses `cautious`.
    """

    certified = False
    caution: float  # ratio of its half-widths to those first fitted

    @abstractmethod
    def cautious(self, caution: float) -> CalibratedStage:
        """The same stage with another caution; raises ValueError if the stage is certified."""

    def scaled(self, scale: float) -> Stage:
        return self if self.certified else self.cautious(scale * self.caution)

    @abstractmethod
    def estimate(self, rows: Any) -> Floats | None:
        """The stage's estimate of the outputs, if it makes the same kind of estimate for all rows; None otherwise."""


@dataclass(frozen=True)
class Usable:
    """Whether a method can serve a machine: true, or false with a reason."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Effort:
    """How much work fitting may take: which candidates each method tries."""

    name: str
    moving_work: float  # most multiply-adds for optimising the vectors of one certified reduced set
    set_sizes: tuple[int, ...]  # sizes of calibrated reduced sets
    short_set_sizes: tuple[int, ...]  # further sizes where rows have few features
    long_set_sizes: tuple[int, ...]  # further sizes where the full sum is very long
    tree_evaluations: tuple[int, ...]  # mean kernel evaluations of a row in each tree
    rarely_fastest: bool  # whether to try methods that take long to fit and rarely win: nearest, tree


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", 0.0, (32, 128), (), (), (8,), rarely_fastest=False),
        Effort("normal", 2e11, (32, 128, 512), (16, 64, 256), (1024,), (8, 24), rarely_fastest=False),
        Effort(
            "thorough", 4e12, (8, 16, 32, 64, 128, 256, 512, 1024), (), (2048,), (8, 16, 32, 64), rarely_fastest=True
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked rows, and the machine's outputs for them."""

    rows: Any
    outputs: Floats

    @classmethod
    def of(cls, machine: Machine, rows: Any) -> Sample:
        return cls(rows, FullSum(machine).outputs(rows))

    def some(self, most: int, seed: int) -> Sample:
        """At most `most` of the rows, drawn at random."""
        count = self.rows.shape[0]
        few = np.sort(np.random.default_rng(seed).permutation(count)[:most])
        return self if count <= most else Sample(self.rows[few], self.outputs[few])


@dataclass(frozen=True, eq=False)
class CertifiedFitting:
    """The inputs for fitting certified candidates."""

    machine: Machine
    rows: Any  # a sample of checked rows, representative of later ones
    effort: Effort
    named: bool  # whether the user named the methods: then each tries all its candidates
    progress: Progress
    shared: dict[str, Any] = field(default_factory=dict)  # intermediate results that several methods use


@dataclass(frozen=True, eq=False)
class CalibratedFitting:
    """The inputs for fitting calibrated candidates: rows to fit on, and other rows to measure half-widths on."""

    machine: Machine
    fitting: Sample
    measuring: Sample
    effort: Effort
    named: bool  # whether the user named the methods
    seed: int
    progress: Progress


class Method(ABC):
    """One paper's way to settle rows."""

    stage: ClassVar[type[Stage]]
    needs_risk: ClassVar[bool] = False  # whether all its stages are calibrated: right on nearly all rows

    @property
    def name(self) -> str:
        """The name in `methods=[...]` and in plan files."""
        return self.stage.name

    @abstractmethod
    def is_usable_for(self, machine: Machine) -> Usable:
        """Whether the method can serve the machine; if not, the reason."""

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[Stage]:  # noqa: ARG002 - has none
        """Stages worth trying in an exact plan; raises CannotFit if none can be fitted."""
        yield from ()

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:  # noqa: ARG002 - has none
        """Stages worth trying in a plan with a risk; raises CannotFit if none can be fitted."""
        yield from ()

    def stage_without_fitting(self, machine: Machine) -> Stage | None:  # noqa: ARG002 - has none
        """A stage that has `bounds` and needs no fitting, for plans without one; None if the machine allows none."""
        return None


class CannotFit(Exception):
    """A method cannot fit this candidate: its numbers are too large, too small or nearly dependent."""


S = TypeVar("S", bound=Stage)


def attempts(fits: Iterable[Iterator[S]]) -> Iterator[S]:
    """Candidates fitted one after the other, without those that raise CannotFit; raises it itself if all of them do.

    fits  for each candidate a generator, which fits it when it is asked for the stage, or for several of one fit
    """
    any_fitted, first_reason = False, None
    for fit in fits:
        try:
            for stage in fit:
                any_fitted = True
                yield stage
        except CannotFit as reason:
            first_reason = first_reason or reason
    if first_reason is not None and not any_fitted:
        raise first_reason


@contextmanager
def arithmetic() -> Iterator[None]:
    """Raise CannotFit instead of a ValueError in this block, whose arguments are right, so that it is about numbers.

    NumPy and SciPy raise it for numbers that are not finite and for singular matrices, and stages for arrays that are
    not finite.
    """
    try:
        yield
    except ValueError as error:
        raise CannotFit(str(error)) from error


def needs_inner_product(name: str, machine: Machine) -> Usable:
    """Usable if the kernel is an inner product and its rounding error is known."""
    if machine.kernel.certifiable:
        return Usable()
    if machine.kernel.is_python:
        return Usable(
            f"{name} needs rows that are vectors and a kernel known to be positive semi-definite; with a Python "
            "function as kernel there are the dense stage and, with a risk, the tree: leave methods out"
        )
    return Usable(f"{name} needs a kernel known to be positive semi-definite, {machine.kernel!r} is not")


def returns_exact_values(machine: Machine) -> bool:
    """Whether the answers are values without a tolerance, which only the full sum gives."""
    return isinstance(machine.rule, Value) and machine.rule.tolerance == 0


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

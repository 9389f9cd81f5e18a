"""What every method is, and every stage: the protocol that the planner, the plan and the predictor go by.

A *method* is one paper's way to settle rows: it says which machines it can serve and fits candidates for a plan. A
*stage* is a method fitted to a machine: it sees the rows that no earlier stage has settled, settles some of them, and
is plain data, so that a plan file holds it as a name, a few numbers and arrays, and nothing that runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays
from dormie.methods.memory import Shapes, Size
from dormie.numerics.evaluate import FullSum
from dormie.progress import Progress

NO_ROWS = np.empty(0, dtype=np.int64)


class Decisions(NamedTuple):
    """What a stage found: answers where settled (None: everywhere), and the kernel evaluations each row cost."""

    answers: npt.NDArray[Any]
    settled: npt.NDArray[np.bool_] | None
    evaluations: npt.NDArray[np.int64] | int  # a number where it is the same for all rows
    by_source: npt.NDArray[np.int64] = NO_ROWS  # rows so near to the border that the source's own sum decided them


class Stage(ABC):
    """A method fitted to a machine."""

    name: ClassVar[str]
    machine: Machine
    certified: bool = True  # whether what it settles is proved, rounding included
    narrows: ClassVar[bool] = False  # whether it has intervals short of the full sum: `bounds` and `refine`
    guesses: ClassVar[bool] = False  # whether it has an estimate of rows it leaves open: `guess`

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def words(self) -> str:
        """What it does, in a sentence for `explain`."""

    @property
    def overhead(self) -> float:
        """What every row costs besides kernel evaluations, in units of those."""
        return 0.0

    @abstractmethod
    def decide(self, rows: Any) -> Decisions:
        """Settle what can be settled of checked rows (see `dormie.machine.rows`)."""

    def bounds(self, rows: Any, budget: int) -> tuple[Floats, Floats] | None:  # noqa: ARG002 - for stages that narrow
        """Certified low and high ends of every output, for at most `budget` kernel evaluations a row.

        None where so few evaluations tell nothing.
        """
        return None

    def refine(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:  # noqa: ARG002 - for stages that narrow
        """Kernel evaluations spent on one row so far, and the certified low and high ends of its outputs."""
        yield from ()

    def guess(self, rows: Any) -> tuple[Floats, Floats]:
        """An estimate of every output of rows that are not settled, and how far it may be off."""
        raise NotImplementedError(f"{self.name} has no guesses")

    def scaled(self, scale: float) -> Stage:  # noqa: ARG002 - nothing to scale here
        """The same stage, `scale` times as cautious; itself where nothing of it was measured."""
        return self

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Numbers and arrays that, with the machine, make this stage again."""

    @classmethod
    @abstractmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        """Bytes that the stage takes besides its arrays, which are of these shapes: see `dormie.methods.memory`."""

    @classmethod
    @abstractmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        """The stage that `state` came from; raises ValueError where the data does not fit the machine."""


class CautiousStage(Stage):
    """A stage whose thresholds were measured on rows, not proved: the more cautious it is, the more rarely it is wrong.

    Calibration (`dormie.planner.risk.calibration`) chooses the caution for which held-out rows show the promised risk.
    """

    certified = False
    caution: float  # how many times wider its half-widths are than first fitted

    @abstractmethod
    def cautious(self, caution: float) -> CautiousStage:
        """The same stage with another caution."""

    def scaled(self, scale: float) -> Stage:
        return self if self.certified else self.cautious(scale * self.caution)

    @abstractmethod
    def estimate(self, rows: Any) -> Floats | None:
        """What the stage takes the outputs for, where it has one estimate for all rows; None where it has not."""


@dataclass(frozen=True)
class Usable:
    """Whether a method can serve a machine: true, or false with the reason."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Effort:
    """How long fitting candidates may take."""

    name: str
    moving_work: float  # multiply-adds that moving the vectors of one certified reduced set may take
    set_sizes: tuple[int, ...]  # vectors of calibrated reduced sets
    short_set_sizes: tuple[int, ...]  # those tried as well where vectors are short
    long_set_sizes: tuple[int, ...]  # those tried as well where the full sum is very long
    tree_evaluations: tuple[int, ...]  # kernel evaluations a row of trees
    rarely_fastest: bool  # whether methods are tried that take long to fit and rarely win: nearest, tree


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
        """At most so many of them, drawn at random."""
        count = self.rows.shape[0]
        few = np.sort(np.random.default_rng(seed).permutation(count)[:most])
        return self if count <= most else Sample(self.rows[few], self.outputs[few])


@dataclass(frozen=True, eq=False)
class CertifiedFitting:
    """What certified candidates are fitted with."""

    machine: Machine
    rows: Any  # a sample of checked rows, like those to come
    effort: Effort
    asked: bool  # whether the user named the methods: then each tries whatever it can
    progress: Progress
    shared: dict[str, Any] = field(default_factory=dict)  # what methods that need the same leave for each other


@dataclass(frozen=True, eq=False)
class CalibratedFitting:
    """What calibrated candidates are fitted with: rows to fit on, and others to measure half-widths on."""

    machine: Machine
    fitting: Sample
    measuring: Sample
    effort: Effort
    asked: bool
    seed: int
    progress: Progress


class Method(ABC):
    """One paper's way to settle rows."""

    stage: ClassVar[type[Stage]]
    needs_risk: ClassVar[bool] = False  # whether all of its stages are calibrated: right on nearly all rows, not on all

    @property
    def name(self) -> str:
        """What users name it by, and plan files its stages."""
        return self.stage.name

    @abstractmethod
    def is_usable_for(self, machine: Machine) -> Usable:
        """Whether it can serve the machine at all, and why not."""

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[Stage]:  # noqa: ARG002 - has none
        """Stages that may pay in an exact plan; raises ValueError where none can be fitted."""
        yield from ()

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CautiousStage]:  # noqa: ARG002 - has none
        """Stages that may pay in a plan with a risk; raises ValueError where none can be fitted."""
        yield from ()

    def unfitted(self, machine: Machine) -> Stage | None:  # noqa: ARG002 - has none
        """A stage that narrows and needs no fitting, for plans without one; None where it has none."""
        return None


def needs_inner_product(name: str, machine: Machine) -> Usable:
    """Usable where geometric bounds hold and rounding is known."""
    if machine.kernel.certifiable:
        return Usable()
    if machine.kernel.is_python:
        return Usable(
            f"{name} needs rows that are vectors and a kernel known to be positive semi-definite; with a Python "
            "function as kernel there are the dense stage and, with a risk, the tree: leave methods out"
        )
    return Usable(f"{name} needs a kernel known to be positive semi-definite, {machine.kernel!r} is not")


def require(usable: Usable) -> None:
    """Raise ValueError with the reason where a method cannot serve."""
    if not usable:
        raise ValueError(usable.why_not)

"""What every stage is: work on rows that settles some answers, and plain data that can be saved.

A stage sees the rows that no earlier stage has settled. It is built from a machine (and, for later stages, its
own arrays), so a plan file holds each stage as a name, a few numbers and arrays, and nothing that runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.stages.room import Shapes, Size

NO_ROWS = np.empty(0, dtype=np.int64)


class Decisions(NamedTuple):
    """What a stage found: answers where settled (None: everywhere), and the kernel evaluations each row cost."""

    answers: npt.NDArray[Any]
    settled: npt.NDArray[np.bool_] | None
    evaluations: npt.NDArray[np.int64] | int  # a number where it is the same for all rows
    by_source: npt.NDArray[np.int64] = NO_ROWS  # rows so near to the border that the source's own sum decided them


class Stage(ABC):
    """One method at work on one machine."""

    name: ClassVar[str]
    machine: Machine
    certified: bool = True  # whether what it settles is proved, rounding included

    def __str__(self) -> str:
        return self.name

    @property
    def overhead(self) -> float:
        """What every row costs besides kernel evaluations, in units of those."""
        return 0.0

    @abstractmethod
    def decide(self, rows: Any) -> Decisions:
        """Settle what can be settled of checked rows (see `dormie.rows`)."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Numbers and arrays that, with the machine, make this stage again."""

    @classmethod
    @abstractmethod
    def room(cls, machine: Size, shapes: Shapes) -> int:
        """Bytes that the stage takes besides its arrays, which are of these shapes: see `dormie.stages.room`."""

    @classmethod
    @abstractmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Stage:
        """The stage that `state` came from; raises ValueError where the data does not fit the machine."""


def require_inner_product(machine: Machine, stage: type[Stage]) -> None:
    """Raise ValueError for a kernel that geometric bounds do not hold for, or whose rounding nobody knows."""
    if isinstance(machine.kernel, Custom) or not machine.kernel.positive_semidefinite:
        raise ValueError(f"{stage.name} needs a kernel known to be positive semi-definite, {machine.kernel!r} is not")


class CautiousStage(Stage):
    """A stage whose thresholds were measured on rows, not proved: it may be wrong, more rarely the more cautious it is.

    Calibration (`dormie.calibration`) chooses the caution for which held-out rows show the promised risk.
    """

    certified = False
    caution: float  # how many times as far out as fitted the thresholds are

    @abstractmethod
    def cautious(self, caution: float) -> CautiousStage:
        """The same stage with another caution."""

    @abstractmethod
    def estimate(self, rows: Any) -> Floats | None:
        """What the stage takes the outputs for, where it has one estimate for all rows; None where it has not."""

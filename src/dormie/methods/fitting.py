"""What methods fit candidates with: the effort, the rows, and what becomes of candidates that cannot be fitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernel_memory import MOST_VALUES, memory_of
from dormie.numerics.evaluate import full_sum_of
from dormie.progress import Progress

EffortName = Literal["quick", "normal", "thorough"]


@dataclass(frozen=True)
class Effort:
    """How much work fitting may take: which candidates each method tries."""

    name: str
    fit_rows: int  # most rows that approximations are fitted on
    moving_work: float  # most multiply-adds for optimising the vectors of one certified reduced set
    set_sizes: tuple[int, ...]  # sizes of calibrated reduced sets
    short_set_sizes: tuple[int, ...]  # further sizes where rows have few features
    long_set_sizes: tuple[int, ...]  # further sizes where the full sum is very long
    value_set_sizes: tuple[int, ...]  # further sizes for values with a tolerance
    guess_sizes: tuple[int, ...]  # vectors of reduced sets that guess a class
    tree_evaluations: tuple[int, ...]  # mean kernel evaluations of a row in each tree
    kernel_seconds: float  # most seconds of evaluating a slow Python kernel for one method
    rarely_fastest: bool  # whether to try methods that take long to fit and rarely win: nearest, regions, tree


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", 30_000, 0.0, (32, 128), (), (), (), (), (8,), 10.0, rarely_fastest=False),
        Effort(
            "normal",
            30_000,
            2e11,
            (32, 128, 512),
            (16, 64, 256),
            (1024,),
            (1024,),
            (32, 128),
            (8, 24),
            120.0,
            rarely_fastest=False,
        ),
        Effort(
            "thorough",
            500_000,
            4e12,
            (8, 16, 32, 64, 128, 256, 512, 1024),
            (),
            (2048,),
            (2048,),
            (32, 128),
            (8, 16, 32, 64),
            1800.0,
            rarely_fastest=True,
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
        return cls(rows, full_sum_of(machine).outputs(rows))

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

    def can_afford(self, evaluations: int) -> bool:
        """Whether the effort allows so many evaluations of the kernel; of one that is not slow it allows any number."""
        memory = memory_of(self.machine.kernel)
        if memory is None or self.named:
            return True
        return evaluations <= MOST_VALUES and memory.pace * evaluations <= self.effort.kernel_seconds


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
    shared: dict[str, Any] = field(default_factory=dict)  # what several methods use


class CannotFit(Exception):
    """A method cannot fit this candidate: its numbers are too large, too small or nearly dependent."""


Candidate = TypeVar("Candidate")


def attempts(fits: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
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

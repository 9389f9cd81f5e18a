"""Fast stopping (Muller 2004): partial sums, largest terms first, and a bound on the remaining terms.

Points are sorted by |beta| sqrt(K(s,s)), the maximum over the outputs. After k of them, by Cauchy-Schwarz,

    |G(x) - b - P_k| <= sqrt(K(x,x)) * sum_{i>k} |beta_i| sqrt(K(s_i,s_i)).

If no kernel value of a row is negative (see `one_sided`), its low end needs only the tail of the negative weights, and
its high end only that of the positive weights. Terms are added 32 at a time, a tile of the native core; a row stops as
soon as its answer is settled.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CertifiedStage,
    Decisions,
    NativeStage,
    middle_of,
    needs_inner_product,
    require,
    require_state,
    unknown_interval,
)
from dormie.methods.fast_stopping import reference
from dormie.methods.fast_stopping.one_sided import OneSided
from dormie.methods.fast_stopping.reference import STEP
from dormie.methods.memory import Shapes, Size, ceil_div, packed
from dormie.numerics import backend


class LargestTermsFirst(CertifiedStage):
    """Partial sums, largest terms first, of any kernel: this module has native ones, `of_python_kernel` functions."""

    name = "fast_stopping"
    words = "partial sums, largest terms first, until the remaining terms cannot change the answer (Muller 2004)"

    def __init__(self, machine: Machine) -> None:
        require(needs_inner_product(self.name, machine))
        self.machine = machine

    def estimate(self, rows: Any) -> Floats:
        return middle_of(*self._interval(rows, self.machine.n_points))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        terms = self._terms(budget)
        if terms <= 0:
            require_finite_vectors(rows, self.machine)
            return unknown_interval(self.machine, rows)
        return self._interval(rows, terms)

    @abstractmethod
    def _terms(self, budget: int) -> int:
        """How many terms this many kernel evaluations give; 0 or less if there is none."""

    @abstractmethod
    def _interval(self, rows: Any, terms: int) -> tuple[Floats, Floats]:
        """Low and high ends after so many terms."""

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        ordered = 16 * machine.points * (machine.features + machine.outputs + 2)  # twice while it is being built
        tails = 16 * machine.outputs * (ceil_div(machine.points, STEP) + 1)
        return ordered + tails + packed(machine, 4)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> LargestTermsFirst:
        require_state(cls.name, numbers, arrays)
        return cls(machine)

    def __reduce__(self) -> tuple[type[LargestTermsFirst], tuple[Machine]]:
        return type(self), (self.machine,)


class FastStopping(NativeStage, LargestTermsFirst):
    """Partial sums with Cauchy-Schwarz tails, a tile of terms at a time."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        ordered, one_sided = largest_first(machine), OneSided.of(machine)
        self._core = backend.choose(
            ordered,
            lambda core: backend.extension.FastStopping(core, one_sided),
            lambda: reference.FastStopping(ordered, one_sided),
        )

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - certified
        return backend.stage_of(self._core)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:  # noqa: ARG002 - certified
        twin: Any = self._core
        return Decisions(*twin.decide(rows))

    @property
    def budgets(self) -> range:
        """Whole steps, short of the full sum, which is the dense stage's."""
        return range(STEP, self.machine.n_points, STEP)

    def steps(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        # Every interval adds its terms anew: those an eighth longer than the last cost nine full sums, all together.
        last = 0
        for budget in self.budgets:
            if 8 * budget >= 9 * last:
                last = budget
                low, high = self.interval(row, budget)
                yield budget, low[0], high[0]

    def _terms(self, budget: int) -> int:
        return budget // STEP * STEP if budget < self.machine.n_points else self.machine.n_points

    def _interval(self, rows: Any, terms: int) -> tuple[Floats, Floats]:
        return self._core.interval(rows, terms)


def largest_first(machine: Machine) -> Machine:
    """The same machine with its points sorted by |beta| sqrt(K(s,s)), largest first."""
    with np.errstate(over="ignore", invalid="ignore"):  # a size that overflows sorts first, as it should
        sizes = np.abs(machine.weights).max(axis=1, initial=0.0) * np.sqrt(machine.kernel.diagonal(machine.points))
    order = np.argsort(-sizes, kind="stable")
    return replace(machine, points=machine.points[order], weights=machine.weights[order]).with_origin(machine.origin)

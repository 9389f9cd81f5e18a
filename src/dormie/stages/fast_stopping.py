"""Fast stopping (Muller 2004): the largest terms first, and a bound on what the others can still add.

Points are ordered by |beta| sqrt(K(s,s)), the largest over the outputs. After k of them, by Cauchy-Schwarz,

    |G(x) - b - P_k| <= sqrt(K(x,x)) * sum_{i>k} |beta_i| sqrt(K(s_i,s_i)),

and where the kernel is never negative the low end needs only the negative weights' tail, the high end only the
positive ones'. Terms are added a panel at a time; a row stops as soon as its answer is settled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import native, reference
from dormie.machine import Floats, Machine
from dormie.rows import require_finite
from dormie.stages.base import Decisions, Stage, require_inner_product
from dormie.stages.room import Shapes, Size, packed, panels


class FastStopping(Stage):
    """Partial sums, largest terms first, with Cauchy-Schwarz tails."""

    name = "fast_stopping"

    def __init__(self, machine: Machine) -> None:
        require_inner_product(machine, FastStopping)
        self.machine = machine
        self._ordered = largest_first(machine)
        self._native = native.fast_stopping(self._ordered)

    def decide(self, rows: Any) -> Decisions:
        if self._native is None:
            low, high = self.interval(rows, self.machine.n_points)
            settled = reference.settled_between(self.machine, rows, low, high)
            return Decisions(self.machine.rule.answer((low + high) / 2), settled, self.machine.n_points)
        return Decisions(*self._native.decide(*native.arguments(rows)))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Low and high of every output of every row after about `budget` terms (whole panels)."""
        if self._native is None:
            require_finite(rows)
            return reference.fast_stopping_interval(self._ordered, rows, budget)
        return self._native.interval(*native.arguments(rows, budget))  # type: ignore[no-any-return]

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return {}, {}

    @classmethod
    def room(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        ordered = 16 * machine.points * (machine.features + machine.outputs + 2)  # and once more while it is made
        tails = 16 * machine.outputs * (panels(machine.points, 4) + 1)
        return ordered + tails + packed(machine, 4)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> FastStopping:
        if numbers or arrays:
            raise ValueError("the fast stopping stage has no data of its own")
        return cls(machine)

    def __reduce__(self) -> tuple[type[FastStopping], tuple[Machine]]:
        return FastStopping, (self.machine,)


def largest_first(machine: Machine) -> Machine:
    """The same machine with its points in order of |beta| sqrt(K(s,s)), largest first."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is large enough to come first
        sizes = np.abs(machine.weights).max(axis=1, initial=0.0) * np.sqrt(machine.kernel.diagonal(machine.points))
    order = np.argsort(-sizes, kind="stable")
    return replace(machine, points=machine.points[order], weights=machine.weights[order]).with_origin(machine.origin)

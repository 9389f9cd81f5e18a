"""Fast stopping (Muller 2004): partial sums, largest terms first, and a bound on the remaining terms.

Points are sorted by |beta| sqrt(K(s,s)), the maximum over the outputs. After k of them, by Cauchy-Schwarz,

    |G(x) - b - P_k| <= sqrt(K(x,x)) * sum_{i>k} |beta_i| sqrt(K(s_i,s_i)).

If the kernel is never negative, the low end needs only the tail of the negative weights, and the high end only that
of the positive weights. Terms are added one panel at a time; a row stops as soon as its answer is settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import Decisions, Stage, needs_inner_product, require
from dormie.methods.fast_stopping import reference
from dormie.methods.memory import Shapes, Size, packed, panels
from dormie.numerics import backend
from dormie.numerics.reference import settled_between

_PANEL = 256  # terms added between two intervals


class FastStopping(Stage):
    """Partial sums, largest terms first, with Cauchy-Schwarz tails."""

    name = "fast_stopping"
    words = "partial sums, largest terms first, until the remaining terms cannot change the answer (Muller 2004)"
    narrows = True

    def __init__(self, machine: Machine) -> None:
        require(needs_inner_product(self.name, machine))
        self.machine = machine
        self._ordered = largest_first(machine)
        self._native = backend.build(
            self._ordered, lambda core: backend.extension.FastStopping(core, machine.kernel.nonnegative)
        )

    def decide(self, rows: Any) -> Decisions:
        if self._native is None:
            low, high = self.interval(rows, self.machine.n_points)
            settled = settled_between(self.machine, rows, low, high)
            return Decisions(self.machine.rule.answer((low + high) / 2), settled, self.machine.n_points)
        return Decisions(*self._native.decide(*backend.arguments(rows)))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Low and high ends of every output of every row after `budget` terms, rounded to whole panels."""
        if self._native is None:
            require_finite(rows)
            return reference.interval(self._ordered, rows, budget)
        return self._native.interval(*backend.arguments(rows, budget))

    def bounds(self, rows: Any, budget: int) -> tuple[Floats, Floats] | None:
        return self.interval(rows, budget // _PANEL * _PANEL) if budget >= _PANEL else None

    def refine(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        for k in range(_PANEL, self.machine.n_points, _PANEL):
            low, high = self.interval(row, k)
            yield k, low[0], high[0]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        ordered = 16 * machine.points * (machine.features + machine.outputs + 2)  # twice while it is being built
        tails = 16 * machine.outputs * (panels(machine.points, 4) + 1)
        return ordered + tails + packed(machine, 4)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> FastStopping:
        if numbers or arrays:
            raise ValueError("the fast stopping stage has no data of its own")
        return cls(machine)

    def __reduce__(self) -> tuple[type[FastStopping], tuple[Machine]]:
        return FastStopping, (self.machine,)


def largest_first(machine: Machine) -> Machine:
    """The same machine with its points sorted by |beta| sqrt(K(s,s)), largest first."""
    with np.errstate(over="ignore", invalid="ignore"):  # a size that overflows sorts first, as it should
        sizes = np.abs(machine.weights).max(axis=1, initial=0.0) * np.sqrt(machine.kernel.diagonal(machine.points))
    order = np.argsort(-sizes, kind="stable")
    return replace(machine, points=machine.points[order], weights=machine.weights[order]).with_origin(machine.origin)

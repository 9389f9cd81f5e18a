"""The far_away stage: the bias answers for rows that are far from all points."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import CertifiedStage, Decisions, require_state, unknown_interval
from dormie.methods.memory import Shapes, Size
from dormie.numerics.reference import settled_between

_UP = 1 + 1e-6  # far more than a few roundings


class FarAway(CertifiedStage):
    """Answers by the bias where no kernel value can matter."""

    name = "far_away"
    words = "the bias alone, for rows far from all support vectors"

    def __init__(self, machine: Machine, center: Floats, radius: float) -> None:
        self.machine, self.center, self.radius = machine, center, radius

    @classmethod
    def fit(cls, machine: Machine) -> FarAway:
        center = machine.points.mean(axis=0)
        return cls(machine, center, _UP * float(np.linalg.norm(machine.points - center, axis=1).max()))

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - certified
        settled = settled_between(self.machine, rows, *self.interval(rows, 1))
        return Decisions(self.machine.rule.answer(self.estimate(rows)), settled, 1)

    def estimate(self, rows: Any) -> Floats:
        require_finite(rows)
        return np.repeat(self.machine.bias[None], rows.shape[0], axis=0)

    @property
    def budgets(self) -> tuple[int]:
        return (1,)  # the distance from the center costs about as much as a kernel value

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        require_finite(rows)
        machine, x = self.machine, mapped(self.machine, rows)
        if budget < 1:
            return unknown_interval(machine, rows)
        gap = np.maximum(np.linalg.norm(x - self.center, axis=1) / _UP - self.radius, 0)
        largest = np.exp(-machine.kernel.gamma * gap**2)  # type: ignore[attr-defined]
        reach = _UP * np.outer(largest, np.abs(machine.weights).sum(axis=0))
        # One float further: a kernel value that underflows is not zero.
        return np.nextafter(machine.bias - reach, -np.inf), np.nextafter(machine.bias + reach, np.inf)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"radius": self.radius}, {"center": self.center}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - one vector
        return 8 * machine.features

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> FarAway:
        require_state(cls.name, numbers, arrays, ["center"], radius=float)
        return cls(machine, arrays["center"], numbers["radius"])

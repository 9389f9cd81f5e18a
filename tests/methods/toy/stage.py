"""The far_away stage: the bias answers for rows that are far from all points."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import Decisions, Stage
from dormie.methods.memory import Shapes, Size
from dormie.numerics.rounding import margin

_UP = 1 + 1e-6  # far more than a few roundings


class FarAway(Stage):
    """Answers by the bias where no kernel value can matter."""

    name = "far_away"
    words = "the bias alone, for rows far from all support vectors"

    def __init__(self, machine: Machine, center: Floats, radius: float) -> None:
        self.machine, self.center, self.radius = machine, center, radius

    @classmethod
    def fit(cls, machine: Machine) -> FarAway:
        center = machine.points.mean(axis=0)
        return cls(machine, center, _UP * float(np.linalg.norm(machine.points - center, axis=1).max()))

    def decide(self, rows: Any) -> Decisions:
        require_finite(rows)
        machine, x = self.machine, mapped(self.machine, rows)
        gap = np.maximum(np.linalg.norm(x - self.center, axis=1) / _UP - self.radius, 0)
        largest = np.exp(-machine.kernel.gamma * gap**2)  # type: ignore[attr-defined]
        reach = _UP * np.outer(largest, np.abs(machine.weights).sum(axis=0))
        reach += margin(machine)(np.linalg.norm(x, axis=1))
        settled = machine.rule.settled(machine.bias - reach, machine.bias + reach)
        answers = np.repeat(machine.rule.answer(machine.bias[None]), len(x), axis=0)
        return Decisions(answers, settled, 1)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"radius": self.radius}, {"center": self.center}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - one vector
        return 8 * machine.features

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> FarAway:
        if set(numbers) != {"radius"} or set(arrays) != {"center"}:
            raise ValueError("far_away: the arrays or numbers of another stage")
        return cls(machine, arrays["center"], numbers["radius"])

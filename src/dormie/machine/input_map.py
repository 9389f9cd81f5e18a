"""The input map: what a model does to every row before its kernel sees it, such as a scaler of a pipeline.

Points of a machine are already in mapped coordinates. The map is affine, one center and one scale a feature, and keeps
the steps that the model itself takes, because ties depend on their rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.typing import Floats, frozen_floats

MAP_STEPS = ("subtract", "divide", "multiply", "add")  # in the order of MapStep (native/methods/source_sum.hpp)


@dataclass(frozen=True, eq=False)
class Affine:
    """The input map x -> (x - center) / scale, one center and one scale a feature.

    `steps` says how the model itself computes the map, where that is otherwise: names out of `MAP_STEPS` and a number a
    feature for each, one step after the other. The result is the same but for rounding.
    """

    center: Floats
    scale: Floats
    steps: tuple[tuple[str, Floats], ...] = ()

    def __post_init__(self) -> None:
        for name in ("center", "scale"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name), f"Machine: the input map's {name}"))
        if self.center.ndim != 1 or self.center.shape != self.scale.shape:
            raise ValueError(f"Affine: center {self.center.shape} and scale {self.scale.shape} must be equal vectors")
        if not self.scale.all():
            raise ValueError(f"Affine: scale of feature {int(np.argmin(np.abs(self.scale)))} is 0")
        steps = tuple((name, frozen_floats(values, f"Machine: the input map's {name}")) for name, values in self.steps)
        object.__setattr__(self, "steps", steps)
        for name, values in steps:
            if name not in MAP_STEPS or values.shape != self.center.shape:
                raise ValueError(f"Affine: no step {name!r} with {values.shape} numbers; steps are {MAP_STEPS}")

    def __call__(self, rows: Any) -> Floats:
        return np.asarray((rows - self.center) / self.scale, dtype=np.float64)

    def inverse(self, rows: Any) -> Floats:
        """Rows that the map takes (up to rounding) to these."""
        return np.asarray(rows * self.scale + self.center, dtype=np.float64)

    def then(self, other: Affine) -> Affine:
        """This map followed by another, as one."""
        return Affine(self.center + self.scale * other.center, self.scale * other.scale)

    @property
    def all_steps(self) -> tuple[tuple[str, Floats], ...]:
        """What the model does to a row, one step after the other."""
        return self.steps or (("subtract", self.center), ("divide", self.scale))

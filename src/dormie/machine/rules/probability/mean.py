"""The mean of several models' probabilities: an ensemble of calibrated classifiers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.typing import Floats


@dataclass(frozen=True, eq=False)
class Mean(ProbabilityMap):
    """The mean of maps, each of which reads outputs of its own; these lie side by side.

    weights: those of the maps; empty where each counts 1
    """

    members: tuple[ProbabilityMap, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        if not self.members or len({member.n_classes for member in self.members}) != 1:
            raise ValueError("Mean: the maps must be at least one, and have the same classes")
        object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        if self.weights and len(self.weights) != len(self.members):
            raise ValueError(f"Mean: {len(self.members)} maps have as many weights, got {len(self.weights)}")
        if not all(math.isfinite(weight) and weight >= 0 for weight in self.weights) or not self._total > 0:
            raise ValueError("Mean: weights must be finite, none of them negative, and not all 0")

    @property
    def certifiable(self) -> bool:
        return all(member.certifiable for member in self.members)

    @property
    def n_classes(self) -> int:
        return self.members[0].n_classes

    @property
    def n_outputs(self) -> int:
        return sum(member.n_outputs for member in self.members)

    @property
    def _total(self) -> float:
        return float(np.sum(self.weights)) if self.weights else float(len(self.members))

    def _parts(self) -> Iterator[tuple[ProbabilityMap, slice, float]]:
        """Each map, its outputs, and its weight."""
        start = 0
        for number, member in enumerate(self.members):
            yield member, slice(start, start + member.n_outputs), self.weights[number] if self.weights else 1.0
            start += member.n_outputs

    def values(self, outputs: Floats) -> Floats:
        total = np.zeros((len(outputs), self.n_classes))
        for member, part, weight in self._parts():
            total += weight * member.values(outputs[:, part])
        total /= self._total
        return total

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = np.zeros((2, len(low), self.n_classes))
        for member, part, weight in self._parts():
            own = member.bounds(low[:, part], high[:, part])
            least, most = least + weight * own[0], most + weight * own[1]
        # As many products, additions, a sum of the weights and a quotient, here and in `values`.
        up = 8 * (len(self.members) + 2) * UNIT
        return least / self._total * (1 - up), most / self._total * (1 + up)

"""The mean of several models' probabilities: an ensemble of calibrated classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.typing import Floats


@dataclass(frozen=True, eq=False)
class Mean(ProbabilityMap):
    """The mean of maps, each of which reads outputs of its own; these lie side by side."""

    members: tuple[ProbabilityMap, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        if not self.members or len({member.n_classes for member in self.members}) != 1:
            raise ValueError("Mean: the maps must be at least one, and have the same classes")

    @property
    def certifiable(self) -> bool:
        return all(member.certifiable for member in self.members)

    @property
    def n_classes(self) -> int:
        return self.members[0].n_classes

    @property
    def n_outputs(self) -> int:
        return sum(member.n_outputs for member in self.members)

    def _parts(self) -> Iterator[tuple[ProbabilityMap, slice]]:
        start = 0
        for member in self.members:
            yield member, slice(start, start + member.n_outputs)
            start += member.n_outputs

    def values(self, outputs: Floats) -> Floats:
        total = np.zeros((len(outputs), self.n_classes))
        for member, part in self._parts():
            total += member.values(outputs[:, part])
        total /= len(self.members)
        return total

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = np.zeros((2, len(low), self.n_classes))
        for member, part in self._parts():
            own = member.bounds(low[:, part], high[:, part])
            least, most = least + own[0], most + own[1]
        count = len(self.members)
        up = 4 * (count + 2) * UNIT  # as many additions and a quotient, here and in `values`
        return least / count * (1 - up), most / count * (1 + up)

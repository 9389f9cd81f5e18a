"""The shares of members' votes: each member answers by a rule of its own and votes for one class, with a weight.

Bagging of classifiers without probabilities and hard voting answer so. A member votes for its answer, so intervals of
its outputs settle its vote or leave it open, and the votes of all members lie between those that are settled and those
that are possible. Sums of weights are added in the order of the members, as scikit-learn adds them: rounded additions
never fall where a term grows, so that the ends are exact, and equal votes are settled too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.rules.argmax import Argmax
from dormie.machine.rules.base import ClassRule
from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.rules.probability.calibrated import outputs_of
from dormie.machine.rules.sign import Sign
from dormie.machine.rules.vote import OneVsOneVote
from dormie.machine.typing import Floats, Positions

MOST_CLASSES = 1000  # so that a small file cannot ask for tables of any width


@dataclass(frozen=True, eq=False)
class Votes(ProbabilityMap):
    """The share of the votes that each class has.

    members: the rule of each member, in whose labels classes are counted from 0; their outputs lie side by side
    count: that of all classes; a member may know fewer of them
    weights: those of the members' votes; empty where each counts 1
    """

    members: tuple[ClassRule, ...]
    count: int
    weights: tuple[float, ...] = ()
    first_of_equal = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        if not self.members or not all(isinstance(member, Sign | Argmax | OneVsOneVote) for member in self.members):
            raise ValueError("Votes: members vote by the rules of classifiers, and there must be at least one")
        for member in self.members:
            _require_places("Votes: the labels of members", np.asarray(member.classes).tolist(), self.count)
        if self.weights and len(self.weights) != len(self.members):
            raise ValueError(f"Votes: {len(self.members)} members have as many weights, got {len(self.weights)}")
        if not all(math.isfinite(weight) and weight >= 0 for weight in self.weights) or not self._total > 0:
            raise ValueError("Votes: weights must be finite, none of them negative, and not all 0")

    @property
    def _total(self) -> float:
        return math.fsum(self.weights) if self.weights else float(len(self.members))

    @property
    def certifiable(self) -> bool:
        """A share jumps where a member is at its decision boundary."""
        return False

    @property
    def n_classes(self) -> int:
        return self.count

    @property
    def n_outputs(self) -> int:
        return sum(map(outputs_of, self.members))

    def _parts(self) -> Iterator[tuple[ClassRule, Positions, slice, float]]:
        """Each member, the positions of its classes, its outputs, and its weight."""
        start = 0
        for number, member in enumerate(self.members):
            end = start + outputs_of(member)
            weight = self.weights[number] if self.weights else 1.0
            yield member, np.asarray(member.classes, dtype=np.intp), slice(start, end), weight
            start = end

    def ranked(self, outputs: Floats) -> Floats:
        votes, rows = np.zeros((len(outputs), self.count)), np.arange(len(outputs))
        for member, classes, part, weight in self._parts():
            votes[rows, classes[member.answer(outputs[:, part])]] += weight
        return votes

    def values(self, outputs: Floats) -> Floats:
        return self.ranked(outputs) / self._total

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = self.ranks(low, high)
        return least / self._total, most / self._total

    def ranks(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = np.zeros((2, len(low), self.count))
        for member, classes, part, weight in self._parts():
            settled = np.flatnonzero(member.settled(low[:, part], high[:, part]))
            with np.errstate(over="ignore", invalid="ignore"):  # an output that does not matter may be unknown
                chosen = classes[member.answer(low[settled, part] / 2 + high[settled, part] / 2)]
            least[settled, chosen] += weight
            most[settled, chosen] += weight
            most[np.ix_(_others(settled, len(low)), classes)] += weight
        return least, most


def _require_places(what: str, places: Sequence[Any], count: int) -> None:
    """Raise ValueError unless these are positions of classes."""
    if count > MOST_CLASSES:
        raise ValueError(f"{what} may be those of at most {MOST_CLASSES:,} classes, got {count:,}")
    if not all(isinstance(place, int) and 0 <= place < count for place in places):
        raise ValueError(f"{what} must be positions of classes, 0 to {count - 1}")


def _others(some: Positions, count: int) -> Positions:
    """The rows that are not among some."""
    rest = np.ones(count, dtype=bool)
    rest[some] = False
    return np.flatnonzero(rest)


@dataclass(frozen=True, eq=False)
class Among(ProbabilityMap):
    """Probabilities of some of the classes; a member that was trained without rows of the others gives them 0."""

    map: ProbabilityMap
    places: tuple[int, ...]
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", tuple(map(int, self.places)))
        if len(self.places) != self.map.n_classes or len({*self.places}) != len(self.places):
            raise ValueError(f"Among: {self.map.n_classes} probabilities have as many places, got {self.places}")
        _require_places("Among: places", self.places, self.count)

    @property
    def certifiable(self) -> bool:
        return self.map.certifiable

    @property
    def n_classes(self) -> int:
        return self.count

    @property
    def n_outputs(self) -> int:
        return self.map.n_outputs

    def _placed(self, found: Floats) -> Floats:
        placed = np.zeros((len(found), self.count))
        placed[:, self.places] = found
        return placed

    def values(self, outputs: Floats) -> Floats:
        return self._placed(self.map.values(outputs))

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = self.map.bounds(low, high)
        return self._placed(least), self._placed(most)

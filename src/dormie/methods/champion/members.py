"""Which points a part of a one-vs-one vote needs: those with a weight in one of a class's own pairs, or in one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import OneVsOneVote, Value
from dormie.machine.typing import Integers, Positions


@dataclass(frozen=True, eq=False)
class Members:
    """The points that group k, a class or a pair, needs: members[starts[k]] to members[starts[k + 1]], ascending.

    The machine determines them. They are kept with the plan, because their number tells how much memory a stage needs.
    In the order of Members in native/methods/members.hpp.
    """

    members: Integers
    starts: Integers  # groups + 1

    @classmethod
    def of(cls, machine: Machine) -> Members:
        """The members of every class."""
        assert isinstance(machine.rule, OneVsOneVote)
        pairs = (pairs_of(machine, k)[0] for k in range(len(machine.rule.classes)))
        return cls._of([np.flatnonzero(machine.weights[:, outputs].any(axis=1)) for outputs in pairs])

    @classmethod
    def of_pairs(cls, machine: Machine) -> Members:
        """The members of every pair."""
        return cls._of([np.flatnonzero(of_pair) for of_pair in machine.weights.T])

    @classmethod
    def _of(cls, groups: Sequence[Positions]) -> Members:
        starts = np.cumsum([0, *map(len, groups)], dtype=np.int64)
        return cls(np.concatenate(groups).astype(np.int64), starts)

    def of_group(self, k: int) -> Integers:
        """The points that class or pair k needs."""
        return self.members[self.starts[k] : self.starts[k + 1]]


def require_equal(stage: str, members: Members, own: Members) -> None:
    """Raise ValueError unless the members are those of the machine, to the type."""
    if not all(
        mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        for mine, theirs in ((members.members, own.members), (members.starts, own.starts))
    ):
        raise ValueError(f"{stage}: the members are not those of the machine")


def pairs_of(machine: Machine, k: int) -> tuple[Positions, Floats]:
    """The outputs of the pairs of class k, one rival after the other, and their signs: -1 where k is the second."""
    assert isinstance(machine.rule, OneVsOneVote)
    first, second = machine.rule.pairs
    outputs = np.flatnonzero((first == k) | (second == k))
    rivals = np.where(first == k, second, first)[outputs]
    outputs = outputs[np.argsort(rivals)]
    return outputs, np.where(first[outputs] == k, 1.0, -1.0)


def contender(machine: Machine, members: Members, k: int) -> Machine:
    """Class k against each of the others: an output for every rival, positive where class k wins."""
    few = members.of_group(k)
    outputs, signs = pairs_of(machine, k)
    weights, bias = machine.weights[few][:, outputs] * signs, machine.bias[outputs] * signs
    return replace(machine, points=machine.points[few], weights=weights, bias=bias, rule=Value(flat=False))

"""The champion of a one-vs-one vote: the champion stage.

In a vote of c classes, one vote for each pair, a class that wins all its c - 1 pairs has c - 1 votes. Every rival lost
to it, and so has c - 2 at most. (Where summed outputs break ties they count for less than 1/3 of a vote each way.) So
one class's own pairs settle the vote:

- a small reduced set guesses the class that wins;
- the outputs of that class's pairs are summed in full, with a bound on rounding. If all of them are on the side of the
  class, further than the machine's margin, the answer is certain. If not, the row goes on to the next stage.

This needs c - 1 outputs in place of c (c - 1) / 2, and only the points with a weight in one of these pairs: for ten
digits 0.37 of the support vectors, for 26 letters less than a quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.rules import OneVsOneVote
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CertifiedStage,
    Decisions,
    NativeStage,
    Usable,
    arrays_of,
    names_of,
    needs_vectors,
    parameters_from,
    require,
    require_state,
    unknown_interval,
)
from dormie.methods.champion import reference
from dormie.methods.champion.members import Members, require_equal
from dormie.methods.memory import Shapes, Size, extent, packed_apart
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.stage import CalibratedReducedSet
from dormie.numerics import backend


def needs_vote(name: str, machine: Machine) -> Usable:
    """Usable if there is a vote of three or more classes, and a kernel that the reduced set can have."""
    rule = machine.rule
    if not isinstance(rule, OneVsOneVote) or len(rule.classes) < 3:
        return Usable(f"{name} needs a one-vs-one vote of three or more classes, as SVC takes: leave it out")
    return needs_vectors(name, machine)


class Champion(NativeStage, CertifiedStage):
    """The winner of a vote, guessed by a reduced set of one level, and proved by its own pairs."""

    name = "champion"
    words = "the class that a few vectors guess, proved by winning each of its pairs"
    guess: CalibratedReducedSet

    def __init__(self, machine: Machine, guess: Levels, members: Members | None = None) -> None:
        """members: those of the machine; ValueError if they are others."""
        require(needs_vote(self.name, machine))
        own = Members.of(machine)
        if members is not None:
            require_equal(self.name, members, own)
        self.machine = machine
        self.members = own
        self.guess = CalibratedReducedSet(machine, guess, np.zeros((1, machine.n_outputs)))
        self.details = self.guess.details
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.Champion(core, guess.points, guess.weights, *backend.contiguous(own)),
            lambda: reference.Champion(machine, guess, own),
        )

    @property
    def outputs_at_once(self) -> int:
        return len(self.members.starts) - 2  # of its pairs with the others

    @property
    def size(self) -> int:
        return self.guess.size

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - certified
        return backend.stage_of(self._core)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:  # noqa: ARG002 - certified
        twin: Any = self._core
        return Decisions(*twin.decide(rows))

    def estimate(self, rows: Any) -> Floats:
        return self.guess.estimate(rows)

    @property
    def budgets(self) -> tuple[int, ...]:
        """None: most outputs are never bounded."""
        return ()

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:  # noqa: ARG002 - never enough
        require_finite(rows, self.machine)
        return unknown_interval(self.machine, rows)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, arrays_of(self.guess.levels, self.members)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        classes, points = max(extent(shapes, "starts") - 1, 1), extent(shapes, "members")
        of_classes = packed_apart(Size(points, machine.features, classes - 1), classes, 4)
        guess = CalibratedReducedSet.memory(machine, shapes)
        # Last: while one class is packed, its points and weights are there in float64 too.
        return 2 * guess + of_classes + 8 * machine.points * (machine.features + classes)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Champion:
        require_state(cls.name, numbers, arrays, names_of(Levels) + names_of(Members))
        return cls(machine, parameters_from(Levels, arrays), parameters_from(Members, arrays))

    def __reduce__(self) -> tuple[type[Champion], tuple[Machine, Levels]]:
        return Champion, (self.machine, self.guess.levels)

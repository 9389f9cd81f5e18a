"""The pairs of a one-vs-one vote that are open, in full: the open_pairs stage.

A class that wins all its c - 1 pairs has won the vote (see `dormie.methods.champion`). A small reduced set estimates
every pair, and its half-widths, measured on rows, tell which estimates are clear of zero:

- the vote of the estimates names a class;
- its pairs that are clear of zero are believed. Those that are open are summed in full, over the points with a weight
  in that pair alone. If the class wins all of its pairs, it is the answer; if another class beats it, that one is
  tried next.

Most rows that a reduced set cannot settle are a matter of one or two pairs. For ten digits 6 % of the support vectors
have a weight in a pair, so such a row takes about an eighth of the full sum. Nothing is certified: calibration
determines how often the estimates that are believed may be wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    arrays_of,
    names_of,
    parameters_from,
    require,
    require_state,
)
from dormie.methods.champion.members import Members, require_equal
from dormie.methods.champion.stage import needs_vote
from dormie.methods.memory import Shapes, Size, extent, packed_apart
from dormie.methods.open_pairs import reference
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.stage import CalibratedReducedSet
from dormie.methods.thresholds import require_caution
from dormie.numerics import backend

_HALF_WIDTHS = "half_widths"


class OpenPairs(NativeStage, CalibratedStage):
    """The winner of a vote that a reduced set of one level names, with those of its pairs that are open in full.

    half_widths: 1 x c, for rows with K(x,x) = 1
    """

    name = "open_pairs"
    words = "the pairs of classes that a few vectors leave open, in full"
    guess: CalibratedReducedSet

    def __init__(self, machine: Machine, guess: Levels, half_widths: Floats, members: Members | None = None) -> None:
        """members: those of the machine's pairs; ValueError if they are others."""
        require(needs_vote(self.name, machine))
        own = Members.of_pairs(machine)
        if members is not None:
            require_equal(self.name, members, own)
        self.machine = machine
        self.members = own
        self.guess = CalibratedReducedSet(machine, guess, half_widths)
        self.details = self.guess.details
        widths = self.guess.half_widths
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.OpenPairs(
                core, guess.points, guess.weights, widths[0], *backend.contiguous(own)
            ),
            lambda: reference.OpenPairs(machine, guess, widths, own),
        )

    @property
    def outputs_at_once(self) -> int:
        return 1  # of most kernel values: those of a pair

    @property
    def size(self) -> int:
        return self.guess.size

    def native(self, caution: float) -> backend.extension.Stage | None:
        require_caution(caution)
        return backend.stage_of(self._core, caution)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        twin: Any = self._core
        return Decisions(*twin.decide(rows, caution))

    def estimate(self, rows: Any) -> Floats:
        return self.guess.estimate(rows)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, arrays_of(self.guess.levels, self.members) | {_HALF_WIDTHS: self.guess.half_widths}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        pairs, points = max(extent(shapes, "starts") - 1, 1), extent(shapes, "members")
        of_pairs = packed_apart(Size(points, machine.features, 1), pairs, 4)
        guess = CalibratedReducedSet.memory(machine, shapes)
        # Last: while one pair is packed, its points and weights are there in float64 too.
        return 2 * guess + of_pairs + 8 * machine.points * (machine.features + 1)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> OpenPairs:
        require_state(cls.name, numbers, arrays, [*names_of(Levels), *names_of(Members), _HALF_WIDTHS])
        levels, members = parameters_from(Levels, arrays), parameters_from(Members, arrays)
        if len(levels.sizes) != 1:
            raise ValueError(f"{cls.name}: the guess must have one level, got {len(levels.sizes)}")
        return cls(machine, levels, arrays[_HALF_WIDTHS], members)

    def __reduce__(self) -> tuple[type[OpenPairs], tuple[Machine, Levels, Floats]]:
        return OpenPairs, (self.machine, self.guess.levels, np.asarray(self.guess.half_widths))

"""A score for each class in place of the outputs: the scores stage.

A one-vs-one machine of c classes has c (c - 1) / 2 outputs, which any approximation of them has too. But an answer is
one of c classes, and c scores are enough to tell it: for few vectors z_1..z_n

    s_k(x) = sum_i gamma_ik K(x, z_i) + b_k,

and the class with the largest score is the answer where it is ahead of the next one by a measured gap, times
sqrt(K(x,x)). Vectors and weights are fitted to the full machine's answers by cross-entropy (`fitting.py`), so the gap
is about the logarithm of how many times likelier the one class is than the other. Nothing is certified: calibration
determines how often answers may be wrong.

The scores are a machine of their own, with the rule of the largest output, and a reduced set of that machine settles
rows: a gap is twice its half-width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import Argmax, ClassRule
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    Usable,
    arrays_of,
    names_of,
    needs_vectors,
    parameters_from,
    require,
    require_state,
)
from dormie.methods.memory import Shapes, Size, extent
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.stage import CalibratedReducedSet
from dormie.methods.thresholds import compared, require_floats
from dormie.numerics import backend

_FEWEST_CLASSES = 3  # of two classes a machine has one output, and scores would be two


@dataclass(frozen=True, eq=False)
class ScoreMachine:
    """Vectors, and for each class the weights and bias of its score."""

    points: Floats  # n x d, in mapped coordinates
    weights: Floats  # n x classes
    bias: Floats  # classes


def needs_classes(name: str, machine: Machine) -> Usable:
    """Usable if the answers are three or more classes, and the kernel is one that a reduced set can have."""
    if not isinstance(machine.rule, ClassRule) or len(machine.rule.classes) < _FEWEST_CLASSES:
        return Usable(f"{name} serves classifiers of three or more classes only: leave it out")
    return needs_vectors(name, machine)


class Scores(NativeStage, CalibratedStage):
    """The class with the largest score, for rows where it is ahead by a measured gap.

    gap: for rows with K(x,x) = 1
    """

    name = "scores"
    words = "a few vectors with a score for each class, for rows where one class is ahead by a measured gap"

    def __init__(self, machine: Machine, scores: ScoreMachine, gap: float) -> None:
        require(needs_classes(self.name, machine))
        _require_fit(machine, scores, gap)
        self.machine = machine
        self.scores = scores
        self.gap = gap
        self.details = str(len(scores.points))
        scoring = machine_of(machine, scores)
        levels = Levels.of(scores.points, [scoring.weights], scoring.n_outputs)
        half_widths = np.full((1, scoring.n_outputs), gap / 2)
        self._set = CalibratedReducedSet(scoring, levels, half_widths)

    def native(self, caution: float) -> backend.extension.Stage | None:
        return self._set.native(caution)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        return self._set.decide_in_numpy(rows, caution)

    def estimate(self, rows: Any) -> Floats:
        """The scores where the machine has an output for each class, and their differences where it has one for a pair.

        They have the answer of the scores, and so has a vote on them.
        """
        scores = self._set.estimate(rows)
        return scores if isinstance(self.machine.rule, Argmax) else compared(self._set.machine.rule, scores)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"gap": self.gap}, arrays_of(self.scores)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        classes = extent(shapes, "bias")
        return CalibratedReducedSet.memory(Size(0, machine.features, classes), {**shapes, "sizes": (1,)})

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Scores:
        require_state(cls.name, numbers, arrays, names_of(ScoreMachine), gap=float)
        return cls(machine, parameters_from(ScoreMachine, arrays), numbers["gap"])

    def __reduce__(self) -> tuple[type[Scores], tuple[Any, ...]]:
        return Scores, (self.machine, self.scores, self.gap)


def machine_of(machine: Machine, scores: ScoreMachine) -> Machine:
    """The scores as a machine: the largest output is the answer, one of the same classes."""
    assert isinstance(machine.rule, ClassRule)
    rule = Argmax(machine.rule.classes)
    return replace(machine, points=scores.points, weights=scores.weights, bias=scores.bias, rule=rule)


def _require_fit(machine: Machine, scores: ScoreMachine, gap: float) -> None:
    """Raise ValueError unless the scores fit the machine."""
    assert isinstance(machine.rule, ClassRule)
    n, classes = len(scores.points) if scores.points.ndim else 0, len(machine.rule.classes)
    if not n:
        raise ValueError(f"{Scores.name}: there must be at least one vector")
    require_floats(Scores.name, "points", scores.points, (n, machine.n_features))
    require_floats(Scores.name, "weights", scores.weights, (n, classes))
    require_floats(Scores.name, "bias", scores.bias, (classes,))
    if not 0 <= gap < np.inf:
        raise ValueError(f"{Scores.name}: gap must be finite and not negative, got {gap}")

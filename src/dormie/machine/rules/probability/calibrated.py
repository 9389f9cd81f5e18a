"""scikit-learn's calibrated probabilities: of each class's own score, then normalised over the classes.

The scores are the decision values of a machine under the rule of the model inside: one for two classes, otherwise one
for each class. That of a class in a one-vs-one machine grows with what the class gains in its own pairs, but not with
all outputs. So each score has bounds of its own (`Rule.decision_bounds`), the maps carry them over, and a class with
m_k between l_k and h_k has

    l_k / (l_k + sum_{j != k} h_j)  <=  p_k  <=  h_k / (h_k + sum_{j != k} l_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.rules.argmax import Argmax
from dormie.machine.rules.base import Rule
from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.rules.probability.calibrators import Calibrator
from dormie.machine.rules.sign import Sign
from dormie.machine.rules.vote import OneVsOneVote
from dormie.machine.typing import Floats

_TINY = 1e-300
_NEARLY_ONE = 1.0 + 1e-5  # scikit-learn sets what lies between 1 and this to 1


def outputs_of(scores: Rule) -> int:
    """How many outputs a rule of this kind reads."""
    if isinstance(scores, Sign):
        return 1
    assert isinstance(scores, Argmax | OneVsOneVote)
    k = len(scores.classes)
    return k if isinstance(scores, Argmax) else k * (k - 1) // 2


class _OfScores(ProbabilityMap):
    """Probabilities of the decision values under a rule."""

    scores: Rule

    def _require_scores(self) -> None:
        if not isinstance(self.scores, Sign | Argmax | OneVsOneVote):
            raise ValueError(f"probabilities are those of classes, and {self.scores} has none")
        if isinstance(self.scores, OneVsOneVote) and self.scores.shape != "ovr":
            raise ValueError("the scores of one-vs-one pairs are not those of classes: set the shape 'ovr'")

    @property
    def n_classes(self) -> int:
        assert isinstance(self.scores, Sign | Argmax | OneVsOneVote)
        return len(self.scores.classes)

    @property
    def n_outputs(self) -> int:
        return outputs_of(self.scores)

    def _scores(self, outputs: Floats) -> Floats:
        scores = self.scores.decision(outputs)
        return scores[:, None] if scores.ndim == 1 else scores


@dataclass(frozen=True, eq=False)
class Calibrated(_OfScores):
    """A map for the score of each class (one where there are two classes), normalised over the classes.

    scores: the rule whose decision values are calibrated
    """

    scores: Rule
    maps: tuple[Calibrator, ...]

    def __post_init__(self) -> None:
        self._require_scores()
        object.__setattr__(self, "maps", tuple(self.maps))
        needed = 1 if self.n_classes == 2 else self.n_classes
        if len(self.maps) != needed or (self.n_classes == 2 and not isinstance(self.scores, Sign)):
            raise ValueError(f"{self.n_classes} classes have {needed} maps of as many scores, got {len(self.maps)}")

    def values(self, outputs: Floats) -> Floats:
        scores = self._scores(outputs)
        found = np.zeros((len(scores), self.n_classes))
        first = self.n_classes - len(self.maps)
        for position, each in enumerate(self.maps):
            found[:, first + position] = each.values(scores[:, position])
        if first:
            found[:, 0] = 1.0 - found[:, 1]
            return found
        total = np.sum(found, axis=1)[:, None]
        shares: Floats = np.divide(found, total, out=np.full_like(found, 1 / self.n_classes), where=total != 0)
        shares[(shares > 1.0) & (shares <= _NEARLY_ONE)] = 1.0
        return shares

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        low, high = self._mapped(low, high)
        if self.n_classes == 2:
            first = np.maximum(1.0 - high - UNIT, 0.0), np.minimum(1.0 - low + UNIT, 1.0)
            return np.hstack([first[0], low]), np.hstack([first[1], high])
        return _shares(low, high)

    def ranks(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if self.n_classes == 2:
            return self.bounds(low, high)
        low, high = self._mapped(low, high)
        return low * (1 - 8 * UNIT), high * (1 + 8 * UNIT)  # so that quotients by one total do not round to equal ones

    def _mapped(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the mapped scores."""
        low, high = self.scores.decision_bounds(low, high)
        ends = [each.bounds(low[:, i], high[:, i]) for i, each in enumerate(self.maps)]
        return np.column_stack([least for least, _ in ends]), np.column_stack([most for _, most in ends])


def _shares(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Bounds of m_k / sum_j m_j where each m lies between its bounds, and 0/0 is one share for each.

    A sum of k numbers, none of them negative, has a relative error of at most k roundings, and the quotient one more.
    """
    k = low.shape[1]
    others_low, others_high = _sums_of_others(low), _sums_of_others(high)
    up = (k + 8) * 2 * UNIT
    least = _quotient(low, low + others_high, 0.0) * (1 - up) - _TINY
    most = _quotient(high, high + others_low, 0.0) * (1 + up) + _TINY
    all_may_vanish = (low == 0).all(axis=1, keepdims=True)
    certainly_vanish = others_high == 0  # all others: the class has all, or each an equal share
    least = np.where(all_may_vanish & certainly_vanish, (1 - up) / k, np.maximum(least, 0.0))
    most = np.where(all_may_vanish, np.where(high > 0, 1.0, (1 + up) / k), np.minimum(most, 1.0))
    return least, most


def _sums_of_others(numbers: Floats) -> Floats:
    """For each class the sum over all others, without the cancellation of subtracting its own."""
    k = numbers.shape[1]
    return numbers @ (1.0 - np.eye(k))


def _quotient(above: Floats, below: Floats, otherwise: float) -> Floats:
    return np.divide(above, below, out=np.full_like(above, otherwise), where=below > 0)


@dataclass(frozen=True, eq=False)
class Temperature(_OfScores):
    """The softmax of the scores times an inverse temperature; two classes have the scores -s and s."""

    scores: Rule
    inverse: float

    def __post_init__(self) -> None:
        self._require_scores()
        if not 0 < self.inverse < np.inf:
            raise ValueError(f"Temperature: the inverse temperature must be positive and finite, got {self.inverse}")

    def values(self, outputs: Floats) -> Floats:
        scores = self._scores(outputs)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.inverse * (np.concatenate([-scores, scores], axis=1) if scores.shape[1] == 1 else scores)
            found -= np.max(found, axis=1).reshape((-1, 1))
            np.exp(found, out=found)
            found /= np.sum(found, axis=1).reshape((-1, 1))
        found[(found > 1.0) & (found <= _NEARLY_ONE)] = 1.0
        return found

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """By 1 / (1 + sum_{j != k} exp(t_j - t_k)), which falls with every score but the class's own."""
        low, high = self._scaled(low, high)
        with np.errstate(over="ignore", invalid="ignore"):
            # Scores are rounded when they are scaled and when the largest is subtracted, by 3 units of the largest size
            # in all; here and in `values`. exp, the sum and the quotient have k + 8 roundings.
            size = np.maximum(np.abs(low), np.abs(high)).max(axis=1, keepdims=True)
            up = 16 * UNIT * size + (2 * low.shape[1] + 16) * UNIT
            least = _softmax_of_one(low, high, opposite=self._opposite) * (1 - up) - _TINY
            most = _softmax_of_one(high, low, opposite=self._opposite) * (1 + up) + _TINY
        known = up < 0.5
        return np.where(known, np.fmax(least, 0.0), 0.0), np.where(known, np.fmin(most, 1.0), 1.0)

    def ranks(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        low, high = self._scaled(low, high)
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.abs(low), np.abs(high)).max(axis=1, keepdims=True)
            lost = 16 * UNIT * (1 + size)
            return low - lost, high + lost

    @property
    def _opposite(self) -> bool:
        return isinstance(self.scores, Sign)

    def _scaled(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the scaled scores of all classes."""
        low, high = self.scores.decision_bounds(low, high)
        if self._opposite:
            low, high = np.hstack([-high, low]), np.hstack([-low, high])
        with np.errstate(over="ignore"):
            return self.inverse * low, self.inverse * high


def _softmax_of_one(own: Floats, others: Floats, opposite: bool) -> Floats:
    """The softmax of each class's own score among the other classes' other ones.

    opposite: the two scores are -s and s, so that a class's own score is the other's negated
    """
    if opposite:
        return np.asarray(1 / (1 + np.exp(-2 * own)))
    found = np.empty_like(own)
    for k in range(own.shape[1]):
        powers = np.exp(np.delete(others, k, axis=1) - own[:, k : k + 1])
        found[:, k] = 1 / (1 + np.where(np.isnan(powers), np.inf, powers).sum(axis=1))
    return found

"""Maps of one score to one number between 0 and 1, as scikit-learn fits them for each class.

`values` repeats scikit-learn's operations. `bounds` uses that both maps are monotone: the ends of an interval of scores
give the ends of the numbers, widened by the rounding on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.typing import Floats, frozen_floats

_EXP = 16 * UNIT  # relative error of 1 / (1 + exp(-z)): exp is within 4 units, the sum and the quotient add 2
_TINY = 1e-300


def logistic(z: Floats) -> Floats:
    """1 / (1 + exp(-z)), by the function that scikit-learn uses: its rounding decides ties."""
    from scipy.special import expit  # here: importing it takes longer than importing dormie

    return np.asarray(expit(z))


def logistic_bounds(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Bounds of `logistic` between two bounds; an end that is NaN bounds nothing."""
    least, most = logistic(low), logistic(high)
    least, most = least * (1 - _EXP) - _TINY, most * (1 + _EXP) + _TINY
    return np.fmax(least, 0.0), np.fmin(most, 1.0)  # which take 0 and 1 for NaN


@dataclass(frozen=True)
class Platt:
    """Platt's map 1 / (1 + exp(slope score + intercept)); it falls where the slope is positive."""

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept)):
            raise ValueError(f"Platt: slope and intercept must be finite, got {self.slope} and {self.intercept}")

    def values(self, scores: Floats) -> Floats:
        """The numbers of scores."""
        with np.errstate(over="ignore"):
            return logistic(-(self.slope * scores + self.intercept))

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the numbers of all scores between."""
        if self.slope == 0:
            ends = np.full((2, *low.shape), -self.intercept)
            return logistic_bounds(ends[0], ends[1])
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.array([low, high])
            ends = -(self.slope * scores + self.intercept)
            # A product and a sum, each rounded once; twice that, for the ends and for `values`. Each end has its own:
            # where one is infinite, the other is rounded all the same.
            lost = 4 * UNIT * (np.abs(self.slope * scores) + abs(self.intercept)) + _TINY
            lost = np.where(np.isfinite(lost), lost, 0.0)
            return logistic_bounds((ends - lost).min(axis=0), (ends + lost).max(axis=0))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """An isotonic regression: linear between thresholds, constant beyond them, never falling.

    scores: where it was fitted, ascending; numbers: its values there
    """

    scores: Floats
    numbers: Floats

    def __post_init__(self) -> None:
        for name in ("scores", "numbers"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name), f"Isotonic: {name}"))
        if self.scores.ndim != 1 or self.scores.shape != self.numbers.shape or not len(self.scores):
            raise ValueError("Isotonic: scores and numbers must be lists of one length, at least 1")
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            steps, rises = np.diff(self.scores), np.diff(self.numbers)
            in_order = (steps > 0).all() and (rises >= 0).all() and np.isfinite(rises / steps).all()
        if not in_order:
            raise ValueError("Isotonic: scores must ascend, and numbers must not fall")
        if self.numbers[0] < 0 or self.numbers[-1] > 1:
            raise ValueError("Isotonic: numbers must lie between 0 and 1")

    def values(self, scores: Floats) -> Floats:
        """The numbers of scores."""
        return np.asarray(np.interp(np.clip(scores, self.scores[0], self.scores[-1]), self.scores, self.numbers))

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the numbers of all scores between.

        Interpolation between two thresholds rounds five times numbers of at most the larger of their values, and not at
        all where these are equal: numbers of exactly 0 stay so.
        """
        least = self.values(low) - self._rounding(low, "right")
        most = self.values(high) + self._rounding(high, "left")
        return np.fmax(least, 0.0), np.fmin(most, 1.0)  # which take 0 and 1 for NaN

    def _rounding(self, scores: Floats, side: Any) -> Floats:
        """A bound on the rounding of values at scores, in the segment on one side of a threshold."""
        after = np.searchsorted(self.scores, scores, side=side)
        before, after = np.maximum(after - 1, 0), np.minimum(after, len(self.scores) - 1)
        ends = self.numbers[before], self.numbers[after]
        return np.where(ends[0] == ends[1], 0.0, 16 * UNIT * ends[1] + _TINY)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Isotonic):
            return NotImplemented
        return np.array_equal(self.scores, other.scores) and np.array_equal(self.numbers, other.numbers)

    __hash__ = None  # type: ignore[assignment]


Calibrator = Platt | Isotonic

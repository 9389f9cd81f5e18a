"""Which rows have no negative kernel value, so that their tails are one-sided.

With an RBF kernel, or a polynomial one of even degree, every row is such a row. With gamma > 0, coef0 >= 0 and any
degree, normalised or not, K(x, s) >= 0 wherever neither x nor s has a negative coordinate: pixels, counts, shares. So
if the points have none, one look at a row tells, before its first term.

The coordinates are the mapped ones, of which only rounded values are known: a quotient that underflows to 0 may be
negative. But (x - c) / a is negative in real numbers just where x < c (for a > 0) or x > c (for a < 0), and comparing
does not round.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.typing import Booleans


class OneSided(IntEnum):
    """Which rows have one-sided tails; in the order of OneSided (native/methods/fast_stopping.hpp)."""

    NO_ROW = 0
    ROWS_WITHOUT_NEGATIVES = 1
    EVERY_ROW = 2

    @classmethod
    def of(cls, machine: Machine) -> OneSided:
        """What kernel and points allow."""
        if machine.kernel.nonnegative:
            return cls.EVERY_ROW
        rounded = machine.preparation is not None  # nothing is known of the sign of a coordinate near 0
        allowed = machine.kernel.nonnegative_in_orthant and not rounded and not (machine.points < 0).any()
        return cls.ROWS_WITHOUT_NEGATIVES if allowed else cls.NO_ROW

    def among(self, machine: Machine, rows: Any) -> Booleans:
        """Whether each row of an array, not mapped yet, has them."""
        if self is OneSided.ROWS_WITHOUT_NEGATIVES:
            return np.asarray(~_negatives(machine, rows).any(axis=1))
        return np.full(len(rows), self is OneSided.EVERY_ROW)


def _negatives(machine: Machine, rows: Any) -> Booleans:
    """Whether each coordinate of each mapped row is negative, in real numbers."""
    if machine.input_map is None:
        return np.asarray(rows < 0)
    center, scale = machine.input_map.center, machine.input_map.scale
    return np.asarray(np.where(scale > 0, rows < center, rows > center))

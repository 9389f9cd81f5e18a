"""Outputs of machines that are added, each times a factor, and intervals of such sums, rounding included."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.typing import Floats

_TINY = 1e-300  # times the rounding of a sum, more than what underflows

Factors = tuple[float, ...]


def checked_factors(factors: Sequence[float], outputs: Sequence[int]) -> Factors:
    """The factors of machines with these numbers of outputs; raises ValueError where these cannot be added so."""
    found = tuple(map(float, factors))
    if len(found) != len(outputs) or not all(map(math.isfinite, found)) or 0.0 in found:
        raise ValueError(f"MachineSum: factors must be {len(outputs)} finite numbers that are not 0, got {found}")
    if len(set(outputs)) > 1:
        raise ValueError(f"MachineSum: outputs are added, and the members have {min(outputs)} to {max(outputs)}")
    return found


def added(factors: Factors, parts: Iterable[Floats]) -> Floats:
    """The sum of the outputs of machines, in their order."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(reduce(np.add, [factor * part for factor, part in zip(factors, parts, strict=True)]))


def added_ends(factors: Factors, ends: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Intervals of the sum in real numbers, and as `added` rounds it, given those of the outputs of each machine."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = added_widths(factors, [np.maximum(np.abs(low), np.abs(high)) for low, high in ends])
        # A product and M additions, here and in `added`: each of the two is off by at most M + 1 units of the sizes.
        lost = 4 * (len(ends) + 2) * UNIT * sizes
        turned = [(low, high) if factor > 0 else (high, low) for factor, (low, high) in zip(factors, ends, strict=True)]
        lows, highs = zip(*turned, strict=True)
        return added(factors, lows) - lost, added(factors, highs) + lost


def added_widths(factors: Factors, widths: Sequence[Floats]) -> Floats:
    """How far the sum may move where the outputs of each machine move so far, rounding included."""
    with np.errstate(over="ignore"):
        total = np.sum([abs(factor) * width for factor, width in zip(factors, widths, strict=True)], axis=0)
        return np.asarray(total * (1 + 4 * (len(widths) + 2) * UNIT) + _TINY)

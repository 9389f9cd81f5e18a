"""Fast stopping in NumPy: a partial sum, and a bound on the remaining terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.numerics.reference import blocks, partial_sum


def interval(machine: Machine, rows: Any, budget: int) -> tuple[Floats, Floats]:
    """Low and high ends of every output of every row after the first `budget` terms."""
    weights = machine.weights[budget:]
    sizes = np.abs(weights) * np.sqrt(machine.kernel.diagonal(machine.points[budget:]))[:, None]
    one_sided = machine.kernel.nonnegative
    lowering = np.where((weights < 0) | (not one_sided), sizes, 0).sum(axis=0)
    raising = np.where((weights > 0) | (not one_sided), sizes, 0).sum(axis=0)
    low, high = np.empty((2, rows.shape[0], machine.n_outputs))
    for block, part in blocks(machine, rows):
        middle, rounding = partial_sum(machine, part, budget)
        root = np.sqrt(machine.kernel.diagonal(part))[:, None] * (1 + 1e-9)
        low[block], high[block] = middle - rounding - root * lowering, middle + rounding + root * raising
    return low, high

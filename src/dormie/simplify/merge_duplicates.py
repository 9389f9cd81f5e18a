"""Equal points are merged and their weights added. Preserves every output, up to the rounding of those sums.

Points keep the order of their first occurrence: readers group the points by class, and the native core is faster where
neighbouring points have zero weights for the same outputs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Machine, sparse_points
from dormie.machine.kernels import Custom
from dormie.machine.margin import Margin
from dormie.machine.typing import Positions
from dormie.numerics.rounding import UNIT, kernel_sum_margin


def accepts(machine: Machine) -> bool:
    if isinstance(machine.kernel, Custom) or machine.n_points < 2:
        return False
    return bool(_groups(machine).max() + 1 < machine.n_points)


def apply(machine: Machine) -> Machine:
    groups = _groups(machine)
    _, first = np.unique(groups, return_index=True)
    weights = np.zeros((len(first), machine.n_outputs))
    np.add.at(weights, groups, machine.weights)
    return replace(machine, points=machine.points[first], weights=weights)


def deviation(before: Machine, after: Machine) -> Margin:  # noqa: ARG001 - one signature for all
    """One rounding for every weight that is added."""
    largest = np.bincount(_groups(before)).max(initial=1)
    return kernel_sum_margin(before, np.abs(before.weights) * (largest * UNIT))


def _groups(machine: Machine) -> Positions:
    """For every point the number of its group of equal points, groups numbered in the order of first occurrence."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in sparse_points.keys(machine.points)])

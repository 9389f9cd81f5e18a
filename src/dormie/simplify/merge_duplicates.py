"""Equal points become one, with their weights added. Preserves every output, up to the rounding of those sums.

Points keep the order of their first occurrence: readers put the points of a class together, and the native core
profits from neighbours that share a pattern of zero weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Machine
from dormie.machine.kernels import Custom
from dormie.machine.margin import Margin
from dormie.machine.rules import Indices
from dormie.numerics.rounding import UNIT, of_terms


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
    """Of every added weight a unit in the last place."""
    largest = np.bincount(_groups(before)).max(initial=1)
    return of_terms(before, np.abs(before.weights) * (largest * UNIT))


def _groups(machine: Machine) -> Indices:
    """For every point the number of the group of equal points it is in, groups counted as they first occur."""
    numbers: dict[bytes, int] = {}
    # Adding 0.0 turns -0.0 into 0.0, so that equal points have equal bytes.
    return np.array([numbers.setdefault((point + 0.0).tobytes(), len(numbers)) for point in machine.points])

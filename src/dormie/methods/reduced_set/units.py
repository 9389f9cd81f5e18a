"""Coordinates, outputs and kernel values of size about 1: descent has step sizes, and float32 has a narrow range.

Units are powers of two wherever the numbers themselves allow it, so that taking them changes no result by a bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid


def power_of_two(values: Floats) -> float:
    """A power of two that the values are usually about as large as; 1 where all are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 1.0
    return float(2.0 ** np.rint(np.log2(largest) + np.log2(np.mean((values / largest) ** 2)) / 2))


def in_units(machine: Machine) -> tuple[Machine, float]:
    """The machine for rows and points in another unit of length, in which they are about 1, and that unit."""
    unit = power_of_two(machine.points)
    return replace(machine, kernel=_for_unit(machine.kernel, unit), points=machine.points / unit), unit


def _for_unit(kernel: Kernel, unit: float) -> Kernel:
    match kernel:
        case Linear():
            return Polynomial(unit * unit, degree=1)
        case Polynomial(gamma) | RBF(gamma) | Sigmoid(gamma):
            return replace(kernel, gamma=gamma * unit * unit)
        case Normalized(Polynomial() | RBF() as inner):
            return Normalized(replace(inner, gamma=inner.gamma * unit * unit))
    return kernel

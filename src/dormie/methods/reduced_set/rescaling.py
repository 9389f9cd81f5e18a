"""Rescaling to size about 1, because gradient descent has step sizes and float32 has a narrow range.

Scales are powers of two, so that rescaling does not round.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)


def power_of_two(values: Floats) -> float:
    """The power of two nearest to the root mean square of the values; 1 if all are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 1.0
    return float(2.0 ** np.rint(np.log2(largest) + np.log2(np.mean((values / largest) ** 2)) / 2))


def rescaled(machine: Machine) -> tuple[Machine, float]:
    """The machine with its points divided by a scale, so that they are about 1, and that scale."""
    scale = power_of_two(machine.points)
    return replace(machine, kernel=_rescaled_kernel(machine.kernel, scale), points=machine.points / scale), scale


def _rescaled_kernel(kernel: Kernel, scale: float) -> Kernel:
    """The kernel that has the same values on rows divided by `scale`."""
    match kernel:
        case Linear():
            return Polynomial(scale * scale, degree=1)
        case Polynomial(gamma) | RBF(gamma) | Sigmoid(gamma):
            return replace(kernel, gamma=gamma * scale * scale)
        case Normalized(Polynomial() | RBF() as inner):
            return Normalized(replace(inner, gamma=inner.gamma * scale * scale))
        case Matern(length_scale=length_scale) | RationalQuadratic(length_scale=length_scale):
            return replace(kernel, length_scale=length_scale / scale)
    return kernel

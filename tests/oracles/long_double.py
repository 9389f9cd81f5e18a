"""Outputs in extended precision, for many rows at once: the oracle of the soak.

RBF by differences, all sums in 64 bits of mantissa and far beyond the range of doubles: good to a 2000th of what a
float64 sum loses. The formulas are the kernels' own, in the order of the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid

Long = Any  # an array of np.longdouble
_BLOCK = 1 << 20  # numbers at work at once


def outputs(machine: Machine, rows: Any) -> Long:
    """G of every row and output; rows as arrays of float32 or float64."""
    x = np.asarray(rows, dtype=np.longdouble)
    if machine.input_map is not None:
        x = (x - machine.input_map.center.astype(np.longdouble)) / machine.input_map.scale.astype(np.longdouble)
    points = machine.points.astype(np.longdouble)
    weights, bias = machine.weights.astype(np.longdouble), machine.bias.astype(np.longdouble)
    size = max(1, _BLOCK // max(points.size, 1))
    parts = [kernel_matrix(machine.kernel, x[i : i + size], points) @ weights + bias for i in range(0, len(x), size)]
    return np.concatenate([np.empty((0, machine.n_outputs), dtype=np.longdouble), *parts])


def kernel_matrix(kernel: Kernel, x: Long, s: Long) -> Long:
    """K of every row with every point."""
    match kernel:
        case RBF(gamma):
            squares = sum(((x[:, j, None] - s[:, j]) ** 2 for j in range(x.shape[1])), start=np.longdouble(0))
            return np.exp(-np.longdouble(gamma) * squares)
        case Sigmoid(gamma, coef0):
            return np.tanh(np.longdouble(gamma) * (x @ s.T) + np.longdouble(coef0))
        case Polynomial(gamma, coef0, degree):
            return (np.longdouble(gamma) * (x @ s.T) + np.longdouble(coef0)) ** degree
        case Linear():
            return x @ s.T
        case Normalized(inner):
            return _inverse_roots(inner, x)[:, None] * kernel_matrix(inner, x, s) * _inverse_roots(inner, s)
    raise TypeError(kernel)


def _inverse_roots(kernel: Kernel, x: Long) -> Long:
    """1 / sqrt(K(u, u)), or 0 where that is 0."""
    own = np.array([kernel_matrix(kernel, u[None], u[None])[0, 0] for u in x], dtype=np.longdouble).reshape(len(x))
    return np.divide(1, np.sqrt(own), out=np.zeros_like(own), where=own > 0)

"""Outputs in extended precision, for many rows at once: the oracle of the soak.

RBF by differences, all sums in 64 bits of mantissa and far beyond the range of doubles: good to a 2000th of what a
float64 sum loses. The formulas are the kernels' own, in the order of the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.preparation import TINY, Arithmetic, Clip, Columns, Normalize, Projection, Step

Long = Any  # an array of np.longdouble
_BLOCK = 1 << 20  # numbers at work at once


def outputs(machine: Machine, rows: Any) -> Long:
    """G of every row and output; rows as arrays of float32 or float64."""
    x = np.asarray(rows, dtype=np.longdouble)
    for step in () if machine.preparation is None else machine.preparation.steps:
        end = step.at + step.columns
        x = np.hstack([x[:, : step.at], _stepped(step, x[:, step.at : end]), x[:, end:]])
    if machine.input_map is not None:
        x = (x - machine.input_map.center.astype(np.longdouble)) / machine.input_map.scale.astype(np.longdouble)
    points = machine.points.astype(np.longdouble)
    weights, bias = machine.weights.astype(np.longdouble), machine.bias.astype(np.longdouble)
    size = max(1, _BLOCK // max(points.size, 1))
    parts = [kernel_matrix(machine.kernel, x[i : i + size], points) @ weights + bias for i in range(0, len(x), size)]
    return np.concatenate([np.empty((0, machine.n_outputs), dtype=np.longdouble), *parts])


def _stepped(step: Step, x: Long) -> Long:
    """What a step of a preparation makes of its columns."""
    match step:
        case Arithmetic(operation, values):
            numbers = values.astype(np.longdouble)
            made: dict[str, Long] = {"subtract": x - numbers, "add": x + numbers, "multiply": x * numbers}
            return made[operation] if operation in made else x / numbers
        case Columns(which):
            return x[:, which]
        case Projection(matrix):
            return x @ matrix.astype(np.longdouble)
        case Clip(low, high):
            return np.minimum(np.maximum(x, np.longdouble(low)), np.longdouble(high))
        case Normalize("l2"):
            lengths = np.sqrt((x * x).sum(axis=1))
            return x / np.where(lengths < TINY, np.longdouble(1), lengths)[:, None]
    raise TypeError(step)


def kernel_matrix(kernel: Kernel, x: Long, s: Long) -> Long:
    """K of every row with every point."""
    match kernel:
        case RBF(gamma):
            return np.exp(-np.longdouble(gamma) * _squares(x, s))
        case Matern(nu, length_scale):
            z = np.sqrt(2 * np.longdouble(nu) * _squares(x, s)) / np.longdouble(length_scale)
            return {0.5: 1, 1.5: 1 + z, 2.5: 1 + z + z * z / 3}[nu] * np.exp(-z)
        case RationalQuadratic(alpha, length_scale):
            t = _squares(x, s) / (2 * np.longdouble(alpha) * np.longdouble(length_scale) ** 2)
            return np.exp(-np.longdouble(alpha) * np.log1p(t))
        case Laplacian(gamma):
            far = sum((np.abs(x[:, j, None] - s[:, j]) for j in range(x.shape[1])), start=np.longdouble(0))
            return np.exp(-np.longdouble(gamma) * far)
        case Chi2(gamma):
            return np.exp(-np.longdouble(gamma) * _chi2_distances(x, s))
        case AdditiveChi2():
            return -_chi2_distances(x, s)
        case Sigmoid(gamma, coef0):
            return np.tanh(np.longdouble(gamma) * (x @ s.T) + np.longdouble(coef0))
        case Polynomial(gamma, coef0, degree):
            return (np.longdouble(gamma) * (x @ s.T) + np.longdouble(coef0)) ** degree
        case Linear():
            return x @ s.T
        case Normalized(inner):
            return _inverse_roots(inner, x)[:, None] * kernel_matrix(inner, x, s) * _inverse_roots(inner, s)
    raise TypeError(kernel)


def _squares(x: Long, s: Long) -> Long:
    return sum(((x[:, j, None] - s[:, j]) ** 2 for j in range(x.shape[1])), start=np.longdouble(0))


def _chi2_distances(x: Long, s: Long) -> Long:
    total = np.zeros((len(x), len(s)), dtype=np.longdouble)
    for j in range(x.shape[1]):
        apart, together = x[:, j, None] - s[:, j], x[:, j, None] + s[:, j]
        total += np.divide(apart * apart, together, out=np.zeros_like(apart), where=together > 0)
    return total


def _inverse_roots(kernel: Kernel, x: Long) -> Long:
    """1 / sqrt(K(u, u)), or 0 where that is 0."""
    own = np.array([kernel_matrix(kernel, u[None], u[None])[0, 0] for u in x], dtype=np.longdouble).reshape(len(x))
    return np.divide(1, np.sqrt(own), out=np.zeros_like(own), where=own > 0)

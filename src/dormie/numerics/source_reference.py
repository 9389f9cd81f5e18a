"""A model's own sum in plain NumPy, operation by operation: the twin of native/methods/source_sum.cpp."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.numerics.reference import outputs, sum_in_order
from dormie.numerics.rounding import inner_degree


class SourceSum:
    """The twin of the native core's `SourceSum`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def outputs(self, rows: Any, sparse: bool) -> Floats:
        """The outputs of the model's own sum. sparse: whether its rows came as a sparse matrix."""
        return source_outputs(self._machine, rows, sparse)


def source_outputs(machine: Machine, rows: Any, sparse: bool) -> Floats:
    """The outputs of the model's own sum, as `dormie.numerics.source_sum` defines it."""
    if machine.kernel.is_python:
        return outputs(machine, rows)
    x = np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    x = x if machine.preparation is None else machine.preparation(x, sparse)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for name, values in () if machine.input_map is None else machine.input_map.all_steps:
            x = _map_step(name, values, x, sparse)
        values = np.array([_source_values(machine, row) for row in x]).reshape(len(x), machine.n_points)
        return sum_in_order(machine, values)


def _map_step(name: str, values: Floats, x: Floats, sparse: bool) -> Floats:
    match name:
        case "subtract":
            return x - values
        case "add":
            return x + values
        case "multiply":
            return x * values
    return np.where(x == 0, x, x * (1 / values)) if sparse else x / values  # sparse rows do not store zeros


def _source_values(machine: Machine, x: Floats) -> list[float]:
    """The kernel values of one mapped row with every point, computed one at a time."""
    kernel, points, constants = machine.kernel, machine.points, np.zeros(machine.n_points)
    if isinstance(kernel, Normalized) and not isinstance(kernel.kernel, RBF):
        (x, own), *vectors = [_unit_vector(kernel.kernel, vector) for vector in (x, *_each(points))]
        points, constants = [vector for vector, _ in vectors], np.array([constant for _, constant in vectors]) * own
        return [_power(_dot(machine, x, s) + c, inner_degree(kernel)) for s, c in zip(points, constants, strict=True)]
    kernel = kernel.kernel if isinstance(kernel, Normalized) else kernel
    match kernel:
        case RBF(gamma):
            return [math.exp(-gamma * _dot(machine, x - s, x - s)) for s in _each(points)]
        case Polynomial(gamma, coef0, degree):
            return [_power(gamma * _dot(machine, x, s) + coef0, degree) for s in _each(points)]
        case Sigmoid(gamma, coef0):
            return [math.tanh(gamma * _dot(machine, x, s) + coef0) for s in _each(points)]
        case Matern() | RationalQuadratic():
            return [_radial(kernel, kernel.gamma * _dot(machine, x - s, x - s)) for s in _each(points)]
        case Laplacian(gamma):
            return [math.exp(-gamma * _sum(np.abs(x - s))) for s in points]
        case Chi2(gamma):
            return [math.exp(-gamma * _sum(_shares(x, s))) for s in points]
        case AdditiveChi2():
            return [-_sum(_shares(x, s)) for s in points]
    return [_dot(machine, x, s) for s in _each(points)]


def _radial(kernel: Matern | RationalQuadratic, t: float) -> float:
    """f(t), with the functions of the C library."""
    if isinstance(kernel, RationalQuadratic):
        return math.exp(-kernel.alpha * math.log1p(t))
    z = math.sqrt(t)
    if kernel.nu == 0.5:
        return math.exp(-z)
    return (1 + z if kernel.nu == 1.5 else 1 + z + t / 3) * math.exp(-z)


def _sum(terms: Floats) -> float:
    """One term after the other."""
    return float(np.add.accumulate(terms)[-1] + 0.0)


def _shares(x: Floats, s: Floats) -> Floats:
    """(x - s)^2 / (x + s) of every coordinate, and 0 where both are 0."""
    apart, together = x - s, x + s
    return apart * np.divide(apart, together, out=np.zeros_like(apart), where=together > 0)


def _each(points: Any) -> Iterator[Floats]:
    """The points one after the other, sparse ones laid out."""
    for i in range(points.shape[0]):
        yield points[[i]].toarray()[0] if is_sparse(points) else points[i]


def _dot(machine: Machine, a: Floats, b: Floats) -> float:
    """The inner product, by BLAS or one product after the other, as the model computes it."""
    if machine.blas_products:
        from scipy.linalg.blas import ddot  # here: it takes long to import

        return float(ddot(a, b))
    return _sum(a * b)


def _power(base: float, degree: int) -> float:
    result = 1.0
    while degree > 0:
        result, base, degree = result * base if degree % 2 else result, base * base, degree // 2
    return result


def _unit_vector(kernel: Linear | Polynomial, x: Floats) -> tuple[Floats, float]:
    """(sqrt(gamma) x, sqrt(coef0)) scaled to length 1, as its two parts; powers of two prevent overflow of squares."""
    gamma, coef0 = (kernel.gamma, kernel.coef0) if isinstance(kernel, Polynomial) else (1.0, 0.0)
    largest = float(np.abs(x).max())
    (_, own), (root, own_root) = math.frexp(largest), math.frexp(math.sqrt(gamma))
    part, of_part = math.frexp(math.sqrt(coef0))
    exponents = [e for e, used in ((own + own_root, largest > 0), (of_part, part > 0)) if used]
    common = max(exponents, default=0)
    scaled = np.ldexp(np.ldexp(x, -own) * root, own + own_root - common)
    constant = math.ldexp(part, of_part - common)
    length = math.sqrt(float(np.add.accumulate(np.append(scaled, constant) ** 2)[-1]))
    return (np.zeros_like(x), 0.0) if length == 0 else (scaled / length, constant / length)  # NaN stays NaN

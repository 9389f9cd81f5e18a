"""A model's own sum by the letter: plain loops in Python floats, in the order that LIBSVM adds in.

Python floats are doubles, each operation is rounded by itself, and `math` calls the C library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import ddot

from dormie.machine import Floats, Machine
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
from tests.oracles.full_sum import points_of

Row = list[float]


def outputs(machine: Machine, rows: Any, sparse: bool = False) -> Floats:
    """The sums of every row and output; sparse: as scikit-learn scales sparse rows."""
    values = [_outputs(machine, row, sparse) for row in np.asarray(rows, dtype=np.float64).tolist()]
    return np.array(values, dtype=np.float64).reshape(len(values), machine.n_outputs)


def _outputs(machine: Machine, row: Row, sparse: bool) -> Row:
    x = _mapped(machine, row, sparse)
    sums = [0.0] * machine.n_outputs
    values = [_kernel_value(machine, machine.kernel, x, point) for point in points_of(machine)]
    for value, weights in zip(values, machine.weights.tolist(), strict=True):
        sums = [total + weight * value if weight else total for total, weight in zip(sums, weights, strict=True)]
    return [total + bias for total, bias in zip(sums, machine.bias.tolist(), strict=True)]


def _mapped(machine: Machine, row: Row, sparse: bool) -> Row:
    for name, values in [] if machine.input_map is None else machine.input_map.all_steps:
        row = [_step(name, x, value, sparse) for x, value in zip(row, values.tolist(), strict=True)]
    return row


def _step(name: str, x: float, value: float, sparse: bool) -> float:
    match name:
        case "subtract":
            return x - value
        case "multiply":
            return x * value
        case "add":
            return x + value
    if sparse:
        return x * (1 / value) if x else x
    return x / value


def _kernel_value(machine: Machine, kernel: Kernel, x: Row, s: Row) -> float:
    match kernel:
        case RBF(gamma) | Normalized(RBF(gamma)):
            difference = [a - b for a, b in zip(x, s, strict=True)]
            return math.exp(-gamma * _dot(machine, difference, difference))
        case Matern() | RationalQuadratic():
            difference = [a - b for a, b in zip(x, s, strict=True)]
            return _radial(kernel, kernel.gamma * _dot(machine, difference, difference))
        case Laplacian(gamma):
            return math.exp(-gamma * _in_order([abs(a - b) for a, b in zip(x, s, strict=True)]))
        case Chi2(gamma):
            return math.exp(-gamma * _in_order(_shares(x, s)))
        case AdditiveChi2():
            return -_in_order(_shares(x, s))
        case Linear():
            return _dot(machine, x, s)
        case Sigmoid(gamma, coef0):
            return math.tanh(gamma * _dot(machine, x, s) + coef0)
        case Polynomial(gamma, coef0, degree):
            return _power(gamma * _dot(machine, x, s) + coef0, degree)
        case Normalized(Linear()):
            return _power(_of_unit_vectors(1.0, 0.0, x, s), 1)
        case Normalized(Polynomial(gamma, coef0, degree)):
            return _power(_of_unit_vectors(gamma, coef0, x, s), degree)
    raise TypeError(kernel)


def _radial(kernel: Kernel, t: float) -> float:
    match kernel:
        case RationalQuadratic(alpha):
            return math.exp(-alpha * math.log1p(t))
        case Matern(nu):
            z = math.sqrt(t)
            return {0.5: 1.0, 1.5: 1 + z, 2.5: 1 + z + t / 3}[nu] * math.exp(-z)
    raise TypeError(kernel)


def _in_order(terms: Row) -> float:
    total = 0.0
    for term in terms:
        total += term
    return total


def _shares(x: Row, s: Row) -> Row:
    return [(a - b) * ((a - b) / (a + b)) if a + b > 0 else 0.0 for a, b in zip(x, s, strict=True)]


def _dot(machine: Machine, x: Row, s: Row) -> float:
    if machine.blas_products:
        return float(ddot(np.array(x), np.array(s)))
    total = 0.0
    for a, b in zip(x, s, strict=True):
        total += a * b
    return total


def _power(base: float, degree: int) -> float:
    """Binary digits of the degree, the lowest first."""
    result = 1.0
    for digit in reversed(bin(degree)[2:]):
        if digit == "1":
            result *= base
        base *= base
    return result


def _of_unit_vectors(gamma: float, coef0: float, x: Row, s: Row) -> float:
    u, v = _unit(gamma, coef0, x), _unit(gamma, coef0, s)
    total = 0.0
    for a, b in zip(u[:-1], v[:-1], strict=True):
        total += a * b
    return total + u[-1] * v[-1]


def _unit(gamma: float, coef0: float, x: Row) -> Row:
    """(sqrt(gamma) x, sqrt(coef0)) over its length, all brought near 1 by a power of two first."""
    root, root_exponent = math.frexp(math.sqrt(gamma))
    constant, constant_exponent = math.frexp(math.sqrt(coef0))
    largest = max(abs(value) for value in x)
    exponent = math.frexp(largest)[1]
    candidates = [exponent + root_exponent] if largest else []
    candidates += [constant_exponent] if constant else []
    common = max(candidates, default=0)
    scaled = [math.ldexp(math.ldexp(value, -exponent) * root, exponent + root_exponent - common) for value in x]
    scaled.append(math.ldexp(constant, constant_exponent - common))
    squares = 0.0
    for value in scaled:
        squares += value * value
    length = math.sqrt(squares)
    return [value / length if length else 0.0 for value in scaled]

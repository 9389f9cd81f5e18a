"""Slow twins, straight from the definitions: plain loops in Python floats, and the same in mpmath.

Nothing here is clever, so that a disagreement is always the fault of the other side. The mpmath versions take the
inputs as the exact real numbers they are: what a certificate has to contain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import mpmath
import numpy as np

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

_DIGITS = 120


def kernel_value(kernel: Kernel, u: Sequence[Any], v: Sequence[Any], number: Callable[[Any], Any] = float) -> Any:
    """K(u, v) in floats, or in another type of number."""
    functions = mpmath if number is mpmath.mpf else math
    match kernel:
        case Linear():
            return _dot(u, v)
        case Polynomial(gamma, coef0, degree):
            return _power(number(gamma) * _dot(u, v) + number(coef0), degree)
        case Sigmoid(gamma, coef0):
            return functions.tanh(number(gamma) * _dot(u, v) + number(coef0))
        case RBF(gamma):
            return functions.exp(-number(gamma) * _squared_distance(u, v))
        case Normalized(inner):
            return _normalized(inner, u, v, number)
        case Matern(nu, length_scale):
            far = functions.sqrt(_squared_distance(u, v)) / number(length_scale)
            return _matern(far * functions.sqrt(number(2 * nu)), nu) * functions.exp(
                -far * functions.sqrt(number(2 * nu))
            )
        case RationalQuadratic(alpha, length_scale):
            base = 1 + _squared_distance(u, v) / (2 * number(alpha) * number(length_scale) * number(length_scale))
            return functions.exp(-number(alpha) * functions.log(base))
        case Laplacian(gamma):
            return functions.exp(-number(gamma) * sum((abs(a - b) for a, b in zip(u, v, strict=True)), start=0 * u[0]))
        case Chi2(gamma):
            return functions.exp(-number(gamma) * _chi2_distance(u, v))
        case AdditiveChi2():
            return -_chi2_distance(u, v)
    raise TypeError(kernel)


def _dot(u: Sequence[Any], v: Sequence[Any]) -> Any:
    total = 0 * u[0]
    for a, b in zip(u, v, strict=True):
        total += a * b
    return total


def _squared_distance(u: Sequence[Any], v: Sequence[Any]) -> Any:
    total = 0 * u[0]
    for a, b in zip(u, v, strict=True):
        total += (a - b) * (a - b)
    return total


def _matern(z: Any, nu: float) -> Any:
    """The polynomial before exp(-z), from the general sum over factorials."""
    p = round(nu - 0.5)
    terms = [
        math.factorial(p + i) // (math.factorial(i) * math.factorial(p - i)) * (2 * z) ** (p - i) for i in range(p + 1)
    ]
    return sum(terms) * math.factorial(p) / math.factorial(2 * p)


def _chi2_distance(u: Sequence[Any], v: Sequence[Any]) -> Any:
    return sum(((a - b) * (a - b) / (a + b) for a, b in zip(u, v, strict=True) if a + b > 0), start=0 * u[0])


def _power(base: Any, degree: int) -> Any:
    result = base
    for _ in range(degree - 1):
        result = result * base
    return result


def _normalized(inner: Kernel, u: Sequence[Any], v: Sequence[Any], number: Callable[[Any], Any]) -> Any:
    uu, vv = kernel_value(inner, u, u, number), kernel_value(inner, v, v, number)
    if uu == 0 or vv == 0:
        return number(0)
    root = mpmath.sqrt if number is mpmath.mpf else math.sqrt
    return kernel_value(inner, u, v, number) / (root(uu) * root(vv))


def mapped(machine: Machine, row: Sequence[Any], number: Callable[[Any], Any] = float) -> list[Any]:
    if machine.input_map is None:
        return [number(value) for value in row]
    center, scale = machine.input_map.center.tolist(), machine.input_map.scale.tolist()
    return [(number(x) - number(a)) / number(b) for x, a, b in zip(row, center, scale, strict=True)]


def points_of(machine: Machine) -> list[list[float]]:
    """All coordinates of the points, the zeros of sparse ones among them."""
    points = machine.points.toarray() if machine.has_sparse_points else machine.points
    return [[float(s) for s in point] for point in points]


def _outputs(machine: Machine, row: Sequence[Any], number: Callable[[Any], Any]) -> list[Any]:
    x = mapped(machine, row, number)
    sums = [number(bias) for bias in machine.bias.tolist()]
    for point, weights in zip(points_of(machine), machine.weights.tolist(), strict=True):
        value = kernel_value(machine.kernel, x, [number(s) for s in point], number)
        for k, weight in enumerate(weights):
            sums[k] += number(weight) * value
    return sums


def outputs(machine: Machine, rows: Any) -> Floats:
    """G of every row and output, by the definition."""
    values = [_outputs(machine, row, float) for row in np.asarray(rows, dtype=np.float64).tolist()]
    return np.array(values, dtype=np.float64).reshape(len(values), machine.n_outputs)


def exact_outputs(machine: Machine, rows: Any) -> list[list[Any]]:
    """G of every row and output as real numbers, good to far more digits than any radius asks for."""
    with mpmath.workdps(_DIGITS):
        return [_outputs(machine, row, mpmath.mpf) for row in np.asarray(rows, dtype=np.float64).tolist()]


def contained(middle: Floats, radius: Floats, exact: list[list[Any]]) -> np.ndarray[Any, Any]:
    """Whether |middle - exact| <= radius, asked in real numbers; an infinite radius claims nothing."""
    held = np.ones(middle.shape, dtype=bool)
    with mpmath.workdps(_DIGITS):
        for place in np.ndindex(*middle.shape):
            if math.isfinite(radius[place]):
                i, k = place
                distance = abs(mpmath.mpf(float(middle[place])) - exact[i][k])
                held[place] = math.isfinite(middle[place]) and distance <= mpmath.mpf(float(radius[place]))
    return held


def between(low: Floats, high: Floats, exact: list[list[Any]]) -> np.ndarray[Any, Any]:
    """Whether low <= exact <= high, asked in real numbers."""
    held = [[a <= real <= b for a, b, real in zip(*row, strict=True)] for row in zip(low, high, exact, strict=True)]
    return np.array(held, dtype=bool).reshape(low.shape)


def sign(outputs: Sequence[float], zero: int) -> int:
    return zero if outputs[0] == 0 else int(outputs[0] > 0)


def vote(outputs: Sequence[float], classes: int) -> int:
    """LIBSVM: a pair's output above 0 is a vote for its first class; of the classes with most votes the first wins."""
    votes = [0] * classes
    for output, (a, b) in zip(outputs, combinations(range(classes), 2), strict=True):
        votes[a if output > 0 else b] += 1
    return votes.index(max(votes))


def confidences(outputs: Sequence[float], classes: int) -> list[float]:
    """scikit-learn's one-vs-rest values: votes plus summed outputs squeezed into (-1/3, 1/3)."""
    votes, sums = [0] * classes, [0.0] * classes
    for output, (a, b) in zip(outputs, combinations(range(classes), 2), strict=True):
        votes[a if output >= 0 else b] += 1
        sums[a] += output
        sums[b] -= output
    return [count + total / (3 * (abs(total) + 1)) for count, total in zip(votes, sums, strict=True)]


def argmax(outputs: Sequence[float], last_of_equal: bool) -> int:
    places = [k for k, output in enumerate(outputs) if output == max(outputs)]
    return places[-1 if last_of_equal else 0]


def reduced_set_interval(machine: Machine, points: Any, gamma: Any, row: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Burges & Schölkopf: sum_k gamma_k K(x, z_k) + b of every output, and |w - w'| sqrt(K(x,x)), in real numbers."""
    with mpmath.workdps(_DIGITS):
        x = mapped(machine, row, mpmath.mpf)
        root = mpmath.sqrt(kernel_value(machine.kernel, x, x, mpmath.mpf))
        middles = [mpmath.mpf(bias) for bias in machine.bias.tolist()]
        for point, weights in zip(np.asarray(points).tolist(), np.asarray(gamma).tolist(), strict=True):
            value = kernel_value(machine.kernel, x, [mpmath.mpf(z) for z in point], mpmath.mpf)
            middles = [middle + mpmath.mpf(g) * value for middle, g in zip(middles, weights, strict=True)]
        return [(m, rho * root) for m, rho in zip(middles, reduced_set_rho(machine, points, gamma), strict=True)]


def reduced_set_rho(machine: Machine, points: Any, gamma: Any) -> list[Any]:
    """|w - w'| of every output, a real number."""
    with mpmath.workdps(_DIGITS):
        vectors = [[mpmath.mpf(v) for v in point] for point in np.vstack([points, machine.points]).tolist()]
        gram = [[kernel_value(machine.kernel, u, v, mpmath.mpf) for v in vectors] for u in vectors]
        differences = np.vstack([gamma, -machine.weights]).T.tolist()
        return [_length(gram, [mpmath.mpf(a) for a in difference]) for difference in differences]


def _length(gram: list[list[Any]], weights: list[Any]) -> Any:
    """|sum_i a_i phi(u_i)|"""
    total = sum(a * b * gram[i][j] for i, a in enumerate(weights) for j, b in enumerate(weights))
    return mpmath.sqrt(max(total, 0))

"""Bounds on float64 rounding, each derived in the docstring or comment of its function.

Two kinds are here: the rounding of what is computed once, before any row arrives (Gram matrices, sums over all points),
and that of the model's own sum, r(x), as a function of the norm of a row (`source_rounding`). The rounding of rows in
the native core is bounded in native/core/rounding.hpp. u = 2^-53 is half the distance from 1 to the next float64.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dormie.machine import Affine, Floats, Machine
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Custom,
    Kernel,
    Linear,
    Normalized,
    OfDifferences,
    Polynomial,
    Radial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.margin import LOST_LENGTH, Margin
from dormie.machine.margin import UNIT as UNIT
from dormie.machine.rules import Rule, ValueRule
from dormie.machine.sparse_points import any_nonzero, squared_norms
from dormie.machine.typing import Booleans

_LEAST_NORMAL: float = 2.0**-1022
_UP = 1.01  # covers terms of second order, which the bounds below leave out
_MARGINS: WeakKeyDictionary[Machine, Margin] = WeakKeyDictionary()
_SOURCE_MARGINS: WeakKeyDictionary[Machine, Margin] = WeakKeyDictionary()


def kernel_value_error(kernel: Kernel, a: Floats, b: Floats) -> float:
    """A bound on the error of every entry of `kernel.matrix(a, b)`; TypeError for a Python kernel of unknown kind."""
    if isinstance(kernel, Custom) and kernel.positive_semidefinite:
        return kernel.value_error * max_length(kernel, a) * max_length(kernel, b)
    d = int(a.shape[1])
    if isinstance(kernel, Radial):
        # Differences are squared and summed: t has relative error (d + 4) u, and -t f'(t) <= 0.37 for all of these.
        if isinstance(kernel, RationalQuadratic) and _largest_norm(a) + _largest_norm(b) > _far(kernel):
            return 1.0  # squares overflow, and a value is 0 that need not be
        return (0.37 * (d + 4) + (4 if isinstance(kernel, RBF) else kernel.value_roundings)) * UNIT
    if isinstance(kernel, OfDifferences):
        return _error_of_differences(kernel, d + kernel.roundings + 4, a, b)
    if isinstance(kernel, Normalized):
        if isinstance(kernel.kernel, RBF):
            return kernel_value_error(kernel.kernel, a, b) + 4 * UNIT
        return math.inf if _scale_lost(kernel, a, b) else 2 * (inner_degree(kernel) + 2) * (d + 8) * UNIT
    size = _largest_norm(a) * _largest_norm(b)
    if isinstance(kernel, Linear):
        return (d + 2) * UNIT * size
    if isinstance(kernel, Polynomial):
        base = kernel.gamma * size + abs(kernel.coef0)
        with np.errstate(over="ignore"):
            return float(2 * kernel.degree * (d + 4) * UNIT * np.power(base, kernel.degree)) + _LEAST_NORMAL
    if isinstance(kernel, Sigmoid):  # tanh is nowhere steeper than 1
        return ((d + 4) * (abs(kernel.gamma) * size + abs(kernel.coef0)) + 4) * UNIT
    raise TypeError(f"no bound on the rounding of {kernel!r}")


def _error_of_differences(kernel: OfDifferences, roundings: float, a: Floats, b: Floats) -> float:
    """The same where sums over coordinates, of terms that are not negative, have so many roundings: relative to them.

    The exponent z has that relative error, and z exp(-z) <= 0.37; without an exponential the sums are the values.
    """
    largest = _largest_sum(a) + _largest_sum(b) if isinstance(kernel, AdditiveChi2) else 0.37
    return (roundings * largest + 4) * UNIT


def _far(kernel: Radial) -> float:
    """Vectors no further apart than that have squared distances that do not overflow, times gamma or not."""
    return 1e149 / max(1.0, math.sqrt(kernel.gamma))


def _largest_sum(rows: Floats) -> float:
    """At least the largest sum of the sizes of all coordinates of a row."""
    return float(np.abs(rows).sum(axis=1).max(initial=0.0)) * (1 + 1e-9)


def stated_error(kernel: Kernel) -> float:
    """The error of the values of a Python kernel that the user states, relative to |phi(u)| |phi(v)|."""
    assert isinstance(kernel, Custom)
    return kernel.value_error


def feature_lengths(kernel: Kernel, rows: Any) -> Floats:
    """Upper bounds on the lengths |phi(x)| = sqrt(K(x, x)) of rows in the feature space of a Python kernel."""
    return np.sqrt(np.maximum(kernel.diagonal(rows), 0.0)) * (1 + stated_error(kernel) + 4 * UNIT)


def max_length(kernel: Kernel, rows: Any) -> float:
    """The largest of `feature_lengths`; 0 where there are no rows."""
    return float(feature_lengths(kernel, rows).max(initial=0.0))


def in_range(squares: Floats) -> Booleans:
    """Whether squared norms are far enough from overflow and underflow for further computations."""
    return (squares > 1e-200) & (squares < 1e200)


def exact_gram_error(factor: Floats, gram: Floats) -> Floats:
    """`factor @ factor.T - gram`, almost without rounding.

    The factor is split into a sum of matrices with so few bits that the products of the leading ones, and their sums,
    are exact in float64. The remaining products are 2^-40 times smaller, and so is their rounding.
    """
    k = factor.shape[1]
    bits = (52 - math.ceil(math.log2(max(k, 2)))) // 2
    top = 2.0 ** math.ceil(math.log2(max(float(np.abs(factor).max(initial=0.0)), 1e-300)))
    first = np.round(factor / top * 2.0**bits) / 2.0**bits * top
    second = np.round((factor - first) / top * 2.0 ** (2 * bits)) / 2.0 ** (2 * bits) * top
    third = factor - first - second
    cross = first @ second.T
    rest = first @ third.T
    small = second @ second.T + rest + rest.T + second @ third.T + third @ second.T
    return np.asarray((first @ first.T - gram) + (cross + cross.T) + small)


def _largest_norm(rows: Any) -> float:
    largest = float(np.abs(rows.data if is_sparse(rows) else rows).max(initial=0.0))
    unit = 2.0 ** math.frexp(largest)[1] if 0 < largest < 1e300 else 1.0  # avoids overflow of squares
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(rows / unit)
        return unit * float(np.sqrt(squares.max(initial=0.0))) * (1 + 1e-12) + LOST_LENGTH


def _scale_lost(kernel: Normalized, *sets: Floats) -> bool:
    """Whether some K(u, u), by which a row is normalised, is near overflow or underflow."""
    for rows in sets:
        with np.errstate(over="ignore"):
            own = kernel.kernel.diagonal(rows)
        if (any_nonzero(rows) & ((own < 1e-280) | (own > 1e280))).any():
            return True
    return False


def tile_value_error(kernel: Kernel, a: Floats, b: Floats) -> float:
    """A bound on the error of every kernel value of the native float64 tiles (native/core/rounding.hpp)."""
    if kernel.is_python:  # there are no tiles
        return kernel_value_error(kernel, a, b)
    if isinstance(kernel, Normalized) and not isinstance(kernel.kernel, RBF):
        return kernel_value_error(kernel, a, b) + 100 * UNIT * inner_degree(kernel)
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    d = int(a.shape[1])
    chain = 64 + d / 64 + 16
    x, s = _largest_norm(a), _largest_norm(b)
    if isinstance(inner, OfDifferences):
        return _error_of_differences(inner, chain + inner.roundings, a, b)
    if isinstance(inner, Radial) and not inner.of_inner_products:  # by differences, as in NumPy
        return kernel_value_error(inner, a, b) + 0.37 * chain * UNIT
    if isinstance(inner, Radial):
        assert inner.log_fall is not None
        exponent = inner.log_fall * chain * UNIT * inner.gamma * ((x + s) * (x + s)) + inner.value_roundings * UNIT
        return math.expm1(exponent) if exponent < 0.5 else 1.0  # values lie between 0 and 1
    return kernel_value_error(inner, a, b) * max(1.0, chain / d)


def inner_degree(kernel: Normalized) -> int:
    """The degree of the kernel inside a normalised one; 1 for a linear kernel."""
    return kernel.kernel.degree if isinstance(kernel.kernel, Polynomial) else 1


def margin(machine: Machine) -> Margin:
    """The distance from the decision boundary at which an interval of this machine settles the model's own answer.

    Values have no decision boundary: their margin is only the bound on what exact rewrites changed, and on what the
    preparation of rows does by rounding. Intervals are those of the row as dormie prepares it.
    """
    if machine not in _MARGINS:  # every stage needs it, and the norms of all points take time
        _MARGINS[machine] = _margin(machine)
    return _MARGINS[machine]


def _margin(machine: Machine) -> Margin:
    return margin_of(machine, machine.rule)


def margin_of(machine: Machine, rule: Rule) -> Margin:
    """The same under another rule, that of a sum in which the machine is a member."""
    prepared = machine.preparation is not None and not machine.kernel.is_python  # dormie's own preparation rounds too
    if not isinstance(rule, ValueRule) or prepared:
        return source_margin(machine)
    return Margin.none(machine.n_outputs) if machine.origin is None else machine.origin.deviation


def source_margin(machine: Machine) -> Margin:
    """A bound on the distance of the model's own sum from the real-number value of this machine."""
    if machine not in _SOURCE_MARGINS:  # with a Python kernel it takes evaluations
        _SOURCE_MARGINS[machine] = _source_margin(machine)
    return _SOURCE_MARGINS[machine]


def _source_margin(machine: Machine) -> Margin:
    if machine.origin is None:
        return source_rounding(machine)
    source = machine.origin.machine
    return machine.origin.deviation + remapped_margin(source_rounding(source), source, machine)


def remapped_margin(margin: Margin, before: Machine, after: Machine) -> Margin:
    """A margin that is a function of the norms of rows as one machine maps them, as a function of those of another."""
    old, new = before.input_map, after.input_map
    if old is new or (old is None and new is None):
        return margin
    old_center, old_scale = (0.0, 1.0) if old is None else (old.center, old.scale)
    new_center, new_scale = (0.0, 1.0) if new is None else (new.center, new.scale)
    with np.errstate(over="ignore", invalid="ignore"):
        stretch = np.abs(np.asarray(new_scale / old_scale)).max(initial=0.0)
        shift = np.linalg.norm((new_center - old_center) / old_scale)
    stretch = stretch if before.preparation is None else max(1.0, stretch)  # the errors in a reach stay what they are
    return margin.of_norms(_UP * float(stretch), _UP * float(shift))


def source_rounding(machine: Machine) -> Margin:
    """r(x): a bound on the rounding of the machine's own float64 sum, in whatever order its terms are added.

    With N terms, W = sum |beta|, points of norm at most s, rows of mapped norm t and u = 2^-53, adding N products and
    the bias has an error of at most (N + 3) u W max |K|. Mapping the row moves it by m <= u (a t + b) (`_map_error`).
    Where rows are prepared, t is their reach, and a counts two preparations: the model's own and dormie's.
    The error of a kernel value is at most

        radial      0.37 (d + 5) u, as -t f'(t) <= 0.37, plus some units for f itself, plus the kernel's slope times m
        differences 0.37 (d + 9) u, or (d + 9) u sqrt(d) (s + t) without an exponential, plus the slope times sqrt(d) m
        linear      (d + 2) u s t + s m
        polynomial  degree times the relative error of its base, which is at most v = gamma s (t + b) + |r| in size
        sigmoid     the error of its argument, as tanh has no slope above 1
        normalised  that of a polynomial of unit vectors, each of which has an error of at most (d + 6) u
        Python      what the user states, relative to |phi(x)| |phi(s)|: see `_python_rounding`.
    """
    kernel, unit = machine.kernel, UNIT * _UP
    if isinstance(kernel, Custom):
        return _python_rounding(machine, kernel)
    d = machine.n_features
    if isinstance(kernel, Normalized) and isinstance(kernel.kernel, RBF):
        kernel = kernel.kernel
    with np.errstate(over="ignore", invalid="ignore"):
        total, terms = np.abs(machine.weights).sum(axis=0), np.count_nonzero(machine.weights, axis=0)
        s = _largest_norm(machine.points)
        lost = total * d * (1e-300 + s * 1e-320) + terms * 1e-320  # to underflow
        sums = (terms + 4) * unit * total
        lost += 2 * unit * np.abs(machine.bias)
        moved, offset = _map_error(machine.input_map)
        moved += 2 * _preparation_error(machine)
        match kernel:
            case Radial():
                steep, own = kernel.slope * unit, 8 if isinstance(kernel, RBF) else kernel.value_roundings
                value = (0.37 * (d + 5) + own) * unit + min(1.0, math.sqrt(kernel.gamma * d * 1e-307)) + steep * offset
                if not isinstance(kernel, RationalQuadratic):
                    return Margin(total * value + sums + lost, total * steep * moved)
                # Where squares overflow its values are 0, and need not be: for a row, if not for a point, so far out.
                far = _far(kernel)
                beyond = 2 * float(np.exp(-kernel.alpha * np.log1p(kernel.gamma * far * far)))
                value += 1.0 if s > far else 0.0
                return Margin(total * value + sums + lost, total * (steep * moved + beyond / far))
            case OfDifferences():
                root, roundings = math.sqrt(d), (d + kernel.roundings + 5) * unit
                steep = kernel.slope * root * unit
                if not isinstance(kernel, AdditiveChi2):
                    value = 0.37 * roundings + 8 * unit + min(1.0, d * 1e-307 * kernel.slope) + steep * offset
                    return Margin(total * value + sums + lost, total * steep * moved)
                terms_of = (total * roundings + sums) * root  # a value is at most root (s + t) in size
                return Margin(total * steep * offset + terms_of * s + lost, total * steep * moved + terms_of)
            case Linear():
                return Margin(total * s * unit * offset + lost, (total * (d + moved + 2) * unit + sums) * s)
            case Sigmoid(gamma, coef0):
                steep = abs(gamma) * s * unit
                constant = total * (steep * offset + (4 * abs(coef0) + 8) * unit) + sums + lost
                return Margin(constant, total * steep * (d + moved + 5))
            case Polynomial(gamma, coef0, degree):
                relative = degree * (d + moved + 6) * unit
                slope = total * relative + sums if relative < 0.001 else np.full_like(total, np.inf)
                return Margin(lost, slope, gamma * s, gamma * s * offset + abs(coef0), degree)
            case Normalized():
                relative = inner_degree(kernel) * (2 * (d + moved) + 24) * unit if offset == 0 else math.inf
                relative = relative if machine.preparation is None else math.inf  # errors may exceed a row's length
                return Margin(total * relative + sums + lost, np.zeros_like(total))
    raise TypeError(f"no bound on the rounding of {machine.kernel!r}")


def _preparation_error(machine: Machine) -> float:
    """The number a such that preparing a row of reach t moves it by at most a t u, behind the input map."""
    if machine.preparation is None:
        return 0.0
    scale = 1.0 if machine.input_map is None else 1 / float(np.abs(machine.input_map.scale).min())
    return _UP * machine.preparation.unit_error * scale


def _python_rounding(machine: Machine, kernel: Custom) -> Margin:
    """The same for a positive semi-definite Python kernel, as a function of the length t = |phi(x)| of a row.

    Every value is within e t |phi(s)| of the exact one, and at most (1 + e) t |phi(s)| in size. What rounding the
    mapped row does is no error: the function's values for the row as it was mapped are what counts.
    """
    if not kernel.positive_semidefinite:
        raise TypeError(f"no bound on the rounding of {kernel!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        weights, terms = np.abs(machine.weights), np.count_nonzero(machine.weights, axis=0)
        sizes = feature_lengths(kernel, machine.points) @ weights
        lost = 2 * UNIT * _UP * np.abs(machine.bias) + terms * 1e-320  # to underflow
        return Margin(lost, (kernel.value_error + (terms + 4) * UNIT) * _UP * sizes)


def kernel_sum_margin(machine: Machine, shares: Floats) -> Margin:
    """A bound on sum_i shares_i |K(x, s_i)|, where shares (points x outputs) are not negative."""
    total, kernel = shares.sum(axis=0), machine.kernel
    if isinstance(kernel, Linear):
        return Margin(np.zeros_like(total), total * _largest_norm(machine.points))
    if isinstance(kernel, Polynomial):
        gain = kernel.gamma * _largest_norm(machine.points)
        return Margin(np.zeros_like(total), total, gain, abs(kernel.coef0), kernel.degree)
    if isinstance(kernel, AdditiveChi2):
        root = math.sqrt(machine.n_features)
        return Margin(total * root * _largest_norm(machine.points), total * root)
    return Margin(total, np.zeros_like(total))  # |K| is at most 1


def feature_space_margin(kernel: Kernel, norms: Floats) -> Margin:
    """A bound on |<v, phi(x)>| for vectors v of these norms, one for each output, by Cauchy-Schwarz.

    The kernel is linear or polynomial, normalised or not.
    """
    if isinstance(kernel, Normalized):
        return Margin(norms, np.zeros_like(norms))
    if isinstance(kernel, Polynomial):
        gain, start = math.sqrt(kernel.gamma), math.sqrt(abs(kernel.coef0))
        return Margin(np.zeros_like(norms), norms, gain, start, kernel.degree)
    return Margin(np.zeros_like(norms), norms)


def _map_error(input_map: Affine | None) -> tuple[float, float]:
    """The numbers a and b such that mapping in float64 moves a row of mapped norm t by at most (a t + b) u.

    A step's result has a relative error u. After the later steps that is an error of u |x' - h| in the mapped row x',
    where h is what those steps make of 0. Sparse rows are multiplied by the rounded inverse, not divided: one rounding
    more. Where the map has steps, its center and scale are rounded too, which adds at most twice as much again.
    """
    if input_map is None:
        return 0.0, 0.0
    if not input_map.steps:
        return 3.0, 0.0
    image, images = np.zeros_like(input_map.center), [np.zeros_like(input_map.center)]
    factor, underflow = np.ones_like(image), np.zeros_like(image)
    for name, values in reversed(input_map.steps):
        underflow += np.abs(factor) * (2.0**-1074 / UNIT)
        match name:
            case "subtract":
                image = image - factor * values
            case "add":
                image = image + factor * values
            case "divide":
                factor = factor / values
            case "multiply":
                factor = factor * values
        images.append(image)
    count = len(input_map.steps)
    return 6.0 * (count + 1), 6.0 * float(np.linalg.norm(np.sum(np.abs(images), axis=0) + underflow))

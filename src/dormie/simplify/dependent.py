"""Points of a polynomial kernel that depend linearly on others go (Downs, Gates and Masters 2001).

In feature space the point s is the vector phi(s) of all monomials of its degree, K(x, s) = phi(x).phi(s), and there
are only m = C(d + p, p) of those, C(d + p - 1, p) without a constant term. Of more points than that some are sums of
others: phi(s_j) = sum_i a_i phi(s_i), so that the others take up its weight, beta_i + beta_j a_i.

A QR factorisation with pivoting of the phi(s_i) themselves finds the points to keep, most independent first. That is
pivoted Cholesky of their Gram matrix at half the loss of digits, and costs L m^2: an L x L matrix is never formed.

This is also how dormie evaluates "explicit monomials": m points of the same kernel span what the m monomials span.
They are m dot products of length d, on the path that all kernels take, in place of m products on a path of their own:
for the few features where m is small the difference is small as well, beside what any row costs.

Preserves every output to rounding, as `check` finds, and the points kept are points of the machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel, Linear, Normalized, Polynomial
from dormie.machine.margin import Margin
from dormie.machine.rules import Indices
from dormie.numerics.rounding import UNIT, of_feature_space
from dormie.simplify import check

_MOST_VALUES = 1 << 25  # of the matrix of all phi(s_i): 256 MiB
_MOST_WORK = 5e9  # multiply-adds of its factorisation: some seconds


def _attempt(machine: Machine) -> Machine | None:
    kernel = _polynomial(machine.kernel)
    if kernel is None or not _affordable(kernel, machine):
        return None
    with np.errstate(all="ignore"):  # what overflows is found below
        features = _features(machine, _variable_sizes(kernel, machine.points))
    if not np.isfinite(features).all():
        return None
    kept, weights = _independent(features, machine.weights)
    if len(kept) == machine.n_points or not np.isfinite(weights).all():
        return None
    result = replace(machine, points=machine.points[kept], weights=weights)
    return result if check.preserves(machine, result) else None


accepts, apply = check.tried(_attempt)


def deviation(before: Machine, after: Machine) -> Margin:
    """The distance in feature space between the two sums of phi(s_i), worked out in float64, and what that loses."""
    kernel = _polynomial(before.kernel)
    assert kernel is not None
    sizes = _variable_sizes(kernel, before.points)
    with np.errstate(all="ignore"):
        (one, lost), (other, lost_too) = (_weighted_features(kernel, machine, sizes) for machine in (before, after))
        apart = np.abs(one - other) + lost + lost_too
        units = np.where(
            np.arange(len(sizes)) < before.n_features, math.sqrt(kernel.gamma), math.sqrt(abs(kernel.coef0))
        )
        apart *= (units * sizes)[_factors(kernel, len(sizes))].prod(axis=1)[:, None]
        return of_feature_space(before.kernel, np.linalg.norm(apart, axis=0) * 1.01)


def _weighted_features(kernel: Polynomial, machine: Machine, sizes: Floats) -> tuple[Floats, Floats]:
    """sum_i beta_i phi(s_i), a column each output, in units of the sizes, and a bound on its rounding."""
    features = _features(machine, sizes)
    roundings = machine.n_points + machine.n_features + 2 * kernel.degree + 40
    return features @ machine.weights, roundings * UNIT * (np.abs(features) @ np.abs(machine.weights))


def _polynomial(kernel: Kernel) -> Polynomial | None:
    """The kernel, or the one inside, as a polynomial."""
    inner = check.inner(kernel)
    if isinstance(inner, Linear):
        return Polynomial(1.0, 0.0, 1)
    return inner if isinstance(inner, Polynomial) else None


def _variables(kernel: Polynomial, d: int) -> int:
    return d if kernel.coef0 == 0 else d + 1


def _affordable(kernel: Polynomial, machine: Machine) -> bool:
    m = math.comb(_variables(kernel, machine.n_features) + kernel.degree - 1, kernel.degree)
    values = m * machine.n_points
    return 0 < values <= _MOST_VALUES and values * min(m, machine.n_points) <= _MOST_WORK


def _variable_sizes(kernel: Polynomial, points: Floats) -> Floats:
    """The largest value of every variable: the features, and a constant 1 where the kernel has a coef0.

    A constant variable makes (gamma x.s + r)^p a power of one dot product.
    """
    largest = np.abs(points).max(axis=0)
    return np.asarray(largest if kernel.coef0 == 0 else np.append(largest, 1.0))


def _factors(kernel: Polynomial, variables: int) -> Indices:
    """The variables that are multiplied in each monomial of the kernel's degree."""
    return np.array(list(combinations_with_replacement(range(variables), kernel.degree)))


def _features(machine: Machine, sizes: Floats) -> Floats:
    """phi of every point, a column each, in units in which the largest value of every variable is 1.

    Units multiply whole rows of this matrix, and a negative r gives the sign of some rows another meaning in K: its
    columns depend on each other as before.
    """
    kernel, points = _polynomial(machine.kernel), machine.points
    assert kernel is not None
    variables = points.T if kernel.coef0 == 0 else np.vstack([points.T, np.ones(len(points))])
    variables = np.divide(variables, sizes[:, None], out=np.zeros_like(variables), where=sizes[:, None] > 0)
    factors = _factors(kernel, len(sizes))
    features = np.sqrt([_arrangements(row) for row in factors.tolist()])[:, None] * variables[factors[:, 0]]
    for column in factors.T[1:]:
        features *= variables[column]
    if isinstance(machine.kernel, Normalized):
        features *= machine.kernel.scale(points)
    return np.asarray(features)


def _arrangements(factors: list[int]) -> int:
    """In how many orders the factors of a monomial can be multiplied: how often it occurs in the power."""
    repeats = math.prod(math.factorial(factors.count(j)) for j in set(factors))
    return math.factorial(len(factors)) // repeats


def _independent(features: Floats, weights: Floats) -> tuple[Indices, Floats]:
    """Columns that span all columns, in their old order, and the weights with which they have the same sum."""
    from scipy.linalg import qr, solve_triangular  # here: see dormie.numerics.cholesky

    triangle, order = qr(features, mode="r", pivoting=True)
    pivots = np.abs(np.diagonal(triangle))
    rank = int(np.count_nonzero(pivots > pivots[0] * max(features.shape) * np.finfo(np.float64).eps))
    sums = triangle[:rank] @ weights[order]
    kept = np.argsort(order[:rank])
    return order[kept], solve_triangular(triangle[:rank, :rank], sums)[kept]

"""Points of a polynomial kernel that depend linearly on others are dropped (Downs, Gates and Masters 2001).

In feature space a point s is the vector phi(s) of all monomials of degree p, with K(x, s) = phi(x).phi(s). There are
only m = C(d + p, p) monomials, C(d + p - 1, p) without a constant term. With more than m points, some phi(s_j) are
linear combinations of others: phi(s_j) = sum_i a_i phi(s_i), and the others take over the weight: beta_i + beta_j a_i.

A QR factorisation of the phi(s_i) with pivoting finds the points to keep, the most independent first. It equals pivoted
Cholesky of their Gram matrix, but loses half as many digits, and costs L m^2: an L x L matrix is never formed.

This also replaces the evaluation by explicit monomials: m points of the same kernel span the same space as the m
monomials. They cost m dot products of length d in the code that serves all kernels, not m products in code of their
own. With so few features that m is small, the difference is small beside the other costs of a row.

Preserves every output up to rounding, which `check` verifies; the points kept are points of the machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel, Linear, Normalized, Polynomial
from dormie.machine.margin import Margin
from dormie.machine.typing import Positions
from dormie.numerics.rounding import UNIT, feature_space_margin
from dormie.simplify import check

_MOST_VALUES = 1 << 25  # in the matrix of all phi(s_i): 256 MiB
_MOST_WORK = 5e9  # multiply-adds of its factorisation: a few seconds


def _attempt(machine: Machine) -> Machine | None:
    kernel = _polynomial(machine.kernel)
    if machine.has_sparse_points or kernel is None or not _affordable(kernel, machine):
        return None
    with np.errstate(all="ignore"):  # overflow is detected below
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
    """The distance between the two w = sum_i beta_i phi(s_i), computed in float64, plus its rounding error."""
    kernel = _polynomial(before.kernel)
    assert kernel is not None
    sizes = _variable_sizes(kernel, before.points)
    with np.errstate(all="ignore"):
        (one, lost), (other, lost_too) = (_weighted_features(kernel, machine, sizes) for machine in (before, after))
        apart = np.abs(one - other) + lost + lost_too
        factors = np.where(
            np.arange(len(sizes)) < before.n_features, math.sqrt(kernel.gamma), math.sqrt(abs(kernel.coef0))
        )
        apart *= (factors * sizes)[_factors(kernel, len(sizes))].prod(axis=1)[:, None]
        return feature_space_margin(before.kernel, np.linalg.norm(apart, axis=0) * 1.01)


def _weighted_features(kernel: Polynomial, machine: Machine, sizes: Floats) -> tuple[Floats, Floats]:
    """sum_i beta_i phi(s_i), one column for each output, variables divided by `sizes`; and a bound on its rounding."""
    features = _features(machine, sizes)
    roundings = machine.n_points + machine.n_features + 2 * kernel.degree + 40
    return features @ machine.weights, roundings * UNIT * (np.abs(features) @ np.abs(machine.weights))


def _polynomial(kernel: Kernel) -> Polynomial | None:
    """The kernel, or the one inside a normalised one, as a polynomial; None if it is not one."""
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
    """The largest absolute value of every variable: the features, and a constant 1 if the kernel has a coef0.

    With the constant variable, (gamma x.s + r)^p is a power of one dot product.
    """
    largest = np.abs(points).max(axis=0)
    return np.asarray(largest if kernel.coef0 == 0 else np.append(largest, 1.0))


def _factors(kernel: Polynomial, variables: int) -> Positions:
    """The variables that are multiplied in each monomial of the kernel's degree."""
    return np.array(list(combinations_with_replacement(range(variables), kernel.degree)))


def _features(machine: Machine, sizes: Floats) -> Floats:
    """phi of every point as a column, with variables divided by `sizes`, so that the largest value of each is 1.

    The division scales whole rows of this matrix, and so does the sign of a negative r: neither changes which columns
    depend on each other.
    """
    kernel, points = _polynomial(machine.kernel), machine.points
    assert kernel is not None
    variables = points.T if kernel.coef0 == 0 else np.vstack([points.T, np.ones(len(points))])
    variables = np.divide(variables, sizes[:, None], out=np.zeros_like(variables), where=sizes[:, None] > 0)
    factors = _factors(kernel, len(sizes))
    arrangements = np.array([float(_arrangements(row)) for row in factors.tolist()])  # floats: degree 40 has too many
    features = np.sqrt(arrangements)[:, None] * variables[factors[:, 0]]
    for column in factors.T[1:]:
        features *= variables[column]
    if isinstance(machine.kernel, Normalized):
        features *= machine.kernel.scale(points)
    return np.asarray(features)


def _arrangements(factors: list[int]) -> int:
    """The multinomial coefficient of a monomial: how many orders its factors can be multiplied in."""
    repeats = math.prod(math.factorial(factors.count(j)) for j in set(factors))
    return math.factorial(len(factors)) // repeats


def _independent(features: Floats, weights: Floats) -> tuple[Positions, Floats]:
    """Columns that span all columns, in their old order, and the weights that give them the same weighted sum."""
    from scipy.linalg import qr, solve_triangular  # here: see dormie.numerics.cholesky

    triangle, order = qr(features, mode="r", pivoting=True)
    pivots = np.abs(np.diagonal(triangle))
    rank = int(np.count_nonzero(pivots > pivots[0] * max(features.shape) * np.finfo(np.float64).eps))
    sums = triangle[:rank] @ weights[order]
    kept = np.argsort(order[:rank])
    return order[kept], solve_triangular(triangle[:rank, :rank], sums)[kept]

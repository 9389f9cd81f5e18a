"""A linear machine becomes one vector for each output: sum_i beta_i (x . s_i) = x . (sum_i beta_i s_i).

Preserves every output to a few units in the last place of sum_ij |beta_i s_ij x_j|: the vectors are summed in twice the
working precision (Dot2 of Ogita, Rump and Oishi), so that folding adds one rounding for each coordinate.

Sparse points stay sparse, and so do the vectors, which have a coordinate for every column in use. These are plain sums
of the few points that have a column: coordinate j, of n_j points, is off by at most n_j u sum_i |beta_i s_ij|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Linear
from dormie.machine.margin import Margin
from dormie.machine.sparse_points import norms
from dormie.numerics.rounding import UNIT

_LARGEST = 1e140  # the product of two larger numbers, or its splitting below, could overflow
_MOST_COORDINATES = 1 << 24  # of all vectors over sparse points: 0.3 GB, packed twice and the points' own among them
_BLOCK_VALUES = 1 << 14  # products computed at once: a few arrays of 128 KiB stay in the cache


def accepts(machine: Machine) -> bool:
    if not isinstance(machine.kernel, Linear) or machine.n_points <= machine.n_outputs:
        return False
    if machine.has_sparse_points and not _affordable(machine):
        return False
    coordinates = machine.points.data if machine.has_sparse_points else machine.points
    return bool(max(np.abs(coordinates).max(initial=0.0), np.abs(machine.weights).max()) < _LARGEST)


def apply(machine: Machine) -> Machine:
    add = _sparse_sums if machine.has_sparse_points else _weighted_sums
    vectors = add(machine.weights, machine.points)
    return replace(machine, points=vectors, weights=np.eye(machine.n_outputs))


def deviation(before: Machine, after: Machine) -> Margin:
    """One rounding of every coordinate, plus the error of the sums in doubled precision, of order (L u)^2."""
    if before.has_sparse_points:
        return _deviation_of_sparse_sums(before)
    sums = np.abs(before.weights).T @ np.linalg.norm(before.points, axis=1)
    lost = 4 * UNIT * np.linalg.norm(after.points, axis=1) + (before.n_points * UNIT) ** 2 * 4 * sums
    return Margin(np.zeros_like(lost), lost + before.n_points * np.sqrt(before.n_features) * 1e-300)


def _affordable(machine: Machine) -> bool:
    """Whether the vectors take little memory, or no more than the points do."""
    most = machine.n_outputs * len(np.unique(machine.points.indices))
    return bool(most <= max(_MOST_COORDINATES, machine.points.nnz))


def _sparse_sums(weights: Floats, points: Any) -> Any:
    """weights^T points (c x d) as a CSR array."""
    from scipy.sparse import csr_array  # here: whoever has sparse points has imported it

    return csr_array(weights.T) @ points


def _deviation_of_sparse_sums(before: Machine) -> Margin:
    """The norm of the bounds on the errors of all coordinates; adding them up has 1 % more than it needs."""
    sizes = _sparse_sums(np.abs(before.weights), abs(before.points))
    points_of_column = np.bincount(before.points.indices, minlength=1)
    sizes.data *= (points_of_column[sizes.indices] + 1) * (1.01 * UNIT)
    lost = norms(sizes) + before.n_points * np.sqrt(before.n_features) * 1e-300
    return Margin(np.zeros_like(lost), lost)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b rounded, and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Two numbers of 26 bits each whose sum is a."""
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a * b rounded, and its exact rounding error."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _weighted_sums(weights: Floats, points: Floats) -> Floats:
    """weights^T points (c x d) in doubled precision, for several points at once."""
    (count, c), d = weights.shape, points.shape[1]
    lanes = min(count, max(1, _BLOCK_VALUES // (c * d)))
    total, left_out = np.zeros((lanes, c, d)), np.zeros((lanes, c, d))
    for start in range(0, count, lanes):
        block = slice(start, start + lanes)
        product, lost = _two_product(weights[block, :, None], points[block, None, :])
        used = len(product)
        total[:used], lost_too = _two_sum(total[:used], product)
        left_out[:used] += lost + lost_too
    return _sum_lanes(total, left_out)


def _sum_lanes(total: Floats, left_out: Floats) -> Floats:
    result, rest = total[0], left_out.sum(axis=0)
    for lane in total[1:]:
        result, lost = _two_sum(result, lane)
        rest += lost
    return np.asarray(result + rest)

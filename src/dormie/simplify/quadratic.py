"""A kernel of degree 2 needs at most d + 1 vectors for each output: outputs are quadratic forms, which diagonalise.

Append a constant coordinate t = sqrt(|r| / gamma) to rows, and +t or -t, with the sign of r, to points. Then
(gamma x.s + r)^2 = gamma^2 (x'.s')^2, and an output is gamma^2 x'^T M x' with M = sum_i beta_i s'_i s'_i^T. Every
decomposition M = sum_k +-u_k u_k^T gives the output with one vector for each term; the eigenvectors times the square
roots of their |eigenvalues| are one. A vector u = (g, h) equals c (p, +-t) with c = +-h/t and p = g/c: a point p with
weight +-c^2.

That needs an h that is not too small compared with g. An orthogonal transformation of the vectors of one sign does not
change the sum of their u u^T, and a reflection can change their h to any values with the same sum of squares. So small
h are raised, in proportion to the sizes of their vectors, which keeps large vectors large and small ones small. Only if
the vectors of one sign have almost no constant part does each sign get one more vector, the constant: +e e^T - e e^T.

Preserves every output up to rounding, which `check` verifies: the eigenvectors are exact for a matrix within a few
units in the last place of M, and the reflections are orthogonal. For a normalised kernel the factors sqrt(K(p, p)) go
into the weights.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Normalized, Polynomial
from dormie.machine.margin import Margin
from dormie.numerics.rounding import UNIT, feature_space_margin
from dormie.simplify import check

_LEAST_SHARE = 2.0**-6  # every vector gets at least this part of its proportional share of the constant
_HARDLY = 2.0**-10  # with a smaller constant part, points would grow to 2^16 times their size


def _attempt(machine: Machine) -> Machine | None:
    kernel = check.inner(machine.kernel)
    if machine.has_sparse_points or not isinstance(kernel, Polynomial) or kernel.degree != 2 or not _pays(machine):
        return None
    with np.errstate(all="ignore"):  # overflow is detected below
        points, weights = _reduced(kernel, machine)
    if len(points) >= machine.n_points or not (np.isfinite(points).all() and np.isfinite(weights).all()):
        return None
    result = replace(machine, points=points, weights=weights)
    return result if check.preserves(machine, result) else None


accepts, apply = check.tried(_attempt)


def deviation(before: Machine, after: Machine) -> Margin:
    """The norm of the difference of the two quadratic forms, computed in float64, plus its rounding error."""
    kernel = check.inner(before.kernel)
    assert isinstance(kernel, Polynomial)
    forms, lost = zip(*(_forms(kernel, machine) for machine in (before, after)), strict=True)
    apart = np.array([np.linalg.norm(one - other) for one, other in zip(*forms, strict=True)]) + sum(lost)
    return feature_space_margin(before.kernel, apart * kernel.gamma * 1.01)


def _forms(kernel: Polynomial, machine: Machine) -> tuple[list[Floats], Floats]:
    """The quadratic form of every output, and a bound on its rounding."""
    weights, vectors = machine.weights, machine.points
    if isinstance(machine.kernel, Normalized):
        weights = weights * machine.kernel.scale(vectors)[:, None]
    if kernel.coef0:
        t = math.sqrt(abs(kernel.coef0) / kernel.gamma)
        vectors = np.c_[vectors, np.full(len(vectors), math.copysign(t, kernel.coef0))]
    squares = np.einsum("ij,ij->i", vectors, vectors)
    lost = (len(vectors) + vectors.shape[1] + 20) * UNIT * (np.abs(weights).T @ squares)
    return [(vectors.T * column) @ vectors for column in weights.T], lost


def _reduced(kernel: Polynomial, machine: Machine) -> tuple[Floats, Floats]:
    """The vectors of all outputs, and their weights: each has a weight only for its own output."""
    weights = machine.weights
    if isinstance(machine.kernel, Normalized):
        weights = weights * machine.kernel.scale(machine.points)[:, None]
    outputs = [_one_output(kernel, machine.points, column) for column in weights.T]
    points = np.vstack([vectors for vectors, _ in outputs])
    reduced = _block_diagonal([column for _, column in outputs])
    if isinstance(machine.kernel, Normalized):
        reduced *= np.sqrt(kernel.diagonal(points))[:, None]
    return points, reduced


def _pays(machine: Machine) -> bool:
    """Whether there are fewer vectors than points, and than monomials, the number that `dependent` leaves."""
    d, c = machine.n_features, machine.n_outputs
    return c * (d + 1) < min(machine.n_points, math.comb(d + 2, 2) + 1)


def _block_diagonal(columns: list[Floats]) -> Floats:
    weights = np.zeros((sum(map(len, columns)), len(columns)))
    start = 0
    for k, column in enumerate(columns):
        weights[start : start + len(column), k] = column
        start += len(column)
    return weights


def _one_output(kernel: Polynomial, points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The vectors and weights of one output."""
    if kernel.coef0 == 0:
        parts = _signed_parts(points, weights)
        unit = max(np.sqrt(np.mean(points**2)), np.finfo(np.float64).tiny)  # keeps the size of points
        sizes = [np.linalg.norm(part, axis=1) / (unit * math.sqrt(points.shape[1])) for part in parts]
    else:
        t = math.sqrt(abs(kernel.coef0) / kernel.gamma)
        signed_t = math.copysign(t, kernel.coef0)
        parts = _meeting_the_constant(_signed_parts(np.c_[points, np.full(len(points), signed_t)], weights))
        sizes = [part[:, -1] / signed_t for part in parts]
        parts = [part[:, :-1] for part in parts]
    vectors = [part / size[:, None] for part, size in zip(parts, sizes, strict=True)]
    return np.vstack(vectors), np.concatenate([sizes[0] ** 2, -(sizes[1] ** 2)])


def _signed_parts(vectors: Floats, weights: Floats) -> list[Floats]:
    """The rows u_k of positive sign and those of negative sign in sum_i weights_i v_i v_i^T = sum_k +-u_k u_k^T."""
    matrix = (vectors.T * weights) @ vectors
    if not np.isfinite(matrix).all():
        return [np.full((1, vectors.shape[1]), np.nan)] * 2
    values, directions = np.linalg.eigh(matrix)
    least = np.abs(values).max() * len(values) * np.finfo(np.float64).eps  # smaller ones are rounding errors
    rows = directions.T * np.sqrt(np.abs(values))[:, None]
    return [rows[values > least][::-1], rows[values < -least]]


def _meeting_the_constant(parts: list[Floats]) -> list[Floats]:
    if any(len(part) and np.linalg.norm(part[:, -1]) < _HARDLY * np.linalg.norm(part) for part in parts):
        constant = np.zeros((1, parts[0].shape[1]))
        constant[0, -1] = max(np.linalg.norm(part) / math.sqrt(max(len(part), 1)) for part in parts)
        parts = [np.vstack([part, constant]) for part in parts]
    return [_lifted(part) for part in parts]


def _lifted(rows: Floats) -> Floats:
    """The rows reflected so that every last coordinate has at least `_LEAST_SHARE` of its proportional share."""
    last = rows[:, -1]
    share = np.linalg.norm(rows, axis=1) * (np.linalg.norm(last) / max(np.linalg.norm(rows), np.finfo(float).tiny))
    wanted = np.copysign(np.maximum(np.abs(last), _LEAST_SHARE * share), last)
    normal = last - wanted * (np.linalg.norm(last) / max(np.linalg.norm(wanted), np.finfo(float).tiny))
    if not normal.any():
        return rows
    normal /= np.linalg.norm(normal)
    return np.asarray(rows - 2 * np.outer(normal, normal @ rows))

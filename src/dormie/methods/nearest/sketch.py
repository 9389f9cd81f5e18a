"""Sketches of rows and points in few coordinates, and the order of terms they give (DeCoste & Mazzoni 2003).

With p principal directions of the support vectors, a row x becomes (z, 0, r) and a point s becomes (z', r', 0), where z
and z' are the components along these directions and r and r' the lengths of the remainders. So lengths are exact, and
an inner product is that of the components. The kernel of two sketches, K~(x, s), approximates K(x, s) at p/d of its
cost.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Positions
from dormie.methods.fitting import CannotFit


def principal_directions(points: Floats, p: int) -> Floats:
    """The first p principal directions of the points, not centered: p x d, orthonormal."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = points.T @ points
    if not np.isfinite(squares).all():
        raise CannotFit("the points are so large that their squares overflow: scale the features first")
    _, directions = np.linalg.eigh(squares)
    return np.ascontiguousarray(directions[:, ::-1].T[:p])


def sketch_rows(basis: Floats, x: Floats) -> Floats:
    """The sketches (z, 0, r) of mapped rows."""
    z, outside = _components(basis, x)
    return np.column_stack([z, np.zeros(len(x)), outside])


def sketch_points(basis: Floats, s: Floats) -> Floats:
    """The sketches (z, r, 0) of points."""
    z, outside = _components(basis, s)
    return np.column_stack([z, outside, np.zeros(len(s))])


def _components(basis: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Components along the basis, and the length of the remainder."""
    z = u @ basis.T
    outside = np.einsum("ij,ij->i", u, u) - np.einsum("ij,ij->i", z, z)
    return z, np.sqrt(np.maximum(outside, 0))


def approximate_kernel(machine: Machine, basis: Floats, x: Floats) -> Floats:
    """K~(x, s), the approximate kernel values of mapped rows with all points."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(machine.kernel.matrix(sketch_rows(basis, x), sketch_points(basis, machine.points)))


def scores(machine: Machine, values: Floats) -> Floats:
    """Approximate sizes of the terms, |beta| |K~(x, s)|, with |beta| summed over the outputs."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(values) * np.abs(machine.weights).sum(axis=1)
    return np.where(np.isnan(sizes), 0.0, sizes)


def prediction_slope(machine: Machine, basis: Floats, x: Floats, outputs: Floats) -> float:
    """Ratio of the actual to the predicted output: the slope of a regression of the outputs on the sketch's.

    0 if there is no such slope, because all outputs are equal or out of range.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        predicted = approximate_kernel(machine, basis, x) @ machine.weights
        predicted, outputs = predicted - predicted.mean(axis=0), outputs - outputs.mean(axis=0)
        slope = float(np.divide(np.sum(predicted * outputs), np.sum(predicted * predicted)))
    return slope if np.isfinite(slope) else 0.0


def tug_of_war(machine: Machine, sizes: Floats, count: int) -> Positions:
    """The first `count` points by descending score, balanced between positive and negative weights.

    With one output, the next point comes from the sign whose cumulative weight is smaller, so that the weights cancel
    and the kernel values decide the sign of the partial sum. With several outputs all share one order, by score alone.
    """
    if machine.n_outputs > 1:
        return np.argsort(-sizes, kind="stable")[:count]
    weights = machine.weights[:, 0]
    sides = [side[np.argsort(-sizes[side], kind="stable")] for side in map(np.flatnonzero, (weights > 0, weights <= 0))]
    # Sorting by the cumulative weight before each point merges the two sides so that their sums stay balanced.
    before = [np.cumsum(np.abs(weights[side])) - np.abs(weights[side]) for side in sides]
    return np.concatenate(sides)[np.argsort(np.concatenate(before), kind="stable")][:count]

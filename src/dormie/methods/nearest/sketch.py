"""Rows and points in few coordinates, and the order of terms that these suggest (DeCoste & Mazzoni 2003).

Along a basis of p directions (a PCA of the support vectors) a row x becomes (z, 0, r), a point s (z', r', 0), r and r'
being the lengths of what lies outside: lengths are kept, inner products are those of the components, and any kernel of
the two approximates K(x, s) at p/d of its cost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine

Indices = npt.NDArray[np.intp]


def principal_directions(points: Floats, p: int) -> Floats:
    """The p directions along which the points (not centred) have most of their length, p x d, orthonormal."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = points.T @ points
    if not np.isfinite(squares).all():
        raise ValueError("the points are so large that their squares overflow: scale the features first")
    _, directions = np.linalg.eigh(squares)
    return np.ascontiguousarray(directions[:, ::-1].T[:p])


def sketch_rows(basis: Floats, x: Floats) -> Floats:
    """(z, 0, r) of mapped rows."""
    z, outside = _inside_and_outside(basis, x)
    return np.column_stack([z, np.zeros(len(x)), outside])


def sketch_points(basis: Floats, s: Floats) -> Floats:
    """(z, r, 0) of points."""
    z, outside = _inside_and_outside(basis, s)
    return np.column_stack([z, outside, np.zeros(len(s))])


def _inside_and_outside(basis: Floats, u: Floats) -> tuple[Floats, Floats]:
    z = u @ basis.T
    outside = np.einsum("ij,ij->i", u, u) - np.einsum("ij,ij->i", z, z)
    return z, np.sqrt(np.maximum(outside, 0))


def foreseen(machine: Machine, basis: Floats, x: Floats) -> Floats:
    """About what the kernel values of mapped rows are: K~(x, s)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(machine.kernel.matrix(sketch_rows(basis, x), sketch_points(basis, machine.points)))


def scores(machine: Machine, values: Floats) -> Floats:
    """About how large terms are: |beta| K~(x, s), the weights of all outputs together."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(values) * np.abs(machine.weights).sum(axis=1)
    return np.where(np.isnan(sizes), 0.0, sizes)


def foresight(machine: Machine, basis: Floats, x: Floats, outputs: Floats) -> float:
    """How many times what is foreseen of the outputs of mapped rows they are: the slope of a line through both.

    0 where nothing is foreseen: all outputs are the same, or out of range.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = foreseen(machine, basis, x) @ machine.weights
        sums, outputs = sums - sums.mean(axis=0), outputs - outputs.mean(axis=0)
        slope = float(np.divide(np.sum(sums * outputs), np.sum(sums * sums)))
    return slope if np.isfinite(slope) else 0.0


def tug_of_war(machine: Machine, sizes: Floats, count: int) -> Indices:
    """The first `count` points in the order of their scores.

    Of one output, the next point is of the sign whose weights have come to less so far: so the terms themselves show
    which way the sum leans. With several outputs there is one order for all, by score alone.
    """
    if machine.n_outputs > 1:
        return np.argsort(-sizes, kind="stable")[:count]
    weights = machine.weights[:, 0]
    sides = [side[np.argsort(-sizes[side], kind="stable")] for side in map(np.flatnonzero, (weights > 0, weights <= 0))]
    # A point is due when the weight before it on its side is the least there is: a merge of two sorted lists.
    before = [np.cumsum(np.abs(weights[side])) - np.abs(weights[side]) for side in sides]
    return np.concatenate(sides)[np.argsort(np.concatenate(before), kind="stable")][:count]

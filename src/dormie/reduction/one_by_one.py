"""Vectors extracted one after the other, as Burges and Scholkopf's first phase does.

Each vector is placed to take the most of what its predecessors leave of w: the residual is a kernel machine itself,
over the points and the vectors so far, and its best single vector is found like any reduced set. Several outputs count
the same, each by the share of its own residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dormie.known import Known
from dormie.landmarks import Expansion
from dormie.machine import Floats, Machine
from dormie.reduction.norm import Norm

_MOST_STEPS = 60
_LEAST = 1e-12  # of |w|^2: an output of which less is left is done


def extract(machine: Machine, n: int, say: Callable[[int], None]) -> Floats:
    """n vectors, in the order they were found."""
    expansion = Expansion.of(machine)
    vectors = np.empty((0, machine.n_features))
    for k in range(n):
        residual = _residual(expansion, vectors)
        found = _most_telling(residual)
        if residual.squared_norm.any():
            found = Norm(residual.machine, [1], residual).minimise(found, lambda _: None, _MOST_STEPS)
        vectors = np.vstack([vectors, found])
        say(k + 1)
    return vectors


def _residual(expansion: Expansion, vectors: Floats) -> Expansion:
    """What the vectors leave of w. Nothing is summed over all pairs of points again."""
    if not len(vectors):
        return expansion
    machine = expansion.machine
    [weights] = Norm(machine, [len(vectors)], expansion).weights(vectors)
    seen = Known.by(machine, vectors).values
    left = expansion.squared_norm - np.einsum("kc,kc->c", weights, seen)
    points = np.vstack([machine.points, vectors])
    return replace(
        expansion,
        machine=replace(machine, points=points, weights=np.vstack([machine.weights, -weights])),
        corr=np.vstack([expansion.corr, seen]) - machine.kernel.matrix(points, vectors) @ weights,
        squared_norm=np.where(left > _LEAST * expansion.squared_norm, left, 0.0),
    )


def _most_telling(residual: Expansion) -> Floats:
    """The point that takes the most of the residual, alone."""
    points, sizes = residual.machine.points, residual.squared_norm
    gains = residual.corr**2 @ np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    own = residual.machine.kernel.diagonal(points)
    best = int(np.argmax(np.divide(gains, own, out=np.zeros_like(gains), where=own > 0)))
    return np.asarray(points[best : best + 1])

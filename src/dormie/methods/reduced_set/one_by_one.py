"""Vectors extracted one after the other, as Burges and Scholkopf's first phase does.

Each vector is placed to take the most of what its predecessors leave of w: the residual is a kernel machine itself,
over the points and the vectors so far, and its best single vector is found like any reduced set. Several outputs count
the same, each by the share of its own residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.reduced_set.norm import Norm
from dormie.numerics.feature_space import FeatureVector, InnerProducts

_MOST_STEPS = 60
_LEAST = 1e-12  # of |w|^2: an output of which less is left is done


def extract(machine: Machine, n: int, say: Callable[[int], None]) -> Floats:
    """n vectors, in the order they were found."""
    w = FeatureVector.of(machine)
    vectors = np.empty((0, machine.n_features))
    for k in range(n):
        residual = _residual(w, vectors)
        found = _most_telling(residual)
        if residual.squared_norm.any():
            found = Norm(residual.machine, [1], residual).minimise(found, lambda _: None, _MOST_STEPS)
        vectors = np.vstack([vectors, found])
        say(k + 1)
    return vectors


def _residual(w: FeatureVector, vectors: Floats) -> FeatureVector:
    """What the vectors leave of w. Nothing is summed over all pairs of points again."""
    if not len(vectors):
        return w
    machine = w.machine
    [weights] = Norm(machine, [len(vectors)], w).weights(vectors)
    seen = InnerProducts.with_w(machine, vectors).values
    left = w.squared_norm - np.einsum("kc,kc->c", weights, seen)
    points = np.vstack([machine.points, vectors])
    return replace(
        w,
        machine=replace(machine, points=points, weights=np.vstack([machine.weights, -weights])),
        products=np.vstack([w.products, seen]) - machine.kernel.matrix(points, vectors) @ weights,
        squared_norm=np.where(left > _LEAST * w.squared_norm, left, 0.0),
    )


def _most_telling(residual: FeatureVector) -> Floats:
    """The point that takes the most of the residual, alone."""
    points, sizes = residual.machine.points, residual.squared_norm
    gains = residual.products**2 @ np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    own = residual.machine.kernel.diagonal(points)
    best = int(np.argmax(np.divide(gains, own, out=np.zeros_like(gains), where=own > 0)))
    return np.asarray(points[best : best + 1])

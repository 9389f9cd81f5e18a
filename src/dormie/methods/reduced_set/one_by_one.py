"""Vectors extracted one by one, as in the first phase of Burges and Schölkopf.

Each vector minimises the residual, the part of w that its predecessors do not represent. The residual is a kernel
machine itself, over the points and the vectors so far, and its best single vector is a reduced set of size 1. Several
outputs count equally, each relative to its own residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.reduced_set.norm import Norm
from dormie.numerics.feature_space import FeatureVector, InnerProducts

_MOST_STEPS = 60
_LEAST = 1e-12  # relative to |w|^2: an output with a smaller residual is done


def extract(machine: Machine, n: int, say: Callable[[int], None]) -> Floats:
    """n vectors, in the order in which they were found."""
    w = FeatureVector.of(machine)
    vectors = np.empty((0, machine.n_features))
    for k in range(n):
        residual = _residual(w, vectors)
        found = _best_point(residual)
        if residual.squared_norm.any():
            found = Norm(residual.machine, [1], residual).minimise(found, lambda _: None, _MOST_STEPS)
        vectors = np.vstack([vectors, found])
        say(k + 1)
    return vectors


def _residual(w: FeatureVector, vectors: Floats) -> FeatureVector:
    """The residual of w after these vectors, updated without another sum over all pairs of points."""
    if not len(vectors):
        return w
    machine = w.machine
    [weights] = Norm(machine, [len(vectors)], w).weights(vectors)
    products = InnerProducts.with_w(machine, vectors).values
    left = w.squared_norm - np.einsum("kc,kc->c", weights, products)
    points = np.vstack([machine.points, vectors])
    return replace(
        w,
        machine=replace(machine, points=points, weights=np.vstack([machine.weights, -weights])),
        products=np.vstack([w.products, products]) - machine.kernel.matrix(points, vectors) @ weights,
        squared_norm=np.where(left > _LEAST * w.squared_norm, left, 0.0),
    )


def _best_point(residual: FeatureVector) -> Floats:
    """The single point that reduces the residual most."""
    points, sizes = residual.machine.points, residual.squared_norm
    gains = residual.products**2 @ np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    own = residual.machine.kernel.diagonal(points)
    best = int(np.argmax(np.divide(gains, own, out=np.zeros_like(gains), where=own > 0)))
    return np.asarray(points[best : best + 1])

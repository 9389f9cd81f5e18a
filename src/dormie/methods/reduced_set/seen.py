"""What vectors see of w, g = <phi(Z), w>, and how it changes as they move: the two sums over all points of `norm.py`.

`TileSums` takes both from the native core in one pass: for an RBF kernel sum_i beta_i K(z, s_i) s_i is the output of a
machine with weights beta_i s_i. That is one output a feature, and as many again for every output of w, so machines of
many outputs use `Products`, plain matrix products, instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.machine.rules import Value
from dormie.methods.reduced_set.slopes import Slopes
from dormie.numerics.evaluate import FullSum

_BLOCK = 4096
_MOST_SUMS = 512  # from here on matrix products are faster


class Seen(Protocol):
    """Of vectors as they were given last."""

    def look(self, vectors: Floats) -> Floats:
        """g, one row a vector, one column an output."""

    def pull(self, by_g: Floats) -> Floats:
        """The gradient by the vectors of a loss with these derivatives by g."""


def seen(machine: Machine, kernel: Kernel, weights: Floats) -> Seen:
    """w = sum_i weights_i phi(s_i) over the machine's points, with a multiple of its kernel."""
    sums = weights.shape[1] * (machine.n_features + 1)
    if isinstance(kernel, RBF) and sums <= _MOST_SUMS:
        return TileSums(machine, kernel, weights)
    return Products(kernel, machine.points, weights)


class Products:
    """By matrix products: any kernel, any number of outputs."""

    def __init__(self, kernel: Kernel, points: Floats, weights: Floats) -> None:
        self._kernel = kernel
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(points), _BLOCK)]
        self._parts = [(points[block], weights[block]) for block in blocks]
        self._slopes: list[Slopes] = []

    def look(self, vectors: Floats) -> Floats:
        self._slopes = [Slopes.of(self._kernel, points, vectors) for points, _ in self._parts]
        found = [slopes.values.T @ weights for slopes, (_, weights) in zip(self._slopes, self._parts, strict=True)]
        return np.asarray(np.sum(found, axis=0))

    def pull(self, by_g: Floats) -> Floats:
        parts = zip(self._slopes, self._parts, strict=True)
        return np.asarray(np.sum([slopes.pull(weights @ by_g.T) for slopes, (_, weights) in parts], axis=0))


class TileSums:
    """By the native core: RBF kernels."""

    def __init__(self, machine: Machine, kernel: RBF, weights: Floats) -> None:
        self._outputs, self._gamma = weights.shape[1], kernel.gamma
        moments = np.einsum("io,ij->ioj", weights, machine.points).reshape(machine.n_points, -1)
        columns = np.hstack([weights, moments])
        bias, rule = np.zeros(columns.shape[1]), Value(flat=False)
        self._full_sum = FullSum(replace(machine, weights=columns, bias=bias, rule=rule, input_map=None))

    def look(self, vectors: Floats) -> Floats:
        sums = self._full_sum.outputs(vectors)
        self._vectors, self._g = vectors, sums[:, : self._outputs]
        self._moments = sums[:, self._outputs :].reshape(len(vectors), self._outputs, -1)
        return self._g

    def pull(self, by_g: Floats) -> Floats:
        total = (by_g * self._g).sum(axis=1, keepdims=True)
        return np.asarray(2 * self._gamma * (np.einsum("ko,koj->kj", by_g, self._moments) - total * self._vectors))

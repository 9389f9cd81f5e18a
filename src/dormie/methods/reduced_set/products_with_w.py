"""Inner products g = <phi(Z), w> of vectors that move, and the gradient of a loss of g: both are sums over all points.

`TileProducts` computes both with the native core in one pass: for an RBF kernel, sum_i beta_i K(z, s_i) s_i is the
output of a machine with weights beta_i s_i. This takes one output for each feature and each output of w, so machines
with many outputs use `MatrixProducts` instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.machine.rules import Value
from dormie.methods.reduced_set.derivatives import KernelDerivatives
from dormie.numerics.evaluate import FullSum

_BLOCK = 4096
_MOST_SUMS = 512  # with more, matrix products are faster


class ProductsWithW(Protocol):
    """Inner products with w; `gradient` is at the vectors last passed to `values`."""

    def values(self, vectors: Floats) -> Floats:
        """g, one row for each vector, one column for each output."""

    def gradient(self, by_g: Floats) -> Floats:
        """The gradient with respect to the vectors of a loss with derivatives `by_g`."""


def products_with_w(machine: Machine, kernel: Kernel, weights: Floats) -> ProductsWithW:
    """The products with w = sum_i weights_i phi(s_i) over the machine's points; `kernel` is a multiple of its own."""
    sums = weights.shape[1] * (machine.n_features + 1)
    if isinstance(kernel, RBF) and sums <= _MOST_SUMS:
        return TileProducts(machine, kernel, weights)
    return MatrixProducts(kernel, machine.points, weights)


class MatrixProducts:
    """Products from matrix products, for any kernel and any number of outputs."""

    def __init__(self, kernel: Kernel, points: Floats, weights: Floats) -> None:
        self._kernel = kernel
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(points), _BLOCK)]
        self._parts = [(points[block], weights[block]) for block in blocks]
        self._derivatives: list[KernelDerivatives] = []

    def values(self, vectors: Floats) -> Floats:
        self._derivatives = [KernelDerivatives.of(self._kernel, points, vectors) for points, _ in self._parts]
        parts = zip(self._derivatives, self._parts, strict=True)
        return np.asarray(np.sum([part.values.T @ weights for part, (_, weights) in parts], axis=0))

    def gradient(self, by_g: Floats) -> Floats:
        parts = zip(self._derivatives, self._parts, strict=True)
        return np.asarray(np.sum([part.gradient(weights @ by_g.T) for part, (_, weights) in parts], axis=0))


class TileProducts:
    """Products from the native core, for RBF kernels."""

    def __init__(self, machine: Machine, kernel: RBF, weights: Floats) -> None:
        self._outputs, self._gamma = weights.shape[1], kernel.gamma
        moments = np.einsum("io,ij->ioj", weights, machine.points).reshape(machine.n_points, -1)
        columns = np.hstack([weights, moments])
        bias, rule = np.zeros(columns.shape[1]), Value(flat=False)
        self._full_sum = FullSum(replace(machine.bare, weights=columns, bias=bias, rule=rule))

    def values(self, vectors: Floats) -> Floats:
        sums = self._full_sum.outputs(vectors)
        self._vectors, self._g = vectors, sums[:, : self._outputs]
        self._moments = sums[:, self._outputs :].reshape(len(vectors), self._outputs, -1)
        return self._g

    def gradient(self, by_g: Floats) -> Floats:
        total = (by_g * self._g).sum(axis=1, keepdims=True)
        return np.asarray(2 * self._gamma * (np.einsum("ko,koj->kj", by_g, self._moments) - total * self._vectors))

"""The certified distance rho = |w - w'| of given vectors, and the weights that minimise it.

The derivation, rounding included, is in `dormie.methods.reduced_set.stage`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.base import needs_vectors, require
from dormie.methods.fitting import CannotFit
from dormie.numerics.cholesky import cholesky, solve_gram
from dormie.numerics.feature_space import FeatureVector, InnerProducts
from dormie.numerics.rounding import UNIT, kernel_value_error

_UP = 1 + 1e-9  # covers the rounding of the bounds themselves
_RIDGES = (1e-15, 1e-13, 1e-11, 1e-9, 1e-7)  # relative to the mean K(z, z)
_FLOAT_ERROR = 2.0**-20  # approximate rounding error of a sum in float32, relative to the sizes of its terms


@dataclass(frozen=True)
class Projection:
    """Vectors, their inner products with w and with each other, and bounds on the errors of these."""

    w: FeatureVector
    points: Floats
    products: InnerProducts
    gram: Floats
    value_error: float  # bound on the error of an entry of the Gram matrix

    @classmethod
    def of(cls, machine: Machine, points: Any, w: FeatureVector | None) -> Projection:
        require(needs_vectors("reduced_set", machine))
        points = np.array(points, dtype=np.float64, order="C")
        if points.ndim != 2 or points.shape[1] != machine.n_features or not len(points):
            raise ValueError(f"reduced_set: vectors must be n x {machine.n_features}, n >= 1, got {points.shape}")
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused where it is used
            gram = machine.kernel.matrix(points, points)
            value_error = kernel_value_error(machine.kernel, points, points)
            return cls(w or FeatureVector.of(machine), points, InnerProducts.with_w(machine, points), gram, value_error)

    def checked(self, weights: Any, level: int) -> Floats:
        """The weights of a level as float64, n_j x c; a vector counts as one column."""
        array = np.array(weights, dtype=np.float64, order="C")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != self.w.machine.n_outputs or len(array) > len(self.points):
            raise ValueError(
                f"reduced_set: the weights of level {level} must have a column for each of the "
                f"{self.w.machine.n_outputs} outputs and at most {len(self.points)} rows, got {array.shape}"
            )
        return array

    def rho(self, gamma: Floats) -> Floats:
        """Upper bound on |w - w'| of every output, where w' has weights gamma on the first vectors."""
        n, sizes = len(gamma), np.abs(gamma)
        g, g_error = self.products.values[:n], self.products.errors[:n]
        with np.errstate(over="ignore", invalid="ignore"):
            h, h_sizes = self.gram[:n, :n] @ gamma, np.abs(self.gram[:n, :n]) @ sizes
            terms = np.vstack([self.w.squared_norm, -gamma * (2 * g - h)])
            if not (np.abs(terms) < 1e200).all():
                raise CannotFit("reduced_set: weights or vectors are so large that nothing can be certified")
            errors = 2 * g_error + self.value_error * sizes.sum(axis=0) + UNIT * (8 * np.abs(g) + (n + 8) * h_sizes)
            error = self.w.squared_norm_error + np.einsum("kc,kc->c", sizes, errors)
        rho2 = np.array([math.fsum(column) for column in terms.T])
        return np.asarray(np.sqrt(np.maximum(rho2 * (1 + UNIT) + error * _UP, 0)) * _UP)

    def best_weights(self, sizes: Sequence[int]) -> list[Floats]:
        """For each size the weights K^-1 g, with the ridge for which rho plus the float32 rounding error is least.

        Without a ridge, nearly dependent vectors have huge weights of both signs, and float32 loses the sum.
        """
        found = [weights for ridge in _RIDGES if (weights := self._solved(sizes, ridge)) is not None]
        if not found:
            raise CannotFit("reduced_set: the vectors' kernel values are not finite")
        return [self._least(candidates) for candidates in zip(*found, strict=True)]

    def _solved(self, sizes: Sequence[int], ridge: float) -> list[Floats] | None:
        """The weights with this ridge; None if the matrix is not positive definite."""
        n = len(self.points)
        if not np.isfinite(self.gram).all():
            return None
        factor, positive = cholesky(self.gram + ridge * (np.trace(self.gram) / n) * np.eye(n))
        if positive < n:
            return None
        return [solve_gram(factor[:k, :k], self.products.values[:k]) for k in sizes]

    def _least(self, candidates: Sequence[Floats]) -> Floats:
        """For each output the best candidate weights: the radius is at most sqrt(K(x,x)) times the score used here."""
        lengths = np.sqrt(np.diagonal(self.gram))[: len(candidates[0])]
        scores = [self.rho(gamma) + _FLOAT_ERROR * (lengths @ np.abs(gamma)) for gamma in candidates]
        best = np.argmin(scores, axis=0)
        return np.stack([candidates[i][:, o] for o, i in enumerate(best)], axis=1)

"""The paper's objective: the distance in feature space, rho = |w - w'|, which bounds the error of any row.

With the best weights, rho^2 = |w|^2 - g' K_zz^-1 g, where g = <phi(Z), w>. This is deterministic and smooth, so L-BFGS
minimises it. With several outputs, rho^2 / |w|^2 is summed over the outputs. With several sizes, the logarithms of
these sums are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.reduced_set.derivatives import KernelDerivatives, unit_kernel
from dormie.methods.reduced_set.products_with_w import products_with_w
from dormie.methods.reduced_set.weights import positive_factor
from dormie.numerics.cholesky import solve_gram
from dormie.numerics.feature_space import FeatureVector, InnerProducts

_MOST_STEPS = 300
_LEAST_PROGRESS = 1e-7  # of the loss in one step; the first, tentative steps may bring as little as 1e-4
_RIDGE = 1e-10  # for kernels with K(s, s) about 1
_OVERHEAD = 40  # multiply-adds of a kernel value besides its inner product
_LEAST = 1e-13  # relative to |w|^2: smaller values are rounding errors


class Norm:
    """The objective "norm" for nested sizes."""

    def __init__(self, machine: Machine, sizes: Sequence[int], w: FeatureVector | None = None) -> None:
        self.sizes = sizes
        self._machine = machine
        self.kernel, scale = unit_kernel(machine.kernel, machine.points)
        squared = (w or FeatureVector.of(machine)).squared_norm
        share = np.divide(scale, squared, out=np.zeros_like(squared), where=squared > 0)
        # These weights make every output's |w|^2 equal to 1.
        self._products = products_with_w(machine, self.kernel, machine.weights * np.sqrt(share))
        self._outputs = int((squared > 0).sum())

    def minimise(self, start: Floats, say: Callable[[int], None], most: int = _MOST_STEPS) -> Floats:
        """Vectors with a small rho, optimised from `start`."""
        from scipy.optimize import minimize  # here: it takes longer to import than all of dormie

        def flat_loss(flat: Floats) -> tuple[float, Floats]:
            value, gradient = self.loss(flat.reshape(start.shape))
            return value, gradient.ravel()

        steps = itertools.count(1)
        found = minimize(
            flat_loss,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=lambda _: say(next(steps)),
            options={"maxiter": most, "maxcor": 20, "ftol": _LEAST_PROGRESS},
        )
        return np.asarray(found.x.reshape(start.shape))

    def weights(self, vectors: Floats) -> list[Floats]:
        """The weights of least rho for every size."""
        return projections(self._machine, vectors, self.sizes)

    def loss(self, vectors: Floats) -> tuple[float, Floats]:
        """The sum over sizes of log rho^2, and its gradient with respect to the vectors."""
        g = self._products.values(vectors)
        own = KernelDerivatives.of(self.kernel, vectors, vectors)
        value, by_g, by_own = self._losses(g, own.values)
        return value, self._products.gradient(by_g) + own.gradient(2 * by_own)

    def _losses(self, g: Floats, gram: Floats) -> tuple[float, Floats, Floats]:
        """Log rho^2, and its derivatives with respect to g and to the vectors' Gram matrix."""
        gram = gram + _RIDGE * np.eye(len(gram))
        value, by_g, by_gram = 0.0, np.zeros_like(g), np.zeros_like(gram)
        for n in self.sizes:
            weights = solve_gram(positive_factor(gram[:n, :n]), g[:n])
            left = self._outputs - float((g[:n] * weights).sum())
            if left <= _LEAST * self._outputs:
                value += np.log(_LEAST * max(self._outputs, 1))
                continue
            value += np.log(left)
            by_g[:n] -= 2 / left * weights
            by_gram[:n, :n] += weights @ weights.T / left
        return value, by_g, by_gram


def projections(machine: Machine, vectors: Floats, sizes: Sequence[int]) -> list[Floats]:
    """For every size n, the weights of the first n vectors with the least distance to w."""
    gram = machine.kernel.matrix(vectors, vectors)
    gram[np.diag_indices_from(gram)] *= 1 + _RIDGE
    g = InnerProducts.with_w(machine, vectors).values
    return [solve_gram(positive_factor(gram[:n, :n]), g[:n]) for n in sizes]


def step_work(machine: Machine, n: int) -> int:
    """Approximate multiply-adds of one optimisation step of n vectors."""
    return machine.n_points * n * (2 * machine.n_features + machine.n_outputs + _OVERHEAD)

"""Logarithms of sums of RBF terms, whose terms may all be below the range of float64.

With exponents e_i = -gamma |x - s_i|^2 and m the largest of those with a weight, log sum_i w_i exp(e_i) is
m + log sum_i w_i exp(e_i - m). Differences are squared and summed, so that an exponent is off by (d + 5) units of
itself, and so is the logarithm of a mean of them, with n + 8 units more for the sum: far out, that is next to nothing
of a logarithm, however small the density is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF
from dormie.numerics.reference import blocks


def has_log_sums(machine: Machine) -> bool:
    """Whether the sums of the machine can be worked out so: RBF terms of weights that are not negative, and no bias."""
    of_rbf = isinstance(machine.kernel, RBF) and not machine.has_sparse_points
    return of_rbf and not machine.bias.any() and bool((machine.weights >= 0).all())


def log_sums(machine: Machine, rows: Any) -> Floats:
    """The logarithm of every output of checked rows."""
    from scipy.spatial.distance import cdist  # here: it takes longer to import than all of dormie

    assert isinstance(machine.kernel, RBF)
    result = np.empty((rows.shape[0], machine.n_outputs))
    for block, part in blocks(machine, rows):
        with np.errstate(over="ignore"):
            exponents = -machine.kernel.gamma * cdist(part, machine.points, "sqeuclidean")
        for output, weights in enumerate(machine.weights.T):
            result[block, output] = _of_terms(exponents[:, weights > 0], weights[weights > 0])
    return result


def _of_terms(exponents: Floats, weights: Floats) -> Floats:
    """log sum_i w_i exp(e_i) of every row; minus infinity where there is no term."""
    largest = exponents.max(axis=1, initial=-np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shifted = np.exp(exponents - np.where(np.isfinite(largest), largest, 0.0)[:, None])
        return np.asarray(np.log(shifted @ weights) + largest)

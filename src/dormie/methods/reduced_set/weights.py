"""The least-squares weights of given vectors, for several nested sizes at once.

A small ridge keeps the weights bounded if vectors are nearly equal. The normal equations square the condition number;
a step of iterative refinement, with residuals of the original problem, recovers the lost accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dormie.machine import Floats
from dormie.methods.fitting import CannotFit
from dormie.numerics.cholesky import cholesky, solve_gram

_FIRST_SHIFT = 1e-15  # relative to the diagonal, for a matrix that is singular as computed

# Kernel values (rows x vectors) and targets (rows x outputs), block by block: there may be too many rows for memory.
Blocks = Callable[[], Iterable[tuple[Floats, Floats]]]


def positive_factor(matrix: Floats, first_shift: float = _FIRST_SHIFT) -> Floats:
    """The Cholesky factor of a positive semi-definite matrix, with the diagonal raised as little as needed.

    first_shift  the least share by which the diagonal is raised, if at all: the relative rounding of the matrix
    """
    matrix = matrix.T  # the same matrix in the order that LAPACK wants, which saves a copy
    shift = 0.0
    while True:
        factor, rank = cholesky(matrix + shift * np.diag(np.diagonal(matrix)) if shift else matrix)
        if rank == len(matrix):
            return factor
        shift = 10 * shift or first_shift
        if shift > 1:
            raise CannotFit("the kernel matrix of the vectors is not positive semi-definite")


def least_squares(blocks: Blocks, sizes: Sequence[int], ridge: float) -> list[Floats]:
    """For every size n the weights of the first n vectors with the least |values w - targets|^2 + ridge |w|^2."""
    normal, right = _normal_equations(blocks)
    normal[np.diag_indices_from(normal)] += ridge
    factors = [positive_factor(normal[:n, :n]) for n in sizes]
    weights = [solve_gram(factor, right[:n]) for n, factor in zip(sizes, factors, strict=True)]
    residuals = _residuals(blocks, weights, ridge)
    return [w + solve_gram(factor, rest) for w, factor, rest in zip(weights, factors, residuals, strict=True)]


def _normal_equations(blocks: Blocks) -> tuple[Floats, Floats]:
    """V'V and V'T, summed over the blocks."""
    parts = ((values.T @ values, values.T @ targets) for values, targets in blocks())
    normal, right = next(parts)
    for more_normal, more_right in parts:
        normal += more_normal
        right += more_right
    return normal, right


def _residuals(blocks: Blocks, weights: Sequence[Floats], ridge: float) -> list[Floats]:
    """The residual of the normal equations for the weights of each size: 0 at the minimum."""
    residuals = [-ridge * w for w in weights]
    for values, targets in blocks():
        for w, rest in zip(weights, residuals, strict=True):
            part = values[:, : len(w)]
            rest += part.T @ (targets - part @ w)
    return residuals

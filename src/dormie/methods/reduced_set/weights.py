"""The best weights of given vectors, in closed form, for several nested sizes at once.

Least squares with a little ridge, which keeps the weights from growing without bound where vectors are nearly alike.
The normal equations square the condition of the problem; steps of refinement, with the residual taken on the problem
itself, win back what that loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dormie.machine import Floats
from dormie.numerics.cholesky import cholesky, solve_gram

_REFINEMENTS = 2
_FIRST_SHIFT = 1e-15  # of the diagonal, where a matrix is singular as computed

# Kernel values (rows x vectors) and targets (rows x outputs), block by block: more rows than fit into memory at once.
Blocks = Callable[[], Iterable[tuple[Floats, Floats]]]


def positive_factor(matrix: Floats) -> Floats:
    """The Cholesky factor of a positive semi-definite matrix, its diagonal raised as little as that takes."""
    shift = 0.0
    while True:
        factor, rank = cholesky(matrix + shift * np.diag(np.diagonal(matrix)))
        if rank == len(matrix):
            return factor
        shift = 10 * shift or _FIRST_SHIFT
        if shift > 1:
            raise ValueError("the kernel matrix of the vectors is not positive semi-definite")


def least_squares(blocks: Blocks, sizes: Sequence[int], ridge: float) -> list[Floats]:
    """For every size n the weights of the first n vectors with the least |values w - targets|^2 + ridge |w|^2."""
    normal, right = _normal_equations(blocks)
    normal[np.diag_indices_from(normal)] += ridge
    factors = [positive_factor(normal[:n, :n]) for n in sizes]
    weights = [solve_gram(factor, right[:n]) for n, factor in zip(sizes, factors, strict=True)]
    for _ in range(_REFINEMENTS):
        left = _left_over(blocks, weights, ridge)
        weights = [w + solve_gram(factor, rest) for w, factor, rest in zip(weights, factors, left, strict=True)]
    return weights


def _normal_equations(blocks: Blocks) -> tuple[Floats, Floats]:
    parts = ((values.T @ values, values.T @ targets) for values, targets in blocks())
    normal, right = next(parts)
    for more_normal, more_right in parts:
        normal += more_normal
        right += more_right
    return normal, right


def _left_over(blocks: Blocks, weights: Sequence[Floats], ridge: float) -> list[Floats]:
    """The gradient that every size's weights leave: 0 at the minimum."""
    left = [-ridge * w for w in weights]
    for values, targets in blocks():
        for w, rest in zip(weights, left, strict=True):
            part = values[:, : len(w)]
            rest += part.T @ (targets - part @ w)
    return left

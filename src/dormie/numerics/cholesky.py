"""Cholesky factors and triangular solves, by scipy.linalg. It is slow to import, so each function imports it itself."""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats


def cholesky(gram: Floats) -> tuple[Floats, int]:
    """The lower Cholesky factor of the largest leading block that is positive definite, and the size of that block."""
    from scipy.linalg.lapack import dpotrf  # here: it takes longer to import than all of dormie

    factor, info = dpotrf(gram, lower=True, clean=True)
    return np.asarray(factor), info - 1 if info > 0 else len(gram)


def solve_lower(factor: Floats, right: Floats) -> Floats:
    """Solve `factor @ x = right` for a lower triangular factor."""
    from scipy.linalg import solve_triangular  # here: it takes longer to import than all of dormie

    return np.asarray(solve_triangular(factor, right, lower=True))


def solve_gram(factor: Floats, right: Floats) -> Floats:
    """Solve `gram @ x = right`, given the lower Cholesky factor of the Gram matrix."""
    from scipy.linalg import cho_solve  # here: it takes longer to import than all of dormie

    return np.asarray(cho_solve((factor, True), right))

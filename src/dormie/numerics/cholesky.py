"""Triangular factors, from scipy.linalg: imported when first used, because it takes longer than all of dormie."""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats


def cholesky(gram: Floats) -> tuple[Floats, int]:
    """The lower Cholesky factor of as many leading rows as are positive definite, and how many those are."""
    from scipy.linalg.lapack import dpotrf  # here: it takes longer to import than all of dormie

    factor, info = dpotrf(gram, lower=True, clean=True)
    return np.asarray(factor), info - 1 if info > 0 else len(gram)


def solve_lower(factor: Floats, right: Floats) -> Floats:
    """What a lower triangular matrix takes to the right-hand side."""
    from scipy.linalg import solve_triangular  # here: it takes longer to import than all of dormie

    return np.asarray(solve_triangular(factor, right, lower=True))


def solve_gram(factor: Floats, right: Floats) -> Floats:
    """What the matrix with this lower Cholesky factor takes to the right-hand side."""
    from scipy.linalg import cho_solve  # here: it takes longer to import than all of dormie

    return np.asarray(cho_solve((factor, True), right))

"""The linear SVM of the paper's filter, trained on rows and the signs that the machine gives them.

With rows x of mean square length 1, from their mean, and signs y it minimises

    |w|^2 / 2 + C sum_i max(0, 1 - y_i (w.x_i + b))^2,

the squared hinge, which is smooth, so that L-BFGS needs only products with the rows.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats
from dormie.machine.typing import Booleans

_C = 1.0  # of 0.01 to 1,000 with about the fewest errors on 4,000 held-out digits, four pairs of MNIST digits
_ITERATIONS = 500


def linear_svm(x: Floats, up: Booleans) -> tuple[Floats, float]:
    """Vector and bias of a linear SVM that is positive where `up`; a constant if all rows are equal or of one sign."""
    from scipy.optimize import minimize  # here: it takes longer to import than all of dormie

    mean = x.mean(axis=0)
    centered = x - mean
    scale = float(np.sqrt(np.einsum("ij,ij->", centered, centered) / len(x)))
    if scale == 0 or not np.isfinite(scale) or up.all() or not up.any():
        return np.zeros(x.shape[1]), float(np.mean(np.where(up, 1.0, -1.0)))
    rows, y = centered / scale, np.where(up, 1.0, -1.0)

    def loss(wb: Floats) -> tuple[float, Floats]:
        short = np.maximum(1 - y * (rows @ wb[:-1] + wb[-1]), 0)
        pull = -2 * _C * y * short
        gradient = np.append(wb[:-1] + pull @ rows, pull.sum())
        return float(wb[:-1] @ wb[:-1] / 2 + _C * (short @ short)), gradient

    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS}).x
    vector = found[:-1] / scale
    return vector, float(found[-1] - vector @ mean)

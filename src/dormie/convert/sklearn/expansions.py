"""Transformers whose outputs are kernel expansions, and linear models behind them: KernelPCA and Nystroem.

Nystroem gives z = N k(x), with k(x) the kernel values of x and the landmarks. KernelPCA centers kernel values by the
mean over the row and the means over the training rows, both over the points that it has anyway, before it projects:

    z_t = sum_j V_jt (k_j(x) - mean_i k_i(x) - m_j + m) = sum_j (V_jt - mean_i V_it) k_j(x) - sum_j V_jt (m_j - m),

so z is a sum over the points, too, and a linear model of z is another: f(x) = A z + b.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from dormie.convert.sklearn.common import dense, unreadable
from dormie.convert.sklearn.kernels import named_kernel, points_for
from dormie.convert.sklearn.regression import Pairwise
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Custom, Kernel, Linear
from dormie.machine.rules import Value

_POLYNOMIAL_DEFAULTS = {"degree": 3, "coef0": 1.0}  # of sklearn.metrics.pairwise


def read_kernel_pca(model: Any) -> Machine:
    """Read the projection of a KernelPCA: a value for each component."""
    used = np.flatnonzero(model.eigenvalues_)
    projection = np.zeros_like(model.eigenvectors_, dtype=np.float64)
    projection[:, used] = model.eigenvectors_[:, used] / np.sqrt(model.eigenvalues_[used])
    means = model._centerer.K_fit_rows_ - model._centerer.K_fit_all_
    weights = projection - projection.mean(axis=0)
    return _machine(model, float(model.gamma_), model.X_fit_, weights, -means @ projection)


def read_nystroem(model: Any) -> Machine:
    """Read what Nystroem transforms rows to."""
    adapted, given = copy(model), model.kernel_params or {}
    for name in ("gamma", "degree", "coef0"):
        if getattr(model, name) is None:
            setattr(adapted, name, given.get(name, _POLYNOMIAL_DEFAULTS.get(name)))
    default = 1.0 if model.kernel == "chi2" else 1.0 / model.components_.shape[1]  # of sklearn.metrics.pairwise, too
    gamma = default if adapted.gamma is None else float(adapted.gamma)
    weights = np.asarray(model.normalization_, dtype=np.float64).T
    return _machine(adapted, gamma, model.components_, weights, np.zeros(weights.shape[1]))


def behind(step: Any, expansion: Machine, final: Machine) -> Machine:
    """The machine of a linear model whose rows are the outputs of an expansion."""
    if not isinstance(final.kernel, Linear) or final.has_sparse_points:
        raise unreadable(
            step,
            "the model behind it has a kernel of its own. Put a linear model there, or transform the rows yourself "
            "(pipeline[:-1].transform) and compile the final step (pipeline[-1])",
        )
    if final.preparation is not None:
        raise unreadable(step, "between it and the model behind it rows are changed. Put the model right behind it")
    slopes, constants = final.weights.T @ final.points, final.bias
    if final.input_map is not None:
        slopes = slopes / final.input_map.scale
        constants = constants - slopes @ final.input_map.center
    weights, bias = expansion.weights @ slopes.T, expansion.bias @ slopes.T + constants
    made = Machine(expansion.kernel, expansion.points, weights, bias, final.rule, feature_names=expansion.feature_names)
    return made.with_probability(final.probability) if final.probability is not made.probability else made


def _machine(model: Any, gamma: float, rows: Any, weights: Floats, bias: Floats) -> Machine:
    kernel = _kernel(model, gamma)
    points = dense(rows) if callable(model.kernel) else points_for(kernel, rows)
    return Machine(kernel, points, weights, bias, Value(flat=False))


def _kernel(model: Any, gamma: float) -> Kernel:
    if not callable(model.kernel):
        return named_kernel(model, gamma)
    return Custom(Pairwise(model.kernel, tuple((model.kernel_params or {}).items())))

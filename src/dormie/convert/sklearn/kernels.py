"""Kernels that scikit-learn models name by a string."""

from __future__ import annotations

from typing import Any

from dormie.convert.sklearn.common import BY_HAND, unreadable
from dormie.machine.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid


def named_kernel(model: Any, gamma: float) -> Kernel:
    """The kernel of an estimator with attributes `kernel`, `degree` and `coef0`; gamma is that of its fit."""
    match model.kernel:
        case "linear":
            return Linear()
        case "rbf":
            return RBF(gamma)
        case "poly" | "polynomial":
            return Polynomial(gamma, float(model.coef0), model.degree)
        case "sigmoid":
            return Sigmoid(gamma, float(model.coef0))
        case "precomputed":
            raise unreadable(
                model,
                "with kernel='precomputed' it has never seen the rows themselves. Fit it with the kernel function "
                f"instead (kernel=function), or {BY_HAND} with dormie.kernels.Custom(function)",
            )
        case other:
            raise unreadable(
                model,
                f"kernel {other!r} is not one of linear, poly, rbf, sigmoid. Fit it with one of these, "
                f"or {BY_HAND} with dormie.kernels.Custom(function)",
            )

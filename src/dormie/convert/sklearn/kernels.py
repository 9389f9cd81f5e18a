"""Kernels that scikit-learn models name by a string, or by a function of `sklearn.metrics.pairwise`."""

from __future__ import annotations

from typing import Any

from dormie.convert.sklearn.common import BY_HAND, dense, unreadable
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Sigmoid,
)
from dormie.machine.sparse_points import in_best_form


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
        case "laplacian":
            return Laplacian(gamma)
        case "chi2":
            return Chi2(gamma)
        case "additive_chi2":
            return AdditiveChi2()
        case "cosine":
            return Normalized(Linear())
        case "precomputed":
            raise unreadable(
                model,
                "with kernel='precomputed' it has never seen the rows themselves. Fit it with the kernel function "
                f"instead (kernel=function), or {BY_HAND} with dormie.kernels.Custom(function)",
            )
        case other:
            raise unreadable(
                model,
                f"kernel {other!r} is not one of linear, poly, rbf, sigmoid, laplacian, chi2, additive_chi2, cosine. "
                f"Fit it with one of these, or {BY_HAND} with dormie.kernels.Custom(function)",
            )


def points_for(kernel: Kernel, rows: Any) -> Any:
    """Training rows as points of a kernel, which may need dense ones."""
    return in_best_form(rows) if kernel.of_inner_products else dense(rows)


def kernel_of_function(function: Any, d: int) -> Kernel | None:
    """The kernel that a function of `sklearn.metrics.pairwise` is for d features; None for any other function."""
    if getattr(function, "__module__", None) != "sklearn.metrics.pairwise":
        return None
    match function.__name__:
        case "laplacian_kernel":
            return Laplacian(1.0 / d)
        case "chi2_kernel":
            return Chi2(1.0)
        case "additive_chi2_kernel":
            return AdditiveChi2()
        case "cosine_similarity":
            return Normalized(Linear())
        case "rbf_kernel":
            return RBF(1.0 / d)
        case "polynomial_kernel":
            return Polynomial(1.0 / d, 1.0, 3)
        case "sigmoid_kernel":
            return Sigmoid(1.0 / d, 1.0)
        case "linear_kernel":
            return Linear()
    return None

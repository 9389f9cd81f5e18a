"""Readers of scikit-learn regressors that keep all training rows: kernel ridge and Gaussian-process means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.convert.sklearn.common import ancestors, dense, unreadable
from dormie.convert.sklearn.kernels import named_kernel
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel
from dormie.machine.rules import Value
from dormie.machine.sparse_points import in_best_form


@dataclass(frozen=True)
class Pairwise:
    """A function of two sets of rows, made from kernel ridge's function of two single rows."""

    function: Callable[..., float]
    parameters: tuple[tuple[str, Any], ...]

    def __call__(self, a: Any, b: Any) -> Floats:
        parameters = dict(self.parameters)
        values = [self.function(u, v, **parameters) for u in a for v in b]
        return np.reshape(np.array(values, dtype=np.float64), (len(a), len(b)))


def read_kernel_ridge(model: Any) -> Machine:
    """Read a KernelRidge; a model fitted on a matrix of targets returns a matrix, even of one column."""
    points = dense(model.X_fit_) if callable(model.kernel) else in_best_form(model.X_fit_)
    if callable(model.kernel):
        kernel: Kernel = Custom(Pairwise(model.kernel, tuple((model.kernel_params or {}).items())))
    else:
        kernel = named_kernel(model, 1.0 / points.shape[1] if model.gamma is None else float(model.gamma))
    weights = model.dual_coef_
    return Machine(kernel, points, weights, np.zeros(1), Value(flat=weights.ndim == 1))


@dataclass(frozen=True)
class Covariance:
    """A Gaussian-process kernel between a new row and the training rows: constant + amplitude * RBF."""

    constant: float = 0.0
    amplitude: float = 0.0
    length_scale: Any = None

    def __add__(self, other: Covariance) -> Covariance:
        if self.length_scale is not None and other.length_scale is not None:
            raise ValueError("a sum of two RBF kernels is not one RBF kernel")
        length_scale = other.length_scale if self.length_scale is None else self.length_scale
        return Covariance(self.constant + other.constant, self.amplitude + other.amplitude, length_scale)

    def __mul__(self, other: Covariance) -> Covariance:
        if self.length_scale is not None and other.length_scale is not None:
            raise ValueError("a product of two RBF kernels cannot be read")
        factor, term = (self, other) if self.length_scale is None else (other, self)
        return Covariance(factor.constant * term.constant, factor.constant * term.amplitude, term.length_scale)


def covariance(kernel: Any) -> Covariance:
    """Expand a tree of sums and products of constants, white noise and one RBF kernel."""
    match ancestors(kernel):
        case ["Sum", *_]:
            return covariance(kernel.k1) + covariance(kernel.k2)
        case ["Product", *_]:
            return covariance(kernel.k1) * covariance(kernel.k2)
        case ["ConstantKernel", *_]:
            return Covariance(constant=float(kernel.constant_value))
        case ["WhiteKernel", *_]:
            # White noise is nonzero only between a training row and itself, so never for a new row, even an equal one.
            return Covariance()
        case ["RBF", *_]:
            return Covariance(amplitude=1.0, length_scale=kernel.length_scale)
        case _:
            raise ValueError(f"the kernel {kernel} is not made of RBF, ConstantKernel and WhiteKernel")


def read_gaussian_process(model: Any) -> Machine:
    """Read the mean of a GaussianProcessRegressor; a single target gives a vector, even if fitted as a matrix."""
    if not hasattr(model, "X_train_"):  # scikit-learn predicts with the prior if it is not fitted
        raise unreadable(model, "it is not fitted. Call fit first")
    between = _covariance_with_rbf(model)
    std, mean = np.atleast_1d(model._y_train_std), np.atleast_1d(model._y_train_mean)
    alpha = np.reshape(model.alpha_, (len(model.X_train_), -1)) * std
    kernel, points, input_map = _scaled(np.asarray(model.X_train_, dtype=np.float64), between.length_scale)
    bias = between.constant * alpha.sum(axis=0) + mean
    rule = Value(flat=alpha.shape[1] == 1)
    return Machine(kernel, points, between.amplitude * alpha, bias, rule, input_map)


def _covariance_with_rbf(model: Any) -> Covariance:
    try:
        between = covariance(model.kernel_)
        if between.length_scale is None:
            raise ValueError(f"there is no RBF kernel in {model.kernel_}")
    except ValueError as error:
        raise unreadable(
            model,
            f"{error}. Fit it with [constant *] RBF [+ white noise] [+ constant], or build its Machine by hand: "
            f"{_mean_by_hand(model)}",
        ) from error
    return between


def _mean_by_hand(model: Any) -> str:
    """Python code that makes a machine of any Gaussian process; its targets were centered and scaled for the fit."""
    flat = np.size(model.alpha_) == len(model.X_train_)
    return (
        "dormie.Machine(dormie.kernels.Custom(model.kernel_), model.X_train_, model.alpha_ * model._y_train_std, "
        f"model._y_train_mean, dormie.rules.Value({'' if flat else 'flat=False'}))"
    )


def _scaled(rows: Floats, length_scale: Any) -> tuple[RBF, Floats, Affine | None]:
    """The kernel, points and input map; a length scale for each feature becomes the scale of an input map."""
    if np.ndim(length_scale) == 0:
        return RBF(0.5 / float(length_scale) ** 2), rows, None
    input_map = Affine(np.zeros(rows.shape[1]), np.broadcast_to(length_scale, rows.shape[1:]))
    return RBF(0.5), input_map(rows), input_map

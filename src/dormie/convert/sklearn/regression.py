"""Readers of scikit-learn regressors that keep all training rows: kernel ridge and Gaussian-process means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.convert.sklearn.common import dense, unreadable
from dormie.convert.sklearn.covariance import Term, terms_of
from dormie.convert.sklearn.kernels import named_kernel, points_for
from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.kernels import Custom, Kernel
from dormie.machine.rules import Rule, Sign, Value


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
    if callable(model.kernel):
        points: Any = dense(model.X_fit_)
        kernel: Kernel = Custom(Pairwise(model.kernel, tuple((model.kernel_params or {}).items())))
    else:
        gamma = 1.0 / model.X_fit_.shape[1] if model.gamma is None else float(model.gamma)
        kernel = named_kernel(model, gamma)
        points = points_for(kernel, model.X_fit_)
    weights = model.dual_coef_
    return Machine(kernel, points, weights, np.zeros(1), Value(flat=weights.ndim == 1))


def read_gaussian_process(model: Any) -> Machine:
    """Read the mean of a GaussianProcessRegressor; a single target gives a vector, even if fitted as a matrix."""
    if not hasattr(model, "X_train_"):  # scikit-learn predicts with the prior if it is not fitted
        raise unreadable(model, "it is not fitted. Call fit first")
    std, mean = np.atleast_1d(model._y_train_std), np.atleast_1d(model._y_train_mean)
    alpha = np.reshape(model.alpha_, (len(model.X_train_), -1)) * std
    return _expansion(_terms_of(model), model.X_train_, alpha, mean, Value(flat=alpha.shape[1] == 1))


def _expansion(terms: list[Term], rows: Any, weights: Floats, bias: Floats, rule: Rule) -> Machine:
    """The machine of a sum of kernels over training rows, or the sum of machines with a kernel each."""
    rows = np.asarray(rows, dtype=np.float64)
    members: list[Machine] = []
    bias = bias + sum(term.constant for term in terms) * weights.sum(axis=0)
    for term in terms:
        if term.form is None:
            continue
        kernel, input_map = term.form.kernel(rows.shape[1])
        points = rows if input_map is None else input_map(rows)
        own = Value(flat=False) if members else rule
        members.append(Machine(kernel, points, term.factor * weights, 0.0 if members else bias, own, input_map))
    return members[0] if len(members) == 1 else MachineSum(members, rule, factors=[1.0] * len(members))


def read_gaussian_process_classifier(model: Any) -> Machine:
    """Read the labels of a GaussianProcessClassifier of two classes: the sign of the latent mean.

    The latent mean of a row is the sum of K(row, x_i) (t_i - pi_i) over the training rows, and class 1 only above 0.
    Probabilities depend on the latent variance too, and so do the labels of more than two classes.
    """
    binary = model.base_estimator_
    if not hasattr(binary, "pi_"):
        raise unreadable(
            model,
            "with more than two classes its labels depend on the variance of each latent function, which is no kernel "
            "expansion. Fit an SVC, or, for probabilities, a CalibratedClassifierCV of SVCs",
        )
    weights = np.asarray(binary.y_train_ - binary.pi_, dtype=np.float64)[:, None]
    return _expansion(_terms_of(binary), binary.X_train_, weights, np.zeros(1), Sign(model.classes_, zero=0))


def _terms_of(model: Any) -> list[Term]:
    try:
        terms = terms_of(model.kernel_)
        if all(term.form is None for term in terms):
            raise ValueError(f"the kernel {model.kernel_} is constant")
    except ValueError as error:
        raise unreadable(
            model,
            f"{error}. Fit it with sums of RBF, Matern (nu of 0.5, 1.5 or 2.5), RationalQuadratic and DotProduct, each "
            f"times a constant, and white noise; or build its Machine by hand: {_mean_by_hand(model)}",
        ) from error
    return terms


def _mean_by_hand(model: Any) -> str:
    """Python code that makes a machine of any Gaussian process; its targets were centered and scaled for the fit."""
    if not hasattr(model, "alpha_"):  # a classifier
        return (
            "dormie.Machine(dormie.kernels.Custom(binary.kernel_), binary.X_train_, binary.y_train_ - binary.pi_, 0.0, "
            "dormie.rules.Sign(model.classes_)) with binary = model.base_estimator_"
        )
    flat = np.size(model.alpha_) == len(model.X_train_)
    return (
        "dormie.Machine(dormie.kernels.Custom(model.kernel_), model.X_train_, model.alpha_ * model._y_train_std, "
        f"model._y_train_mean, dormie.rules.Value({'' if flat else 'flat=False'}))"
    )

"""Readers of scikit-learn's linear models: one point for each output, with a linear kernel.

A classifier answers the second of two classes only above 0, and the first of equal maxima. What a model is fitted by
does not matter, so all are read by what they have in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.sklearn.common import dense, unreadable
from dormie.machine import Machine
from dormie.machine.kernels import Linear
from dormie.machine.rules import Argmax, Probability, Rule, Score, Sign, Threshold, Value
from dormie.machine.rules.probability import Calibrated, Platt, Temperature


def read_linear_classifier(model: Any) -> Machine:
    """Read any linear classifier by its decision values."""
    labels, n_outputs = model.classes_, len(np.atleast_2d(dense(model.coef_)))
    if np.ndim(labels) != 1 or n_outputs != (1 if len(labels) == 2 else len(labels)):
        raise unreadable(model, "it gives several answers a row. Fit one model for each, and compile these")
    return _machine(model, Sign(labels, zero=0) if len(labels) == 2 else Argmax(labels))


def read_logistic_regression(model: Any) -> Machine:
    """Read a model whose probabilities are a sigmoid for two classes and the softmax for more."""
    machine = read_linear_classifier(model)
    if isinstance(machine.rule, Sign):
        return _with_sigmoids(machine)
    # Before scikit-learn 1.8 it may also have been fitted one class against the rest.
    if getattr(model, "multi_class", "auto") == "ovr" or getattr(model, "solver", "") == "liblinear":
        return _with_sigmoids(machine)
    return machine.with_probability(Probability(Temperature(machine.rule, 1.0)))


def read_gradient_descent_classifier(model: Any) -> Machine:
    """Read an SGDClassifier; with loss="log_loss" it has probabilities, those of each class against the rest."""
    machine = read_linear_classifier(model)
    return _with_sigmoids(machine) if model.loss == "log_loss" else machine


def read_linear_regressor(model: Any) -> Machine:
    """Read any linear regressor; one fitted on a matrix of targets returns a matrix."""
    return _machine(model, Value(flat=np.ndim(model.coef_) == 1))


def read_linear_one_class(model: Any) -> Machine:
    """Read an SGDOneClassSVM, which answers 1 at 0, too."""
    points = np.atleast_2d(dense(model.coef_))
    rule = Threshold(np.array([-1, 1]), Score(0.0), 0.0)
    return Machine(Linear(), points, np.ones((1, 1)), -model.offset_, rule)


def _with_sigmoids(machine: Machine) -> Machine:
    """The machine with the logistic function of each decision value for a probability, normalised over the classes."""
    rule = machine.rule
    return machine.with_probability(Probability(Calibrated(rule, (Platt(-1.0, 0.0),) * machine.n_outputs)))


def _machine(model: Any, rule: Rule) -> Machine:
    points = np.atleast_2d(dense(model.coef_))
    return Machine(Linear(), points, np.eye(len(points)), model.intercept_, rule)

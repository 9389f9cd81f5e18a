"""The readers of scikit-learn's classifiers with a threshold of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.sklearn.common import unreadable
from dormie.machine import Machine
from dormie.machine.rules import Sign, Threshold, Value


def fixed_threshold(model: Any, machine: Machine) -> Machine:
    """The machine of a FixedThresholdClassifier, given that of the model inside."""
    by_probability = _by_probability(model)
    threshold = (0.5 if by_probability else 0.0) if model.threshold == "auto" else model.threshold
    return _with_threshold(model, machine, by_probability, float(threshold), model.pos_label)


def tuned_threshold(model: Any, machine: Machine) -> Machine:
    """The machine of a TunedThresholdClassifierCV, given that of the model inside."""
    label = model._curve_scorer._get_pos_label()
    return _with_threshold(model, machine, _by_probability(model), float(model.best_threshold_), label)


def inside(model: Any) -> Any:
    """The model inside, which may have been fitted before."""
    return getattr(model, "estimator_", model.estimator)


def _by_probability(model: Any) -> bool:
    """Whether probabilities are compared with the threshold, not decision values."""
    if model.response_method == "auto":
        return hasattr(inside(model), "predict_proba")
    return bool(model.response_method == "predict_proba")


def _with_threshold(model: Any, machine: Machine, by_probability: bool, threshold: float, label: Any) -> Machine:
    """The positive class is that of values at or above the threshold, `classes_[1]` unless a label says otherwise."""
    positive = 1 if label is None else int(np.flatnonzero(np.asarray(model.classes_) == label)[0])
    if by_probability:
        if machine.probability is None or not machine.probability.certifiable:
            raise unreadable(
                model,
                "its probabilities come from LIBSVM's iteration. Fit it around a CalibratedClassifierCV, or with "
                "response_method='decision_function'",
            )
        of = machine.probability
        rule = Threshold(model.classes_, of, threshold, column=positive, above=positive, equal=positive)
    elif isinstance(machine.rule, Sign):
        # For the first class scikit-learn negates the decision values, and then asks for at least the threshold.
        rule = Threshold(model.classes_, Value(), threshold if positive else -threshold, equal=positive)
    else:
        raise unreadable(model, "the model inside has no decision values of its own")
    return machine.changed(rule=rule).with_probability(machine.probability)

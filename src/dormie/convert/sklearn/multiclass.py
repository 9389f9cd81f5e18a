"""Wrappers of several binary classifiers: their machines become one machine with several outputs, or a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.sklearn.common import unreadable
from dormie.machine import Affine, Floats, Machine, MachineSum, Origin, members_of
from dormie.machine.rules import Argmax, OneVsOneConfidence, Rule, Sign, Threshold, Value
from dormie.machine.sparse_points import keys, stacked
from dormie.numerics.rounding import UNIT, kernel_sum_margin


def one_vs_rest(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted OneVsRestClassifier, given the machine of each of its estimators."""
    _require_decision_values(model, machines)
    return together(model, machines, _rule(model.classes_))


def one_vs_one(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted OneVsOneClassifier, given the machine of each of its estimators."""
    from sklearn.base import is_classifier  # optional

    if not is_classifier(model.estimator):
        raise unreadable(model, "its estimators are not classifiers. Fit it around an SVC or another classifier")
    _require_decision_values(model, machines)
    zeros = {machine.rule.zero for machine in machines if isinstance(machine.rule, Sign)}
    if len(zeros) != 1:
        raise unreadable(model, "its estimators have thresholds of their own. Fit it around the model inside these")
    return together(model, machines, OneVsOneConfidence(model.classes_, zeros.pop()))


def _require_decision_values(model: Any, machines: list[Machine]) -> None:
    """Raise an error unless the binary estimators have decision values, which their wrapper compares."""
    for estimator, machine in zip(model.estimators_, machines, strict=True):
        rule = machine.rule
        plain = isinstance(rule, Sign) or (isinstance(rule, Threshold) and isinstance(rule.of, Value))
        if not (plain and hasattr(estimator, "decision_function")):
            raise unreadable(
                model,
                "its estimators have probabilities and no decision values. Fit it around an SVC; for probabilities, "
                "fit a CalibratedClassifierCV around it all",
            )


def together(model: Any, machines: Sequence[Machine], rule: Rule) -> Machine:
    """The outputs of several machines side by side: one machine where they share kernel and scaling, else a sum."""
    first, *others = machines
    if not others:
        return first.changed(rule=rule)
    if not all(machine.of_vectors for machine in machines):
        raise unreadable(model, "the training rows of its estimators are not a matrix. Compile each of its estimators")
    if any(isinstance(machine, MachineSum) and machine.factors is not None for machine in machines):
        raise unreadable(model, "its estimators are sums of several kernels. Compile each of its estimators")
    parts = [part for machine in machines for part in members_of(machine)]
    if all(same_kernel(parts[0], other) and other.origin is None for other in parts):
        return joined(parts, rule).changed(feature_names=first.feature_names)
    return MachineSum(parts, rule, first.feature_names)


def same_kernel(one: Machine, other: Machine) -> bool:
    """Whether two machines have the same kernel and input map, and add up their terms in the same way.

    Those that prepare rows stay apart: their points are of rows prepared by each in its own way.
    """
    unprepared = one.preparation is None and other.preparation is None
    same_sums = other.kernel == one.kernel and other.blas_products == one.blas_products
    return unprepared and same_sums and _same_map(other.input_map, one.input_map)


def joined(machines: Sequence[Machine], rule: Rule) -> Machine:
    """One machine with the outputs of several of the same kernel, side by side; points that they share are merged."""
    own = _side_by_side(machines, rule)
    points, weights = _merge(own)
    merged = replace(own, points=points, weights=weights)
    if merged.n_points == own.n_points:
        return merged
    # Points that several estimators share are merged, so this sum rounds differently from those of the estimators.
    return merged.with_origin(Origin(own, kernel_sum_margin(own, np.abs(own.weights) * (own.n_points * UNIT))))


def require_one_class_a_row(model: Any) -> None:
    """Raise an error unless the answer is the class of the largest decision value, or the sign of a single one."""
    from sklearn.base import is_classifier  # optional

    if model.multilabel_:
        raise unreadable(model, "multilabel answers are not one class per row. Compile each of model.estimators_")
    if len(model.classes_) < 2:
        raise unreadable(model, "it was fitted on one class only. Fit it on rows of every class")
    if not is_classifier(model.estimator):
        raise unreadable(model, "its estimators are not classifiers. Compile each of model.estimators_")


def _rule(classes: npt.NDArray[Any]) -> Rule:
    if len(classes) == 2:
        return Sign(classes, zero=0)
    return Argmax(classes, last_of_equal=_last_of_equal_wins())


def _same_map(one: Affine | None, other: Affine | None) -> bool:
    if one is None or other is None:
        return one is other
    return [name for name, _ in one.all_steps] == [name for name, _ in other.all_steps] and all(
        np.array_equal(mine, theirs) for (_, mine), (_, theirs) in zip(one.all_steps, other.all_steps, strict=True)
    )


def _side_by_side(machines: Sequence[Machine], rule: Rule) -> Machine:
    """One machine with the points of all, each with weights for the outputs of the machine that it comes from."""
    first = machines[0]
    rows = np.cumsum([0, *(machine.n_points for machine in machines)])
    columns = np.cumsum([0, *(machine.n_outputs for machine in machines)])
    weights = np.zeros((rows[-1], columns[-1]))
    for number, machine in enumerate(machines):
        weights[rows[number] : rows[number + 1], columns[number] : columns[number + 1]] = machine.weights
    points = stacked([machine.points for machine in machines])
    bias = np.concatenate([machine.bias for machine in machines])
    return Machine(first.kernel, points, weights, bias, rule, first.input_map, blas_products=first.blas_products)


def _merge(machine: Machine) -> tuple[Any, Floats]:
    """The distinct points and their summed weights: estimators trained on the same rows share most points."""
    position: dict[bytes, int] = {}
    row = np.array([position.setdefault(key, len(position)) for key in keys(machine.points)], dtype=np.intp)
    weights = np.zeros((len(position), machine.n_outputs))
    np.add.at(weights, row, machine.weights)
    _, first = np.unique(row, return_index=True)
    return machine.points[first], weights


@cache
def _last_of_equal_wins() -> bool:
    """Whether the last of equal maxima wins in the installed scikit-learn, as in old versions, and not the first."""
    from sklearn.dummy import DummyRegressor  # optional
    from sklearn.multiclass import OneVsRestClassifier  # optional

    tied = OneVsRestClassifier(DummyRegressor()).fit(np.zeros((3, 1)), [0, 1, 2])
    return bool(tied.predict(np.zeros((1, 1)))[0] == 2)

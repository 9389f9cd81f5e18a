"""Readers of models of several targets, and of regressors of transformed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.sklearn.common import ancestors, unreadable
from dormie.convert.sklearn.ensembles import scaled
from dormie.convert.sklearn.multiclass import together
from dormie.machine import Floats, Machine
from dormie.machine.rules import ClassRule, SeveralLabels, Transformed, Value
from dormie.machine.rules.transformed import FUNCTIONS

INSIDE = (
    "Compile the regressor inside: TransformedTargetRegressor(dormie.estimators.CompiledRegressor(SVR()), ...) maps "
    "its values back"
)


def several_targets(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted MultiOutputRegressor; its answers are a matrix."""
    if not all(type(machine.rule) is Value and machine.n_outputs == 1 for machine in machines):
        raise unreadable(model, "its members are not plain regressors. Compile each of model.estimators_")
    return together(model, machines, Value(flat=False))


def several_labels(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted MultiOutputClassifier; its answers are a matrix of labels."""
    rules = [machine.rule for machine in machines if isinstance(machine.rule, ClassRule)]
    if len(rules) != len(machines):
        raise unreadable(model, "its members are not plain classifiers. Compile each of model.estimators_")
    return together(model, machines, SeveralLabels(rules, [machine.n_outputs for machine in machines]))


def transformed_targets(model: Any, machine: Machine) -> Machine:
    """The machine of a fitted TransformedTargetRegressor, given that of its regressor."""
    if type(machine.rule) is not Value:
        raise unreadable(model, f"the values of its regressor are mapped already. {INSIDE}")
    flat = model._training_dim == 1 and machine.n_outputs == 1
    transformer = model.transformer_
    if "FunctionTransformer" in ancestors(transformer):
        name = _function(model, transformer)
        return machine.changed(rule=Transformed(name, flat=flat) if name else Value(flat=flat))
    return scaled(machine.changed(rule=Value(flat=flat)), *_affine(model, transformer, machine.n_outputs))


def _function(model: Any, transformer: Any) -> str:
    """The name of the function that maps values back; empty where they stay as they are."""
    function = transformer.inverse_func
    if function is None:
        return ""
    name = getattr(function, "__name__", "")
    if function is not getattr(np, name, None) or name not in FUNCTIONS or transformer.inv_kw_args:
        raise unreadable(
            model, f"its inverse_func is none of numpy's {', '.join(FUNCTIONS)}, so nothing is known of it. {INSIDE}"
        )
    return name


def _affine(model: Any, transformer: Any, count: int) -> tuple[Floats, Floats]:
    """What values are multiplied by, and what is added then, to undo a scaler."""
    match ancestors(transformer):
        case ["StandardScaler", *_]:
            scale, shift = transformer.scale_, transformer.mean_ if transformer.with_mean else None
        case ["RobustScaler", *_]:
            scale = transformer.scale_ if transformer.with_scaling else None
            shift = transformer.center_ if transformer.with_centering else None
        case ["MaxAbsScaler", *_]:
            scale, shift = transformer.scale_, None
        case ["MinMaxScaler", *_]:
            scale, shift = 1 / transformer.scale_, -transformer.min_ / transformer.scale_
        case _:
            raise unreadable(model, f"its transformer_ is no scaler: {type(transformer).__name__}. {INSIDE}")
    scale, shift = 1.0 if scale is None else scale, 0.0 if shift is None else shift
    return np.broadcast_to(scale, (count,)), np.broadcast_to(shift, (count,))

"""Readers of ensembles: bagging and voting average what their members give, or count the members' votes.

scikit-learn's arithmetic is repeated: probabilities are added in the order of the members and divided by their number,
votes are counted, with the members' weights where they have any, and the first of equal classes wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.sklearn.common import unreadable
from dormie.convert.sklearn.multiclass import joined, same_kernel, together
from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.preparation import Columns, Preparation
from dormie.machine.rules import Argmax, ClassRule, MostProbable, OneVsOneVote, Sign, Value
from dormie.machine.rules.probability import Among, Mean, ProbabilityMap, Votes


def bagging_classifier(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted BaggingClassifier: the mean of probabilities where members have any, votes otherwise."""
    machines = _of_all_columns(model, machines)
    if hasattr(model.estimators_[0], "predict_proba"):
        return together(model, machines, MostProbable(model.classes_, Mean(_maps(model, machines))))
    return together(model, machines, MostProbable(model.classes_, _votes(model, machines)))


def voting_classifier(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted VotingClassifier."""
    weights = _weights(model)
    if model.voting == "soft":
        return together(model, machines, MostProbable(model.classes_, Mean(_maps(model, machines), weights)))
    return together(model, machines, MostProbable(model.classes_, _votes(model, machines, weights)))


def bagging_regressor(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted BaggingRegressor."""
    machines = _of_all_columns(model, machines)
    return added(model, machines, [1 / len(machines)] * len(machines))


def voting_regressor(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted VotingRegressor."""
    weights = np.array(_weights(model) or [1.0] * len(machines))
    return added(model, machines, weights / weights.sum())


def stacking_regressor(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted StackingRegressor whose last model is linear in the values of the others."""
    last = model.final_estimator_
    if model.passthrough or np.ndim(getattr(last, "coef_", 0.0)) != 1 or hasattr(last, "dual_coef_"):
        raise unreadable(
            model,
            "its final_estimator_ is not linear in the values of the others. Fit it with a linear final_estimator and "
            "passthrough=False, or compile each of model.estimators_",
        )
    return added(model, machines, last.coef_, float(np.ravel(last.intercept_)[0]))


def added(model: Any, machines: Sequence[Machine], factors: Any, bias: float = 0.0) -> Machine:
    """The values of several machines, each times a factor, and a bias: one machine where they share a kernel."""
    if not all(type(machine.rule) is Value for machine in machines):
        raise unreadable(model, "its members are not plain regressors. Compile each of model.estimators_")
    used = [(machine, float(factor)) for machine, factor in zip(machines, factors, strict=True) if factor]
    if not used:
        raise unreadable(model, "all of its members have a weight of 0. Fit it with other weights")
    rule = used[0][0].rule
    machines, factors = zip(*(part for each in used for part in _parts(model, *each)), strict=True)
    first = machines[0]
    if not all(machine.of_vectors for machine in machines):
        raise unreadable(model, "the training rows of its members are not a matrix. Compile each of model.estimators_")
    if all(same_kernel(first, other) for other in machines[1:]):
        one = joined(machines, Value(flat=False))
        sums = np.kron(np.array(factors)[:, None], np.eye(first.n_outputs))
        return replace(one, weights=one.weights @ sums, bias=one.bias @ sums + bias, rule=rule)
    if bias:
        machines = scaled(first, np.ones(first.n_outputs), np.full(first.n_outputs, bias / factors[0])), *machines[1:]
    return MachineSum(machines, rule, factors=factors)


def _parts(model: Any, machine: Machine, factor: float) -> list[tuple[Machine, float]]:
    """The machines that a machine adds up, each with its factor times another."""
    if not isinstance(machine, MachineSum):
        return [(machine, factor)]
    if machine.factors is None:
        raise unreadable(model, "its members have a kernel for each target. Compile each of model.estimators_")
    return [(part, own * factor) for part, own in zip(machine.members, machine.factors, strict=True)]


def scaled(machine: Machine, scale: Floats, shift: Floats) -> Machine:
    """The machine with each of its outputs times a number, and another number added."""
    if not isinstance(machine, MachineSum):
        return replace(machine, weights=machine.weights * scale, bias=machine.bias * scale + shift)
    if machine.factors is None:
        ends = np.cumsum([member.n_outputs for member in machine.members])[:-1]
        parts = zip(machine.members, np.split(scale, ends), np.split(shift, ends), strict=True)
        return MachineSum([scaled(*part) for part in parts], machine.rule, machine.feature_names)
    first, *others = machine.members
    none = np.zeros_like(shift)
    members = [scaled(first, scale, shift / machine.factors[0]), *(scaled(each, scale, none) for each in others)]
    return MachineSum(members, machine.rule, machine.feature_names, machine.factors)


def _of_all_columns(model: Any, machines: list[Machine]) -> list[Machine]:
    """The members' machines for whole rows, of which each member reads columns of its own."""
    width = int(model.n_features_in_)
    pairs = zip(machines, model.estimators_features_, strict=True)
    return [_of_columns(machine, np.asarray(own), width) for machine, own in pairs]


def _of_columns(machine: Machine, own: npt.NDArray[Any], width: int) -> Machine:
    if np.array_equal(own, np.arange(width)):
        return machine
    return machine.behind(Preparation(width, [Columns(own, width)]))


def _weights(model: Any) -> tuple[float, ...]:
    """The weights of members; none where each counts 1."""
    weights = model._weights_not_none
    return () if weights is None else tuple(map(float, weights))


def _maps(model: Any, machines: list[Machine]) -> tuple[ProbabilityMap, ...]:
    """The map to probabilities of each member, whose classes are positions among those of the ensemble."""
    return tuple(_map(model, *pair) for pair in zip(model.estimators_, machines, strict=True))


def _map(model: Any, member: Any, machine: Machine) -> ProbabilityMap:
    if machine.probability is None:
        raise unreadable(model, "the probabilities of its members are not read. Fit it around a CalibratedClassifierCV")
    found, count = machine.probability.map, len(model.classes_)
    return found if len(member.classes_) == count else Among(found, tuple(member.classes_), count)


def _votes(model: Any, machines: list[Machine], weights: tuple[float, ...] = ()) -> Votes:
    rules: list[ClassRule] = []
    for machine in machines:
        if not isinstance(machine.rule, Sign | Argmax | OneVsOneVote):
            raise unreadable(
                model, "votes of members that answer by probabilities are not read. Average these: voting='soft'"
            )
        rules.append(machine.rule)
    return Votes(tuple(rules), len(model.classes_), weights)

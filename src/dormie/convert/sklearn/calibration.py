"""The reader of CalibratedClassifierCV: a model, and the map from its scores to probabilities.

The class it predicts is the most probable one, which may differ from the class that the model inside predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.sklearn.common import unreadable
from dormie.convert.sklearn.multiclass import together
from dormie.machine import Machine
from dormie.machine.rules import MostProbable, OneVsOneVote
from dormie.machine.rules.probability import Calibrated, Isotonic, Mean, Platt, ProbabilityMap, Temperature
from dormie.machine.rules.probability.calibrators import Calibrator


def calibrated(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a fitted CalibratedClassifierCV, given the machine of each of its members.

    It is a sum of machines, or a single one where all members have the same kernel and scaling.
    """
    members = model.calibrated_classifiers_
    maps = [_map(model, member, machine) for member, machine in zip(members, machines, strict=True)]
    found = maps[0] if len(maps) == 1 else Mean(tuple(maps))
    rule = MostProbable(model.classes_, found)
    return together(model, machines, rule)


def _map(model: Any, member: Any, machine: Machine) -> ProbabilityMap:
    """The map of one member."""
    _require_own_scores(model, member, machine)
    if member.method == "temperature":
        [calibrator] = member.calibrators
        return Temperature(machine.rule, float(calibrator.beta_))
    return Calibrated(machine.rule, tuple(_calibrator(model, calibrator) for calibrator in member.calibrators))


def _require_own_scores(model: Any, member: Any, machine: Machine) -> None:
    """Raise an error unless there is one score for each class, or one for two classes."""
    # With a temperature, an estimator of text labels is trained on their positions.
    if not len(member.classes) == len(member.estimator.classes_) == len(model.classes_):
        raise unreadable(model, "one of its estimators knows fewer classes. Fit it on folds with rows of every class")
    if isinstance(machine.rule, MostProbable):
        raise unreadable(model, "it calibrates probabilities that are calibrated already. Calibrate the model inside")
    if not hasattr(member.estimator, "decision_function"):
        raise unreadable(model, "it calibrates probabilities, not decision values. Fit it around an SVC")
    if isinstance(machine.rule, OneVsOneVote) and machine.rule.shape == "ovo":
        raise unreadable(
            model, "it calibrates scores of pairs of classes. Fit it around an SVC with decision_function_shape='ovr'"
        )


def _calibrator(model: Any, calibrator: Any) -> Calibrator:
    if hasattr(calibrator, "a_"):
        return Platt(float(calibrator.a_), float(calibrator.b_))
    if calibrator.X_thresholds_.dtype != np.float64:
        raise unreadable(model, "its isotonic maps are in float32. Fit it on scores in float64")
    return Isotonic(calibrator.X_thresholds_, calibrator.y_thresholds_)

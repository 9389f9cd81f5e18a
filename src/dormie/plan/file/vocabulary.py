"""The names that plan files use: the class behind each, and the JSON types of its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dormie.machine.kernels import RBF, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import (
    Argmax,
    DecisionValue,
    MostProbable,
    OneClassSign,
    OneVsOneVote,
    Probability,
    Score,
    Sign,
    Threshold,
    Value,
)
from dormie.machine.rules.probability import Calibrated, Coupled, Isotonic, Mean, Platt, Temperature
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.plan.guarantee import Exact, Risk, Tolerance


@dataclass(frozen=True)
class Form:
    """What a name stands for: the class to construct, and the JSON type of each parameter; some may be left out."""

    build: Any
    parameters: dict[str, type]
    optional: dict[str, type] = field(default_factory=dict)


PLAIN_KERNELS = {
    "linear": Form(Linear, {}),
    "polynomial": Form(Polynomial, {"gamma": float, "coef0": float, "degree": int}),
    "rbf": Form(RBF, {"gamma": float}),
    "sigmoid": Form(Sigmoid, {"gamma": float, "coef0": float}),
}
KERNELS = {**PLAIN_KERNELS, "normalized": Form(Normalized, {"kernel": dict})}

SCORES = {
    "sign": Form(Sign, {"classes": dict, "zero": int}),
    "one_class": Form(OneClassSign, {}),
    "one_vs_one_vote": Form(OneVsOneVote, {"classes": dict, "break_ties": bool, "shape": str}),
    "argmax": Form(Argmax, {"classes": dict, "last_of_equal": bool}),
}
RULES = {
    **SCORES,
    "one_class": Form(OneClassSign, {}),
    "value": Form(Value, {"tolerance": float, "flat": bool}),
    "most_probable": Form(MostProbable, {"classes": dict, "map": dict}),
    "score": Form(Score, {"offset": float, "tolerance": float}),
    "decision_value": Form(DecisionValue, {"scores": dict, "tolerance": float}),
    "probability": Form(Probability, {"map": dict, "tolerance": float}),
}
VALUES = {name: RULES[name] for name in ("value", "score", "decision_value", "probability")}
RULES["threshold"] = Form(
    Threshold, {"classes": dict, "of": dict, "threshold": float, "column": int, "above": int, "equal": int}
)

PLAIN_MAPS = {
    "calibrated": Form(Calibrated, {"scores": dict, "maps": list, "thresholds": str}),
    "temperature": Form(Temperature, {"scores": dict, "inverse": float}),
    "coupled": Form(
        Coupled, {"slopes": str, "intercepts": str, "order": list, "flipped": bool, "two_by_iteration": bool}
    ),
}
MAPS = {**PLAIN_MAPS, "mean": Form(Mean, {"members": list})}
CALIBRATORS = {
    "platt": Form(Platt, {"slope": float, "intercept": float}),
    "isotonic": Form(Isotonic, {"thresholds": int}),
}

GUARANTEES = {
    "exact": Form(Exact, {}),
    "tolerance": Form(Tolerance, {"epsilon": float}),
    "risk": Form(Risk, {"alpha": float, "confidence": float, "evidence": dict}, {"tolerance": float}),
}

EVIDENCE: dict[str, type] = {
    "rows": int,
    "disagreements": int,
    "p_value": float,
    "rank": int,
    "tested": int,
    "date": str,
    "seed": int,
    "versions": dict,
    "classes": list,
}
COUNT: dict[str, type] = {"label": str, "rows": int, "disagreements": int}

TRIAL: dict[str, type] = {"stages": str, "settled": float, "microseconds": float}


def stage_type(described: dict[str, Any]) -> type[Stage]:
    """The class of a stage as an audited document describes it."""
    found = METHODS[described["name"]].stage(described["certified"])
    assert found is not None  # audited
    return found


def name_of(value: object, forms: dict[str, Form]) -> str | None:
    """The name of the type of a value; None for subclasses, which may mean something else."""
    return next((name for name, form in forms.items() if type(value) is form.build), None)

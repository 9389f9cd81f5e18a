"""The names that plan files use: the class behind each, and the JSON types of its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.rules import (
    Argmax,
    DecisionValue,
    LogDensity,
    MostProbable,
    OneClassSign,
    OneVsOneConfidence,
    OneVsOneVote,
    Probability,
    Score,
    SeveralLabels,
    Sign,
    Threshold,
    Transformed,
    Value,
)
from dormie.machine.rules.probability import Among, Calibrated, Coupled, Isotonic, Mean, Platt, Temperature, Votes
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
KERNELS = {
    **PLAIN_KERNELS,
    "normalized": Form(Normalized, {"kernel": dict}),
    "matern": Form(Matern, {"nu": float, "length_scale": float}),
    "rational_quadratic": Form(RationalQuadratic, {"alpha": float, "length_scale": float}),
    "laplacian": Form(Laplacian, {"gamma": float}),
    "chi2": Form(Chi2, {"gamma": float}),
    "additive_chi2": Form(AdditiveChi2, {}),
}

SCORES = {
    "sign": Form(Sign, {"classes": dict, "zero": int}),
    "one_class": Form(OneClassSign, {}),
    "one_vs_one_vote": Form(OneVsOneVote, {"classes": dict, "break_ties": bool, "shape": str}),
    "argmax": Form(Argmax, {"classes": dict, "last_of_equal": bool}),
    "one_vs_one_confidence": Form(OneVsOneConfidence, {"classes": dict, "zero": int}),
}
RULES = {
    **SCORES,
    "one_class": Form(OneClassSign, {}),
    "value": Form(Value, {"tolerance": float, "flat": bool}),
    "most_probable": Form(MostProbable, {"classes": dict, "map": dict}),
    "score": Form(Score, {"offset": float, "tolerance": float}),
    "decision_value": Form(DecisionValue, {"scores": dict, "tolerance": float}),
    "probability": Form(Probability, {"map": dict, "tolerance": float}),
    "log_density": Form(LogDensity, {"shift": float, "tolerance": float}),
}
VALUES = {name: RULES[name] for name in ("value", "score", "decision_value", "probability")}
RULES["transformed"] = Form(Transformed, {"function": str, "tolerance": float, "flat": bool})
RULES["threshold"] = Form(
    Threshold, {"classes": dict, "of": dict, "threshold": float, "column": int, "above": int, "equal": int}
)
CLASSES = {**SCORES, **{name: RULES[name] for name in ("most_probable", "threshold")}}  # rules of one label
RULES["several_labels"] = Form(SeveralLabels, {"rules": list, "widths": list})

PLAIN_MAPS = {
    "calibrated": Form(Calibrated, {"scores": dict, "maps": list, "thresholds": str}),
    "temperature": Form(Temperature, {"scores": dict, "inverse": float}),
    "votes": Form(Votes, {"members": list, "count": int, "weights": list}),
    "coupled": Form(
        Coupled, {"slopes": str, "intercepts": str, "order": list, "flipped": bool, "two_by_iteration": bool}
    ),
}
MEMBER_MAPS = {**PLAIN_MAPS, "among": Form(Among, {"map": dict, "places": list, "count": int})}
MAPS = {**MEMBER_MAPS, "mean": Form(Mean, {"members": list}, {"weights": list})}
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

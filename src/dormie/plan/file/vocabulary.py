"""The names that plan files use: the class behind each, and the JSON types of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dormie.machine.kernels import RBF, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneClassSign, OneVsOneVote, Sign, Value
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.plan.guarantee import Exact, Risk, Tolerance


@dataclass(frozen=True)
class Form:
    """What a name stands for: the class to construct, and the JSON type of each parameter."""

    build: Any
    parameters: dict[str, type]


PLAIN_KERNELS = {
    "linear": Form(Linear, {}),
    "polynomial": Form(Polynomial, {"gamma": float, "coef0": float, "degree": int}),
    "rbf": Form(RBF, {"gamma": float}),
    "sigmoid": Form(Sigmoid, {"gamma": float, "coef0": float}),
}
KERNELS = {**PLAIN_KERNELS, "normalized": Form(Normalized, {"kernel": dict})}

RULES = {
    "sign": Form(Sign, {"classes": dict, "zero": int}),
    "one_class": Form(OneClassSign, {}),
    "one_vs_one_vote": Form(OneVsOneVote, {"classes": dict, "break_ties": bool, "shape": str}),
    "argmax": Form(Argmax, {"classes": dict, "last_of_equal": bool}),
    "value": Form(Value, {"tolerance": float, "flat": bool}),
}

GUARANTEES = {
    "exact": Form(Exact, {}),
    "tolerance": Form(Tolerance, {"epsilon": float}),
    "risk": Form(Risk, {"alpha": float, "confidence": float, "evidence": dict}),
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

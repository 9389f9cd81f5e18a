"""`dormie inspect`: what a plan file holds and promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from dormie.cli.models import PlanFile, load_plan
from dormie.machine.rules import ClassRule, Probability, Rule, SeveralLabels
from dormie.plan.guarantee import Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan
from dormie.predictor import Predictor


def inspect(
    plan: PlanFile,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")] = False,
) -> None:
    """Say what a plan was compiled from, how it works, and what it promises on which evidence."""
    fast = load_plan(plan)
    if as_json:
        print(json.dumps(record(plan, fast)))
    else:
        show(fast)


def show(fast: Predictor) -> None:
    """The plan in words."""
    Console().print(fast.explain(), markup=False, highlight=False, soft_wrap=True)


def record(path: Path, fast: Predictor) -> dict[str, Any]:
    """The plan as data."""
    plan, machine = fast.plan, fast.plan.machine
    rule = machine.rule
    return {
        "plan": str(path),
        "bytes": path.stat().st_size,
        "model": plan.source.description,
        "support_vectors": plan.source.points,
        "points": machine.n_points,
        "features": machine.n_features,
        "feature_names": None if machine.feature_names is None else list(machine.feature_names),
        "classes": _classes(rule),
        "probabilities": plan.values is not None and isinstance(plan.values.machine.rule, Probability),
        **_promised(plan),
        "values": None if plan.values is None else _promised(plan.values),
        "versions": plan.source.versions,
    }


def _classes(rule: Rule) -> list[Any] | None:
    """The labels; a list of them for each column where rows have several."""
    if isinstance(rule, SeveralLabels):
        return [classes.tolist() for classes in rule.classes]
    return rule.classes.tolist() if isinstance(rule, ClassRule) else None


def _promised(plan: Plan) -> dict[str, Any]:
    return {
        "stages": [stage.described(caution) for stage, caution in plan.cascade],
        "guarantee": _guarantee(plan.guarantee),
        "note": plan.note,
    }


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    words = str(guarantee)
    match guarantee:
        case Tolerance(epsilon):
            return {"kind": "tolerance", "epsilon": epsilon, "words": words}
        case Risk(alpha, confidence, evidence, tolerance):
            found = {"rows": evidence.rows, "disagreements": evidence.disagreements, "date": evidence.date}
            sizes = {"alpha": alpha, "confidence": confidence, "epsilon": tolerance}
            return {"kind": "risk", **sizes, "evidence": found, "words": words}
    return {"kind": "exact", "words": words}

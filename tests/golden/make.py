"""Writes the golden files of the present protocol, and beside them, as JSON, all that loading them must give.

One is a small plan made here; the other, `-stages`, has every stage: that of the protocol before, written again.
By hand, once a protocol: `python -m tests.golden.make`. Golden files of released protocols are never written again.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dormie.machine import Affine, Machine, Origin
from dormie.machine.kernels import RBF
from dormie.machine.margin import Margin
from dormie.machine.rules import OneVsOneVote, Probability
from dormie.machine.rules.probability import Calibrated, Isotonic, Platt
from dormie.methods.dense import Dense, Float32Dense
from dormie.methods.reduced_set import CalibratedReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics import reference
from dormie.plan.cascade import Cascade
from dormie.plan.file import load, save
from dormie.plan.file.document import PROTOCOL
from dormie.plan.guarantee import Evidence, Risk, Tolerance
from dormie.plan.plan import Plan, Source

HERE = Path(__file__).parent
ROWS = np.array([[4.9, 3.0], [6.1, 2.5], [7.2, 3.0], [5.8, 3.9]])


def golden_plan() -> Plan:
    machine = Machine(
        kernel=RBF(gamma=0.7),
        points=np.array([[-1.1, 0.3], [0.2, -0.4], [0.9, 0.1], [1.7, 1 / 3], [-0.0, 1e-300]]),
        blas_products=True,
        weights=np.array([[1.0, 0.25, 0.0], [-1.0, 0.0, 0.5], [0.0, -0.75, 1.0], [0.1, -0.2, -1.5], [0.0, 0.7, 1e-9]]),
        bias=np.array([0.05, -0.125, 1e-17]),
        rule=OneVsOneVote(np.array(["setosa", "versicolor", "virgínica"]), break_ties=False, shape="ovr"),
        input_map=Affine(np.array([5.8, 3.1]), np.array([0.8, -0.4])),
        feature_names=("sepal length (cm)", "größe"),
    )
    machine = machine.with_origin(_origin(machine))
    source = Source("SVC(gamma=0.7) in a Pipeline", 6, {"scikit-learn": "1.5.0"})
    levels = Levels.of(machine.points[:2], [machine.weights[:1], machine.weights[:2]], 3)
    first = CalibratedReducedSet(machine, levels, np.array([[0.5, 0.25, 0.125], [0.4, 1 / 3, 0.0]]))
    cascade = Cascade((first, Float32Dense(machine)), (2.8, 1.0))
    risk = Risk(0.001, 0.95, Evidence(5000, 1, 0.0403, 17, 24, "2024-12-31", 3, {"dormie": "0.1.0"}))
    return Plan(machine, cascade, risk, source, ("merge_duplicates",), values=_values(machine, source))


def _values(machine: Machine, source: Source) -> Plan:
    """Probabilities by maps of both kinds."""
    isotonic = Isotonic(np.array([-0.5, 0.25, 2.0]), np.array([0.0, 1 / 3, 1.0]))
    rule = Probability(Calibrated(machine.rule, (Platt(-1.5, 0.1), isotonic, Platt(-3.0, 1e-17))), tolerance=0.125)
    machine = machine.changed(rule=rule)
    return Plan(machine, Cascade.of(Dense(machine)), Tolerance(0.125), source, ("merge_duplicates",))


def _origin(machine: Machine) -> Origin:
    """The first point twice, with its weights shared out, and the input map as a MinMaxScaler computes it."""
    assert machine.input_map is not None
    points, weights = np.vstack([machine.points, machine.points[:1]]), np.vstack([machine.weights, machine.weights[:1]])
    weights[[0, 5]] /= 2
    factor = 1 / machine.input_map.scale
    steps = (("multiply", factor), ("add", -machine.input_map.center * factor))
    original = replace(machine, points=points, weights=weights, input_map=replace(machine.input_map, steps=steps))
    return Origin(original, Margin(np.array([1e-15, 0.0, 2e-15]), np.array([0.0, 1e-16, 3e-16]), 1.5, 0.25, 1))


def expectations(plan: Plan) -> dict[str, Any]:
    """Every field of the plan in plain JSON, and its outputs and labels on fixed rows."""
    machine, rule = plan.machine, plan.machine.rule
    assert isinstance(rule, OneVsOneVote)
    assert machine.input_map is not None
    outputs = reference.outputs(machine, ROWS)
    return {
        "kernel": repr(machine.kernel),
        "points": machine.points.tolist(),
        "weights": machine.weights.tolist(),
        "bias": machine.bias.tolist(),
        "classes": rule.classes.tolist(),
        "rule": [type(rule).__name__, rule.break_ties, rule.shape],
        "center": machine.input_map.center.tolist(),
        "scale": machine.input_map.scale.tolist(),
        "feature_names": machine.feature_names,
        "blas_products": machine.blas_products,
        "origin": None if machine.origin is None else _described(machine.origin),
        "stages": [stage.name for stage in plan.stages],
        "certified": [stage.certified for stage in plan.stages],
        "cautions": plan.cascade.cautions,
        "guarantee": repr(plan.guarantee),
        "source": [plan.source.description, plan.source.points, plan.source.versions],
        "rewrites": plan.rewrites,
        "rows": ROWS.tolist(),
        "outputs": outputs.tolist(),
        "labels": rule.labels(rule.answer(outputs)).tolist(),
        **({} if plan.values is None else _probabilities(plan.values)),
    }


def _probabilities(plan: Plan) -> dict[str, Any]:
    rule = plan.machine.rule
    assert isinstance(rule, Probability)
    found = rule.values(reference.outputs(plan.machine, ROWS)).tolist()
    return {"probabilities": found, "map": repr(rule.map), "guarantee of probabilities": repr(plan.guarantee)}


def _described(origin: Origin) -> dict[str, Any]:
    source, deviation = origin.machine, origin.deviation
    assert source.input_map is not None
    return {
        "points": source.points.tolist(),
        "weights": source.weights.tolist(),
        "steps": [[name, values.tolist()] for name, values in source.input_map.steps],
        "deviation": [deviation.constant.tolist(), deviation.slope.tolist()],
        "base": [deviation.gain, deviation.start, deviation.degree],
    }


if __name__ == "__main__":
    plan, before = golden_plan(), HERE / f"protocol-{PROTOCOL - 1}-stages.dormie"
    save(plan, HERE / f"protocol-{PROTOCOL}.dormie")
    text = json.dumps(expectations(plan), indent=1) + "\n"
    (HERE / f"protocol-{PROTOCOL}.json").write_text(text, encoding="ascii")
    save(load(before), HERE / f"protocol-{PROTOCOL}-stages.dormie")
    shutil.copy(before.with_suffix(".json"), HERE / f"protocol-{PROTOCOL}-stages.json")

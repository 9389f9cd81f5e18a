"""Maps to probabilities and sums of machines in plan files: what is written comes back; forgeries are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Machine, MachineSum
from dormie.machine.kernels import RBF
from dormie.machine.rules import MostProbable, OneVsOneVote, Probability, Rule, Sign, Value
from dormie.machine.rules.probability import Calibrated, Coupled, Isotonic, Mean, Platt, ProbabilityMap, Temperature
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.file import load, save
from dormie.plan.file.audit import audit
from dormie.plan.file.construct import construct
from dormie.plan.file.describe import describe
from dormie.plan.file.document import Document
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source

_TEXTS = Sign(np.array(["no", "yes"], dtype=object))
_VOTE = OneVsOneVote(np.arange(3), break_ties=True)
_STEPS = Isotonic(np.array([-1.0, 1 / 3, 2.0]), np.array([0.0, 0.5, 1.0]))
MAPS: dict[str, tuple[ProbabilityMap, Rule]] = {
    "platt": (Calibrated(_TEXTS, (Platt(-1 / 3, 1e-300),)), _TEXTS),
    "isotonic": (Calibrated(_VOTE, (_STEPS, Platt(2.0, 0.0), Isotonic(np.zeros(1), np.ones(1)))), _VOTE),
    "temperature": (Temperature(_VOTE, 1 / 7), _VOTE),
    "coupled": (Coupled(np.linspace(-2, -1, 3), np.ones(3) / 3, (2, 0, 1), True, True), _VOTE),
    "mean": (Mean((Calibrated(_TEXTS, (_STEPS,)), Temperature(_TEXTS, 3.0))), _TEXTS),
    "added": (Temperature(_TEXTS, 3.0), _TEXTS),
}


def plan_of(name: str, most_probable: bool) -> Plan:
    rng = np.random.default_rng(0)
    found, rule = MAPS[name]
    classes = getattr(rule, "classes", None)
    assert classes is not None
    own = MostProbable(classes, found) if most_probable else rule
    if name in ("mean", "added"):
        members = [
            Machine(RBF(g), rng.normal(size=(5, 2)), rng.normal(size=5), np.zeros(1), Value()) for g in (0.5, 0.7)
        ]
        factors = (1 / 3, -0.25) if name == "added" else None
        machine: Machine = MachineSum(members, MostProbable(classes, found), factors=factors)
    else:
        points, weights = rng.normal(size=(5, 2)), rng.normal(size=(5, found.n_outputs))
        machine = Machine(RBF(0.5), points, weights, np.zeros(found.n_outputs), own)
    source = Source("by hand", 5)
    values = machine.changed(rule=Probability(found))
    inner = Plan(values, Cascade.of(Dense(values)), Exact(), source)
    return Plan(machine, Cascade.of(Dense(machine)), Exact(), source, values=inner)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("most_probable", [True, False])
def test_maps_come_back_to_the_last_bit(name: str, most_probable: bool, tmp_path: Path) -> None:
    plan = plan_of(name, most_probable)
    save(plan, tmp_path / "plan")
    again = load(tmp_path / "plan")
    assert again.machine.rule == plan.machine.rule
    assert plan.values is not None
    assert again.values is not None
    assert again.values.machine.rule == plan.values.machine.rule
    assert again.values.full_sum is again.full_sum
    rows = np.random.default_rng(1).normal(size=(9, 2))
    for one, other in ((plan, again), (plan.values, again.values)):
        found, expected = (each.stages[-1].decide(rows).answers for each in (other, one))
        np.testing.assert_array_equal(found, expected)
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "plan").read_bytes()


def _map(schema: dict[str, Any]) -> Any:
    return schema["values"]["rule"]["map"]


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "an unknown map": ("platt", lambda s: _map(s).update(name="magic"), "'magic', which this dormie does not know"),
    "a mean in a mean": ("mean", lambda s: _map(s)["members"].append(_map(s)), "'mean', which this dormie"),
    "a member that is none": ("mean", lambda s: _map(s)["members"].append(3), r"members\[2\] must be an object"),
    "too many members": ("mean", lambda s: _map(s).update(members=[{}] * 300), "more than 256 members"),
    "scores by a map": ("platt", lambda s: _map(s).update(scores=s["values"]["rule"]), "does not know"),
    "a threshold too few": ("isotonic", lambda s: _map(s)["maps"][0].update(thresholds=2), "must be <f8 of shape"),
    "fewer than no thresholds": (
        "isotonic",
        lambda s: _map(s)["maps"][0].update(thresholds=-1),
        "must not be negative",
    ),
    "a map too few": ("isotonic", lambda s: _map(s)["maps"].pop(1), "3 classes have 3 maps"),
    "a text for a place": (
        "coupled",
        lambda s: _map(s)["order"].__setitem__(0, "0"),
        "order.0. must be a whole number",
    ),
    "a place twice": ("coupled", lambda s: _map(s).update(order=[0, 0, 1]), "each of 0 to 2 once"),
    "no temperature": ("temperature", lambda s: _map(s).update(inverse=0.0), "must be positive"),
    "no stage": ("platt", lambda s: s["values"].update(stages=[]), "values.stages is empty"),
    "values that are classes": (
        "temperature",
        lambda s: s["values"].update(rule={**copy.deepcopy(_map(s)["scores"])}),
        "each of its arrays just once|belongs to a plan that gives classes",
    ),
    "a promise of another": (
        "platt",
        lambda s: s["values"].update(guarantee={"name": "tolerance", "epsilon": 0.5}),
        "is not that of the machine's rule",
    ),
    "no members": ("mean", lambda s: s["machine"].update(members=[]), "must be 1 to 256 machines"),
    "a factor too few": ("added", lambda s: s["machine"]["factors"].pop(), "factors must be 2 finite numbers"),
    "a factor of 0": ("added", lambda s: s["machine"]["factors"].__setitem__(0, 0.0), "that are not 0"),
    "a whole factor": ("added", lambda s: s["machine"]["factors"].__setitem__(0, 1), r"factors\[0\] must be a number"),
    "factors of one machine": ("platt", lambda s: s["machine"].update(factors=[1.0]), "a field 'factors'"),
    "an origin of the sum": ("mean", lambda s: s.update(origin={}), "each with an origin of its own"),
    "a member without points": ("mean", lambda s: s["machine"]["members"][0].pop("points"), "lacks points"),
    "a stage that serves no sum": (
        "mean",
        lambda s: s["stages"].insert(0, {**s["stages"][0], "name": "fast_stopping"}),
        "serves one machine",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_cannot_be_is_refused(name: str) -> None:
    of, change, reason = FORGED[name]
    document = describe(plan_of(of, most_probable=False))
    schema = copy.deepcopy(document.schema)
    change(schema)
    with pytest.raises(PlanFileError, match=reason):
        _loaded(Document(schema, document.arrays))


def _loaded(document: Document) -> Plan:
    audit(document)
    return construct(document)

"""A plan promises what its rule lets stages keep, wherever it is made."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Rule, Sign, Value
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.plan.cascade import Cascade
from dormie.plan.explain import explain
from dormie.plan.guarantee import Count, Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor

EVIDENCE = Evidence(5000, 0, 0.001, 1, 1, "2024-12-31", 0)
RISK = Risk(0.01, 0.95, EVIDENCE)
SIGN = Sign(np.array([-1, 1]))


def _plan(rule: Rule, guarantee: Guarantee) -> Plan:
    machine = Machine(RBF(1.0), np.eye(2), np.ones((2, 1)), np.zeros(1), rule)
    return Plan(machine, Cascade.of(Dense(machine)), guarantee, Source("by hand", 2))


@pytest.mark.parametrize(
    ("rule", "guarantee"), [(SIGN, Exact()), (SIGN, RISK), (Value(), Exact()), (Value(0.5), Tolerance(0.5))], ids=str
)
def test_a_promise_that_the_rule_keeps_is_made(rule: Rule, guarantee: Guarantee) -> None:
    assert _plan(rule, guarantee).guarantee == guarantee


@pytest.mark.parametrize(
    ("rule", "guarantee", "message"),
    [
        (Value(5.0), Exact(), "exact.* is not that of the machine's rule, which has a tolerance of 5"),
        (Value(), Tolerance(0.1), r"within 0\.1.* is not that of the machine's rule, which has a tolerance of 0"),
        (Value(0.2), Tolerance(0.1), r"within 0\.1.* has a tolerance of 0\.2"),
        (SIGN, Tolerance(0.1), "a tolerance is promised of values"),
        (Value(), RISK, "a risk of values needs a tolerance"),
        (Value(0.1), RISK, "a risk of values needs a tolerance"),
        (Value(0.1), replace(RISK, tolerance=0.2), r"more than 0\.2 .* has a tolerance of 0\.1"),
        (SIGN, replace(RISK, tolerance=0.2), "a tolerance is promised of values"),
    ],
)
def test_a_promise_that_the_rule_does_not_keep_is_refused(rule: Rule, guarantee: Guarantee, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _plan(rule, guarantee)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_a_tolerance_is_positive_and_finite(epsilon: float) -> None:
    with pytest.raises(ValueError, match=f"must be positive and finite, got {epsilon}"):
        Tolerance(epsilon)


UNSAFE = "\x1b[2Jred\u202e\ud800\r\nend"
SAFE = r"\x1b[2Jred\u202e\ud800\r\nend"


def test_texts_are_shown_without_what_would_move_the_cursor() -> None:
    classes = (Count(UNSAFE, 4000, 0), Count("plain größe", 1000, 0))
    risk = Risk(0.01, 0.95, replace(EVIDENCE, versions={UNSAFE: UNSAFE}, classes=classes))
    plan = replace(_plan(SIGN, risk), source=Source(UNSAFE, 2), rewrites=(UNSAFE,), note=UNSAFE)
    for shown, times in ((explain(plan), 7), (repr(Predictor(plan)), 2), (str(risk), 1)):
        assert all(line.isprintable() for line in shown.split("\n"))
        assert shown.count(SAFE) == times
        assert shown.encode()
    assert "plain größe" in str(risk)


def test_a_plan_must_end_in_the_dense_stage() -> None:
    machine = _plan(SIGN, Exact()).machine
    stage = Geometry.build(machine, machine.points[:1])
    for stages in ((), (stage,), (Dense(machine), stage)):
        with pytest.raises(ValueError, match="must end in the dense stage"):
            Predictor(Plan(machine, Cascade.of(*stages), Exact(), Source("nothing", 0)))


def test_stages_without_a_cascade_are_refused() -> None:
    machine = Machine(RBF(1.0), np.zeros((2, 1)), np.ones(2), np.zeros(1), Sign(np.array([0, 1])))
    with pytest.raises(TypeError, match=r"cascade must be a Cascade, such as Cascade.of\(\*stages\), got tuple"):
        Plan(machine, (Dense(machine),), Exact(), Source("by hand", 2))  # type: ignore[arg-type]

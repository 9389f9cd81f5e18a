"""What `explain` tells of a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import OneVsOneVote
from dormie.methods.dense import Dense, Float32Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Count, Evidence, Exact, Risk
from dormie.plan.plan import Plan, Source, Trial


def _three_classes() -> Plan:
    rule = OneVsOneVote(np.array(["ash", "elm", "oak"]))
    made = Machine(RBF(1.0), np.eye(3), np.eye(3), np.zeros(3), rule)
    return Plan(made, Cascade.of(Dense(made)), Exact(), Source("by hand", 3))


def test_explain_tells_what_a_risk_is_and_what_it_rests_on() -> None:
    evidence = Evidence(5000, 1, 0.0403, 17, 7, "2024-12-31", 3, {"dormie": "0.1", "numpy": "2.0"})
    plan = replace(_three_classes(), guarantee=Risk(1e-3, 0.95, evidence))
    text = dormie.Predictor(plan).explain()
    promise = "risk: at most 0.1 % of the rows get another answer than the full sum's, with 95 % confidence"
    for part in (
        f"Guarantee:\n  {promise}\n",
        "evidence: 1 disagreement on 5,000 held-out rows that were used for nothing else (p-value 0.04)",
        "p-value 0.04",
        "7 plans were tested in an order fixed beforehand, from the most cautious to bolder ones; "
        "this is the last that passed",
        "2024-12-31, seed 3, dormie 0.1, numpy 2.0",
        "it holds for rows exchangeable with the held-out ones",
    ):
        assert part in text
    assert f"guarantee: {promise}" in repr(dormie.Predictor(plan))
    classes = (Count("ash", 4500, 0), Count("elm", 500, 1))
    text = dormie.Predictor(replace(plan, guarantee=Risk(0.1, 0.95, replace(evidence, classes=classes)))).explain()
    assert "at most 10 % of the rows of each class (ash, elm) get another answer" in text
    assert "class ash: on 0 of 4,500\n" in text
    assert "class elm: on 1 of 500\n" in text
    assert "of the classes listed" in text


def test_explain_tells_what_the_full_sum_of_a_risk_plan_is() -> None:
    plan, risk = _three_classes(), Risk(0.1, 0.9, Evidence(500, 0, 1e-20, 1, 1, "2024-12-31", 0))
    rounded = replace(plan, cascade=Cascade.of(Float32Dense(plan.machine)), guarantee=risk)
    assert "dense(float32): the full sum, in float32\n" in dormie.Predictor(rounded).explain()


_POINTS = np.random.default_rng(0).normal(size=(80, 2))
_PARITY = np.arange(80) % 2


@pytest.mark.parametrize(
    ("model", "methods", "reason"),
    [
        (SVR(epsilon=0.0).fit(_POINTS, _PARITY), None, "exact values need the full sum (with tolerance=0.001, say, "),
        (SVC().fit(_POINTS[:40], _PARITY[:40]), None, "the machine has fewer than 64 points."),
        (SVC(kernel="sigmoid").fit(_POINTS, _PARITY), None, "the kernel is not known to be positive semi-definite."),
        (
            SVC(kernel=lambda a, b: a @ b.T).fit(_POINTS, _PARITY),
            None,
            "the kernel is not known to be positive semi-definite (",
        ),
        (SVC().fit(_POINTS, _PARITY), [], "no methods were asked for."),
    ],
)
def test_explain_tells_why_no_other_stages_were_tried(model: Any, methods: list[str] | None, reason: str) -> None:
    text = dormie.compile(model, methods=methods).explain()
    assert f"No other stages were tried: {reason}" in text


def test_explain_tells_why_dense_was_chosen_over_a_slightly_faster_cascade() -> None:
    footer = "A cascade is chosen over dense only if it takes at most 0.9 of its time."
    faster, dense, slower = (Trial(*trial) for trial in (("a -> dense", 0.1, 9.5), ("dense", 0, 10), ("b", 0.1, 11)))
    plan = _three_classes()
    assert footer in dormie.Predictor(replace(plan, trials=(faster, dense))).explain()
    assert footer not in dormie.Predictor(replace(plan, trials=(dense, slower))).explain()

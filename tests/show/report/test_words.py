"""The guarantee in plain words names its own numbers."""

from __future__ import annotations

from dataclasses import replace

from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

import dormie
from dormie import Evidence, Risk
from dormie.machine.kernels import RBF
from dormie.machine.rules import Value
from dormie.plan.guarantee import Count
from dormie.show.report.words import SOURCE, guarantees, machine, stages
from tests.show.plans import X, bold, exact, y


def test_an_exact_plan_promises_the_models_own_answers() -> None:
    ((heading, sentences),) = guarantees(exact().plan)
    assert heading == "What is promised"
    assert sentences[0] == "Every answer is the model's own."


def test_a_risk_states_its_evidence() -> None:
    plan = replace(bold().plan, note="asked for less")
    ((_, sentences),) = guarantees(plan)
    assert sentences[0] == "At most 10 % of all rows get another answer than the full sum gives, with 90 % confidence."
    assert "0 disagreements on 100 held-out rows" in sentences[1]
    assert "2024-12-31" in sentences[1]
    assert sentences[-1] == "Note: asked for less"


def test_a_risk_of_classes_lists_them() -> None:
    counts = (Count("left", 90, 1), Count("right", 110, 0))
    risk = Risk(0.1, 0.9, Evidence(200, 1, 0.01, 1, 1, "2024-12-31", 0, classes=counts))
    ((_, sentences),) = guarantees(replace(bold().plan, guarantee=risk))
    assert "each class" in sentences[0]
    assert "Class left: 1 of 90 rows." in sentences
    assert "1 disagreement on" in sentences[1]


def test_labels_and_probabilities_of_one_promise_are_told_once() -> None:
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X[:200], y[:200])
    told = [heading for heading, _ in guarantees(dormie.compile(model, effort="quick").plan)]
    assert told == ["What is promised of labels and probabilities"]
    told = [heading for heading, _ in guarantees(dormie.compile(model, tolerance=0.01, effort="quick").plan)]
    assert told == ["What is promised of labels", "What is promised of probabilities"]


def test_a_machine_is_told_in_few_digits_and_a_sum_by_its_members() -> None:
    one, other = (dormie.Machine(RBF(gamma), X[:4], X[:4, 0], 0.0, Value()) for gamma in (1 / 3, 2.0))
    assert "4 points of 2 features and the kernel RBF(gamma=0.3333)." in machine(dormie.compile(one).plan)
    assert "8 points of 2 features and 2 kernels." in machine(
        dormie.compile(dormie.MachineSum([one, other], Value(), factors=(1, 1))).plan
    )


def test_every_stage_is_told() -> None:
    plan = bold().plan
    assert stages(plan) == [*(stage.words for stage in plan.stages), SOURCE]

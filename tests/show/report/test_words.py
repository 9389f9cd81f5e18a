"""The guarantee in plain words names its own numbers."""

from __future__ import annotations

from dataclasses import replace

from dormie import Evidence, Risk
from dormie.plan.guarantee import Count
from dormie.show.report.words import guarantees
from tests.show.plans import bold, exact


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

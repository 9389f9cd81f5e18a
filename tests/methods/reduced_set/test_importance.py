"""Rows count by how near to the decision boundary they are."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value
from dormie.methods.reduced_set.importance import importance, slacks
from tests.oracles import reduced_set as naive_reduction

RULES: list[tuple[Rule, int]] = [
    (Sign(np.array([0, 1])), 1),
    (Argmax(np.arange(3)), 3),
    (OneVsOneVote(np.arange(3)), 3),
    (Argmax(np.arange(5)), 5),
]


@pytest.mark.parametrize(("rule", "outputs"), RULES, ids=str)
def test_a_slack_is_how_far_all_outputs_may_move(rule: Rule, outputs: int) -> None:
    rows = np.random.default_rng(0).normal(size=(60, outputs))
    for row, slack in zip(rows, slacks(rule, rows), strict=True):
        assert naive_reduction.same_answer_throughout(rule, row, 0.999 * slack)
        beyond = 1.001 * slack + np.abs(row).max() / 4096
        assert not naive_reduction.same_answer_throughout(rule, row, beyond)


def test_rows_count_by_their_slack_and_one_on_average() -> None:
    outputs = np.array([[0.0], [0.25], [1.0], [-1.0], [1.5]])
    counts = importance(Sign(np.array([0, 1])), outputs)
    assert counts.mean() == pytest.approx(1)
    np.testing.assert_allclose(counts / counts[0], [1, 0.5, 1 / 17, 1 / 17, 1 / 37], rtol=5e-3)


def test_values_count_the_same_wherever_they_lie() -> None:
    assert importance(Value(), np.array([[0.0], [5.0], [-100.0]])).tolist() == [1.0, 1.0, 1.0]


def test_rows_that_all_lie_on_the_decision_boundary_count_the_same() -> None:
    assert importance(Sign(np.array([0, 1])), np.zeros((4, 1))).tolist() == [1.0] * 4

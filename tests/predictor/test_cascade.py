"""Rows flow from stage to stage until they are settled."""

from __future__ import annotations

from typing import Any

import numpy as np

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.base import Decisions
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.methods.stages import StageByHand


class _Halves(StageByHand):
    """Settles the rows whose first feature is above a level, and remembers the rows it saw."""

    name = "halves"
    words = "the upper rows"

    def __init__(self, level: float, answer: int) -> None:
        self.level, self.answer, self.seen = level, answer, np.zeros((0, 1))

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - it has none
        self.seen = rows
        answers = np.full(len(rows), self.answer)
        return Decisions(answers, rows[:, 0] > self.level, np.full(len(rows), 3, dtype=np.int64))


def _staged(*levels: float) -> tuple[dormie.Predictor, list[_Halves]]:
    made = Machine(RBF(1.0), np.zeros((2, 1)), np.zeros((2, 1)), np.full(1, -1.0), Sign(np.array(["out", "in"])))
    stages = [_Halves(level, 1) for level in levels]
    plan = Plan(made, Cascade.of(*stages, Dense(made)), Exact(), Source("stages made by hand", 2))
    return dormie.Predictor(plan), stages


def test_rows_go_on_to_later_stages_only_while_unsettled() -> None:
    fast, (first, second) = _staged(10.0, 5.0)
    rows = np.array([[11.0], [1.0], [7.0], [2.0], [12.0]])
    assert fast.predict(rows).tolist() == ["in", "out", "in", "out", "in"]
    assert first.seen.ravel().tolist() == [11, 1, 7, 2, 12]
    assert second.seen.ravel().tolist() == [1, 7, 2]
    trace = fast.trace(rows)
    assert trace.stage.tolist() == ["halves", "dense", "halves", "dense", "halves"]
    assert trace.evaluations.tolist() == [3, 8, 6, 8, 3]


def test_later_stages_are_left_out_once_all_rows_are_settled() -> None:
    fast, (first, second) = _staged(0.0, 0.0)
    assert fast.predict(np.array([[1.0], [2.0]])).tolist() == ["in", "in"]
    assert len(first.seen) == 2
    assert len(second.seen) == 0
    assert fast.predict(np.zeros((0, 1))).shape == (0,)

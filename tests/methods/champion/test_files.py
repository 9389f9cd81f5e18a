"""Champion stages in plan files: they come back to the bit, and arrays that no fit gave are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.machine.rules import OneVsOneVote
from dormie.methods.base import names_of
from dormie.methods.champion import Champion
from dormie.methods.champion.members import Members
from dormie.methods.dense import Dense
from dormie.methods.reduced_set.levels import Levels
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.methods.files import Change, assert_comes_back
from tests.methods.votes import changes_of_a_guess
from tests.plan.file.plans import with_stage_arrays, written
from tests.properties.strategies import machine

ARRAYS = names_of(Levels) + names_of(Members)


def _plan() -> tuple[Plan, Floats]:
    made, _ = machine(RBF(0.3), 60, 3, 3, seed=2)
    assert isinstance(made.rule, OneVsOneVote)
    guess = Levels.of(made.points[:4], [np.zeros((4, 3))], 3)  # always the same: right on some rows
    stage = Champion(made, guess)
    rows = np.random.default_rng(0).normal(size=(300, 3))
    return Plan(made, Cascade.of(stage, Dense(made)), Exact(), Source("a test", 60, {})), rows


def test_a_plan_with_a_champion_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


CHANGES = changes_of_a_guess(ARRAYS)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_fit_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    with pytest.raises(ValueError, match=r"champion: |reduced_set: "):
        Champion.restore(plan.machine, {}, arrays)

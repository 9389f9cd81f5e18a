"""Scores in plan files: they come back to the bit, and arrays that no fit gave are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.methods.base import names_of
from dormie.methods.dense import Dense
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK, Change, assert_comes_back, put, set_at, typed, without
from tests.plan.file.plans import with_stage_arrays, written
from tests.properties.strategies import machine

ARRAYS = names_of(ScoreMachine)


def _plan() -> tuple[Plan, Floats]:
    made, _ = machine(RBF(0.3), 60, 3, 3, seed=2)
    rng = np.random.default_rng(0)
    scores = ScoreMachine(made.points[:8].copy(), rng.normal(size=(8, 3)), rng.normal(size=3))
    stage = Scores(made, scores, 1.0)
    return Plan(made, Cascade.of(stage, Dense(made)), RISK, Source("a test", 60, {})), rng.normal(size=(300, 3))


def test_a_plan_with_scores_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


CHANGES: dict[str, Change] = {
    **{f"{name} missing": without(name) for name in ARRAYS},
    **{f"{name} empty": put(name, np.empty(0)) for name in ARRAYS},
    **{f"{name} a number": put(name, 1.0) for name in ARRAYS},
    **{f"{name} of float32": typed(name, np.float32) for name in ARRAYS},
    "points NaN": set_at("points", 0, np.nan),
    "a feature less": lambda arrays: arrays | {"points": np.ascontiguousarray(arrays["points"][:, 1:])},
    "a vector less": lambda arrays: arrays | {"points": arrays["points"][1:]},
    "no vectors": lambda arrays: arrays | {"points": np.empty((0, 3)), "weights": np.empty((0, 3))},
    "a class less": lambda arrays: (
        arrays | {"weights": np.ascontiguousarray(arrays["weights"][:, 1:]), "bias": arrays["bias"][1:]}
    ),
    "one array more": lambda arrays: arrays | {"extra": np.ones(3)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_fit_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    with pytest.raises(ValueError, match="scores: "):
        Scores.restore(plan.machine, {"gap": 1.0}, arrays)


@pytest.mark.parametrize("numbers", [{}, {"gap": 1}, {"gap": -1.0}, {"gap": 1.0, "more": 1.0}])
def test_numbers_that_no_fit_gave_are_refused(numbers: dict[str, float]) -> None:
    plan, _ = _plan()
    with pytest.raises(ValueError, match="scores: "):
        Scores.restore(plan.machine, numbers, plan.stages[0].state()[1])

"""Regions in plan files: they come back to the bit, and arrays that no build gave are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.methods.base import names_of
from dormie.methods.dense import Dense
from dormie.methods.geometry.span import Span
from dormie.methods.regions import Regions
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.methods.files import Change, assert_comes_back, put, set_at, typed, without
from tests.methods.regions.test_stage import ROWS, regions
from tests.plan.file.plans import assert_same_plan, with_stage_arrays, written


def _plan() -> Plan:
    stage = regions(outputs=3)
    return Plan(stage.machine, Cascade.of(stage, Dense(stage.machine)), Exact(), Source("a test", 60, {}))


def test_a_plan_with_regions_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(_plan(), ROWS, tmp_path / "plan")


def _shortened(name: str) -> Change:
    return lambda arrays: arrays | {name: arrays[name][:-1]}


ARRAYS = ("centers", "lengths", *names_of(Span))
CHANGES: dict[str, Change] = {
    **{f"{name} missing": without(name) for name in ARRAYS},
    **{f"{name} empty": put(name, np.ones((0, 3))) for name in ARRAYS},
    **{f"{name} a number": put(name, 1.0) for name in ARRAYS},
    **{f"{name} short": _shortened(name) for name in ARRAYS},
    **{f"{name} of float32": typed(name, np.float32) for name in ARRAYS},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in ARRAYS if name != "lengths"},
    "a length of 0": put("lengths", np.array([30, 0, 45])),
    "a negative length": put("lengths", np.array([-30, 80, 25])),
    "lengths that add up to less": put("lengths", np.array([30, 20, 24])),
    "lengths that overflow": put("lengths", np.array([2**62, 2**62, 2**63 - 1])),
    "lengths in another order": put("lengths", np.array([20, 30, 25])),
    "more regions": put("lengths", np.ones(75, dtype=np.int64)),
    "one array more": put("extra", np.ones(3)),
}


def test_a_file_left_alone_is_accepted(tmp_path: Path) -> None:
    plan = _plan()
    loaded = load_plan(written(tmp_path, with_stage_arrays(plan, plan.stages[0].state()[1], {})))
    assert_same_plan(plan, loaded)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_build_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(ValueError, match=r"(regions|geometry): "):
        Regions.restore(plan.machine, {}, arrays)
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays, {})))

"""The nearest stage in plan files: it comes back to the bit, and arrays that no fit gave are refused.

Whoever writes a file can write any thresholds into it; what must not happen is that the process reads outside an array.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.machine.rules import Value
from dormie.methods.base import parameters_from
from dormie.methods.dense import Dense
from dormie.methods.nearest import Nearest
from dormie.methods.nearest.ordering import Ordering
from dormie.numerics import backend as native
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK, Change, assert_comes_back, put, set_at, typed, without
from tests.methods.nearest.test_stage import one_vs_rest, ordinary
from tests.plan.file.plans import assert_same_plan, with_stage_arrays, written
from tests.properties.strategies import by_hand

FLOATS = ("basis", "foresight", "centers", "middle", "half")
COUNTS = ("steps", "orders")


def _plan(form: str) -> tuple[Plan, Floats]:
    made, rows = ordinary(3)
    stage = Nearest.fit(made, rows, form=form, budget=40, cells=5)
    return Plan(made, Cascade((stage, Dense(made)), (1.5, 1.0)), RISK, Source("a test", 150, {})), rows


@pytest.mark.parametrize("form", ["query", "cells"])
def test_a_plan_with_nearest_comes_back_and_answers_the_same(form: str, tmp_path: Path) -> None:
    assert_comes_back(*_plan(form), tmp_path / "plan")


@pytest.mark.parametrize("form", ["query", "cells"])
def test_a_plan_whose_answer_is_the_largest_output_comes_back_with_thresholds_of_pairs(
    form: str, tmp_path: Path
) -> None:
    made, rows = one_vs_rest(4)
    stage = Nearest.fit(made, rows, form=form, budget=40, cells=5)
    plan = Plan(made, Cascade((stage, Dense(made)), (1.5, 1.0)), RISK, Source("a test", 200, {}))
    assert_comes_back(plan, rows, tmp_path / "plan")
    arrays = stage.state()[1]
    for name in ("middle", "half"):  # one for each output, where each pair needs one
        with pytest.raises(PlanFileError):
            load_plan(written(tmp_path, with_stage_arrays(plan, arrays | {name: arrays[name][:, :, :4].copy()})))
    few = np.ones((len(stage.ordering.steps), max(len(stage.ordering.centers), 1), 4))
    core: Any = stage._core
    with pytest.raises(ValueError, match="do not fit together"):
        core.stage(few, few)


def _steps(*steps: int) -> Change:
    return put("steps", np.array(steps, dtype=np.int64))


SHAPES = {
    "empty": (0, 2),
    "short": (4, 2),
    "long": (9, 40),
    "wide": (5, 41),
    "flat": (9,),
    "deep": (2, 2, 2, 2),
    "a number": (),
}
CHANGES: dict[str, Change] = {
    **{f"{name} {how}": put(name, np.ones(shape)) for name in FLOATS for how, shape in SHAPES.items()},
    **{f"{name} {how}": put(name, np.ones(shape, np.int64)) for name in COUNTS for how, shape in SHAPES.items()},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in FLOATS},
    **{f"{name} infinite": set_at(name, -1, np.inf) for name in FLOATS},
    **{f"{name} of float32": typed(name, np.float32) for name in (*FLOATS, *COUNTS)},
    **{f"{name} of int32": typed(name, np.int32) for name in (*FLOATS, *COUNTS)},
    **{f"{name} missing": without(name) for name in (*FLOATS, *COUNTS)},
    "foresight for cells": set_at("foresight", 0, 0.5),
    "orders negative": set_at("orders", (1, 3), -1),
    "orders past the points": set_at("orders", (4, 39), 150),
    "orders enormous": set_at("orders", (0, 0), 2**62),
    "half negative": set_at("half", (1, 2, 1), -1e-9),
    "steps falling": _steps(4, 6, 8, 12, 16, 32, 24, 40),
    "steps from zero": _steps(0, 6, 8, 12, 16, 24, 32, 40),
    "steps past the points": _steps(4, 6, 8, 12, 16, 24, 32, 151),
    "steps past the orders": _steps(4, 6, 8, 12, 16, 24, 32, 41),
    "steps enormous": _steps(4, 6, 8, 12, 16, 24, 2**62, 2**63 - 1),
    "one array more": put("extra", np.ones(3)),
}


def test_a_file_left_alone_is_accepted(tmp_path: Path) -> None:
    plan, _ = _plan("cells")
    assert_same_plan(plan, load_plan(written(tmp_path, with_stage_arrays(plan, plan.stages[0].state()[1]))))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_fit_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan("cells")
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    with pytest.raises(ValueError, match="nearest"):
        Nearest.restore(plan.machine, {}, arrays)


@pytest.mark.parametrize("numbers", [{"caution": 1.0}, {"certified": False}, {"budget": 3}], ids=str)
def test_numbers_that_no_stage_has_are_refused(numbers: dict[str, Any], tmp_path: Path) -> None:
    plan, _ = _plan("query")
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, plan.stages[0].state()[1], numbers)))


@pytest.mark.parametrize(
    "change",
    [
        set_at("orders", (0, 0), 150),
        set_at("orders", (0, 0), -1),
        put("orders", np.zeros((5, 39), np.int64)),
        put("orders", np.zeros((4, 40), np.int64)),
        put("centers", np.zeros((5, 3))),
        put("foresight", np.zeros(0)),
        put("foresight", np.zeros(2)),
        put("basis", np.zeros((0, 8))),
        put("basis", np.zeros((2, 7))),
        put("basis", np.zeros((257, 8))),
        _steps(),
        _steps(0, 40),
        _steps(40, 40),
        _steps(4, 151),
        _steps(-(2**62), 40),
    ],
)
def test_the_native_core_checks_for_itself(change: Change) -> None:
    plan, _ = _plan("cells")
    arrays = change(plan.stages[0].state()[1])
    kept = native.native_machine(plan.machine)
    assert kept is not None
    with pytest.raises(ValueError, match="do not fit together"):
        native.extension.Nearest(kept, *native.contiguous(parameters_from(Ordering, arrays)))


def test_thresholds_of_another_shape_are_refused_by_the_native_core() -> None:
    plan, rows = _plan("cells")
    stage: Any = plan.stages[0]
    right = stage.thresholds.middle
    for wrong in (right[:-1], right[:, :-1], right[:, :, :-1]):
        for low, high in ((right, wrong), (wrong, right)):
            with pytest.raises(ValueError, match="do not fit together"):
                stage._core.stage(np.ascontiguousarray(low), np.ascontiguousarray(high))
    with pytest.raises(ValueError, match="do not fit together"):
        stage._core.order(rows)


def test_arrays_for_another_machine_are_refused() -> None:
    plan, _ = _plan("cells")
    rng = np.random.default_rng(1)
    for other in (
        by_hand(RBF(0.3), rng.normal(size=(200, 4)), rng.normal(size=200)),
        by_hand(RBF(0.3), rng.normal(size=(200, 8)), rng.normal(size=200)),
        by_hand(RBF(0.3), rng.normal(size=(20, 8)), rng.normal(size=(20, 3)), rule=plan.machine.rule),
        by_hand(RBF(0.3), rng.normal(size=(200, 8)), rng.normal(size=(200, 3)), rule=Value(flat=False)),
    ):
        with pytest.raises(ValueError, match="nearest"):
            Nearest.restore(other, *plan.stages[0].state())


@pytest.mark.parametrize("size", [1e-300, 1e160, 1e300])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("form", ["query", "cells"])
def test_extreme_numbers_in_a_file_do_no_harm(form: str, name: str, size: float) -> None:
    """Thresholds made up by hand mean nothing; they may settle rows, but not crash."""
    plan, rows = _plan(form)
    arrays = plan.stages[0].state()[1]
    with np.errstate(over="ignore"):
        changed = np.clip(arrays[name] * size, -1e308, 1e308)
    found = Nearest.restore(plan.machine, {}, arrays | {name: changed}).decide(rows)
    assert set(found.answers.tolist()) <= {-1, 0, 1, 2}

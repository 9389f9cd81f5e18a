"""Reduced sets in plan files: they come back to the bit, and arrays that no build gave are refused.

Whoever writes a file can write any certificate into it; what must not happen is that the process reads outside an
array or settles rows from numbers that mean nothing.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF, Sigmoid
from dormie.methods.base import names_of
from dormie.methods.dense import Dense
from dormie.methods.reduced_set import METHOD, CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics import backend as native
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor
from tests.methods.files import RISK, Change, assert_comes_back, put, set_at, typed, without
from tests.plan.file.plans import assert_same_plan, with_stage_arrays, written
from tests.properties.strategies import by_hand, machine

SIZES = [7, 20, 40]
TOTAL = sum(SIZES)


def _plan() -> tuple[Plan, Floats]:
    made, _ = machine(RBF(0.3), 60, 3, 3)
    stage = ReducedSet.project(made, made.points[w_greedy(made, SIZES[-1])], SIZES)
    rows = np.random.default_rng(0).normal(size=(300, 3))
    return Plan(made, Cascade.of(stage, Dense(made)), Exact(), Source("a test", 60, {})), rows


def test_a_plan_with_a_reduced_set_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


def _calibrated() -> CalibratedReducedSet:
    made, _ = machine(RBF(0.3), 60, 3, 3)
    levels = Levels.of(made.points[:8], [np.random.default_rng(1).normal(size=(8, 3))], 3)
    return CalibratedReducedSet(made, levels, np.full((1, 3), 0.25))


@pytest.mark.parametrize("caution", [2, np.float32(2), np.int64(2)])
def test_a_caution_of_any_type_of_number_comes_back(caution: float, tmp_path: Path) -> None:
    stage = _calibrated()
    cascade = Cascade((stage, Dense(stage.machine)), (caution, 1.0))
    plan = Plan(stage.machine, cascade, RISK, Source("a test", 60, {}))
    assert_comes_back(plan, np.random.default_rng(0).normal(size=(50, 3)), tmp_path / "plan")
    again = load_plan(tmp_path / "plan").cascade
    assert [type(number) for number in again.cautions] == [float, float]
    assert isinstance(again.stages[0], CalibratedReducedSet)
    np.testing.assert_array_equal(again.stages[0].half_widths, 0.25)


@pytest.mark.parametrize("caution", [-1, np.nan, np.inf, "2", None, True])
def test_a_caution_that_half_widths_cannot_be_scaled_by_is_refused(caution: Any) -> None:
    stage = _calibrated()
    for use in (lambda: Cascade((stage,), (caution,)), lambda: stage.decide(stage.machine.points, caution)):
        with pytest.raises(ValueError, match="caution must be a finite number of at least 0"):
            use()


@pytest.mark.parametrize("caution", [-1.0, np.nan, np.inf])
def test_the_native_core_checks_cautions_for_itself(caution: float) -> None:
    stage = _calibrated()
    assert isinstance(stage._core, native.extension.ReducedSet)
    with pytest.raises(ValueError, match="caution must be finite and at least 0"):
        stage._core.stage(caution, True)


def test_a_predictor_gives_the_full_sums_answers() -> None:
    plan, rows = _plan()
    dense = Predictor(Plan(plan.machine, Cascade.of(Dense(plan.machine)), Exact(), plan.source))
    np.testing.assert_array_equal(Predictor(plan).predict(rows), dense.predict(rows))


FLOATS = ("points", "weights", "half_widths")
ARRAYS = (*names_of(Levels), "half_widths")
SHAPES = {"empty": (0, 3), "short": (6, 3), "long": (TOTAL + 1, 3), "wide": (TOTAL, 4), "flat": (9,), "a number": ()}
WRONG_SIZES = {
    "none": [],
    "zero first": [0, 20, 40],
    "negative": [-7, 20, 40],
    "twice the same": [20, 20, 40],
    "falling": [20, 7, 40],
    "past the vectors": [7, 20, 41],
    "short of the vectors": [7, 20, 39],
    "other sum": [8, 20, 40],
    "enormous": [7, 2**62, 2**63 - 1],
    "wrapping": [2**62, 2**62 + 1, 40],
    "in a row": [[7, 20, 40]],
    "a number": 40,
}
CHANGES: dict[str, Change] = {
    **{f"{name} {how}": put(name, np.ones(shape)) for name in ARRAYS for how, shape in SHAPES.items()},
    **{f"{name} deep": put(name, np.ones((3, 3, 1))) for name in ARRAYS},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in FLOATS},
    **{f"{name} infinite": set_at(name, -1, np.inf) for name in FLOATS},
    **{f"{name} of float32": typed(name, np.float32) for name in ARRAYS},
    **{f"{name} of int32": typed(name, np.int32) for name in ARRAYS},
    **{f"{name} missing": without(name) for name in ARRAYS},
    **{f"sizes {how}": put("sizes", np.array(sizes, dtype=np.int64)) for how, sizes in WRONG_SIZES.items()},
    "half-widths negative": set_at("half_widths", (1, 2), -1e-3),
    "one array more": lambda arrays: arrays | {"extra": np.ones(3)},
}


def test_a_file_left_alone_is_accepted(tmp_path: Path) -> None:
    plan, _ = _plan()
    assert_same_plan(plan, load_plan(written(tmp_path, with_stage_arrays(plan, plan.stages[0].state()[1]))))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_build_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    for stage in METHOD.stages:
        with pytest.raises(ValueError, match="reduced_set: "):
            stage.restore(plan.machine, {}, arrays)


@pytest.mark.parametrize("sizes", [s for how, s in WRONG_SIZES.items() if how not in ("in a row", "a number")], ids=str)
def test_the_native_core_checks_for_itself(sizes: list[int]) -> None:
    plan, _ = _plan()
    points, _, weights, rho = (plan.stages[0].state()[1][name] for name in ARRAYS)
    kept = native.native_machine(plan.machine)
    assert kept is not None
    with pytest.raises(ValueError, match="do not fit together"):
        native.extension.ReducedSet(kept, points, np.array(sizes, dtype=np.int64), weights, rho)


def test_numbers_it_does_not_know_are_refused() -> None:
    plan, _ = _plan()
    for name, stage in itertools.product(("budget", "certified", "caution"), METHOD.stages):
        with pytest.raises(ValueError, match="another stage"):
            stage.restore(plan.machine, {name: 1.0}, plan.stages[0].state()[1])


def test_vectors_for_another_machine_are_refused() -> None:
    plan, _ = _plan()
    rng = np.random.default_rng(1)
    for other in (
        by_hand(RBF(0.3), rng.normal(size=(5, 4)), rng.normal(size=5)),
        by_hand(RBF(0.3), rng.normal(size=(5, 3)), rng.normal(size=5)),
        by_hand(Sigmoid(0.3), rng.normal(size=(5, 3)), rng.normal(size=5)),
    ):
        for stage in METHOD.stages:
            with pytest.raises(ValueError, match="reduced_set"):
                stage.restore(other, *plan.stages[0].state())


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("name", FLOATS)
def test_extreme_numbers_in_a_file_do_no_harm(name: str, size: float) -> None:
    """Certificates made up by hand mean nothing; they may settle rows, but not crash."""
    plan, rows = _plan()
    arrays = plan.stages[0].state()[1]
    for stage in METHOD.stages:
        found = stage.restore(plan.machine, {}, arrays | {name: arrays[name] * size}).decide(rows)
        assert set(found.answers.tolist()) <= {-1, 0, 1, 2}

"""Geometry stages in plan files: they come back to the bit, and arrays that no build gave are refused.

Whoever writes a file can write any certificate into it, checksums included; what must not happen is that the process
reads outside an array or settles rows from numbers that mean nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF, Sigmoid
from dormie.methods.base import names_of
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.methods.geometry.span import Span
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor
from tests.methods.files import Change, assert_comes_back, set_at, typed, without
from tests.plan.file.plans import assert_same_plan, with_stage_arrays, written
from tests.properties.strategies import by_hand, machine

K = 20


def _plan() -> tuple[Plan, Floats]:
    made, _ = machine(RBF(0.3), 60, 3, 3)
    stage = Geometry.build(made, made.points[w_greedy(made, K)])
    rows = np.random.default_rng(0).normal(size=(300, 3))
    return Plan(made, Cascade.of(stage, Dense(made)), Exact(), Source("a test", 60, {})), rows


def test_a_plan_with_landmarks_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


def test_a_predictor_gives_the_full_sums_answers() -> None:
    plan, rows = _plan()
    dense = Predictor(Plan(plan.machine, Cascade.of(Dense(plan.machine)), Exact(), plan.source))
    np.testing.assert_array_equal(Predictor(plan).predict(rows), dense.predict(rows))


def _shaped(name: str, shape: tuple[int, ...]) -> Change:
    return lambda arrays: arrays | {name: np.ones(shape)}


ARRAYS = names_of(Span)
CHANGES: dict[str, Change] = {
    **{f"{name} empty": _shaped(name, (0, 3)) for name in ARRAYS},
    **{f"{name} short": _shaped(name, (K - 1, 3)) for name in ARRAYS},
    **{f"{name} long": _shaped(name, (K + 1, 4)) for name in ARRAYS},
    **{f"{name} flat": _shaped(name, (K * 3,)) for name in ARRAYS},
    **{f"{name} a number": _shaped(name, ()) for name in ARRAYS},
    **{f"{name} deep": _shaped(name, (K, 3, 1)) for name in ARRAYS},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in ARRAYS},
    **{f"{name} infinite": set_at(name, -1, np.inf) for name in ARRAYS},
    **{
        f"{name} negative": set_at(name, 2, -1e-3) for name in ARRAYS if name not in ("points", "factor", "coordinates")
    },
    **{f"{name} of float32": typed(name, np.float32) for name in ARRAYS},
    **{f"{name} of whole numbers": typed(name, np.int64) for name in ARRAYS},
    **{f"{name} missing": without(name) for name in ARRAYS},
    "factor with a zero on its diagonal": set_at("factor", (3, 3), 0.0),
    "factor with a negative diagonal": set_at("factor", (3, 3), -1.0),
    "one array more": lambda arrays: arrays | {"extra": np.ones(3)},
}


def _crafted(plan: Plan, change: Change, numbers: dict[str, Any] | None = None) -> bytes:
    return with_stage_arrays(plan, change(plan.stages[0].state()[1]), numbers)


def test_a_file_left_alone_is_accepted(tmp_path: Path) -> None:
    plan, _ = _plan()
    assert_same_plan(plan, load_plan(written(tmp_path, _crafted(plan, lambda arrays: arrays))))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_build_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    stage = plan.stages[0]
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, _crafted(plan, change)))
    with pytest.raises(ValueError, match="geometry: "):
        Geometry.restore(plan.machine, {"budget": K}, change(stage.state()[1]))


@pytest.mark.parametrize("budget", [0, -1, K + 1, 2**62, True, 3.0, "3"])
def test_a_budget_that_does_not_fit_is_refused(budget: Any, tmp_path: Path) -> None:
    plan, _ = _plan()
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, _crafted(plan, lambda arrays: arrays, {"budget": budget})))


def test_a_smaller_budget_is_kept_to(tmp_path: Path) -> None:
    plan, rows = _plan()
    loaded = load_plan(written(tmp_path, _crafted(plan, lambda arrays: arrays, {"budget": 5})))
    assert np.max(loaded.stages[0].decide(rows).evaluations) == 5


def test_numbers_it_does_not_know_are_refused(tmp_path: Path) -> None:
    plan, _ = _plan()
    with pytest.raises(PlanFileError, match="another stage"):
        load_plan(written(tmp_path, _crafted(plan, lambda arrays: arrays, {"budget": 5, "speed": 2})))


def test_landmarks_for_another_machine_are_refused() -> None:
    plan, _ = _plan()
    stage = plan.stages[0]
    rng = np.random.default_rng(1)
    for other in (
        by_hand(RBF(0.3), rng.normal(size=(5, 4)), rng.normal(size=5)),
        by_hand(RBF(0.3), rng.normal(size=(5, 3)), rng.normal(size=5)),
        by_hand(Sigmoid(0.3), rng.normal(size=(5, 3)), rng.normal(size=5)),
    ):
        with pytest.raises(ValueError, match="geometry"):
            Geometry.restore(other, *stage.state())


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("name", ARRAYS)
def test_extreme_numbers_in_a_file_do_no_harm(name: str, size: float) -> None:
    """Certificates made up by hand mean nothing; they may settle rows, but not crash."""
    plan, rows = _plan()
    arrays = {
        n: np.tril(a * size) if n == "factor" else a * size if n == name else a
        for n, a in plan.stages[0].state()[1].items()
    }
    try:
        stage = Geometry.restore(plan.machine, {"budget": K}, arrays)
    except ValueError:
        return
    found = stage.decide(rows)
    assert set(found.answers.tolist()) <= {-1, 0, 1, 2}
    assert len(list(stage.steps(rows[:1]))) == K

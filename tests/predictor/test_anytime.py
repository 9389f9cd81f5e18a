"""Intervals before the work is done: they hold, narrow, intersect, and cost what was allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

import dormie
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import ReducedSet
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.anytime import Step


@pytest.fixture(scope="module", params=["geometry", "fast_stopping", "dense"])
def fast(request: pytest.FixtureRequest, moons: tuple[SVC, Any]) -> dormie.Predictor:
    return dormie.compile(moons[0], methods=[request.param])


@pytest.mark.parametrize("budget", [0, 1, 16, 100, 300, 10_000, None])
def test_intervals_contain_the_output(fast: dormie.Predictor, moons: tuple[SVC, Any], budget: int | None) -> None:
    svc, X = moons
    low, high = fast.interval(X, budget=budget)
    assert low.shape == high.shape == (len(X),)
    full = svc.decision_function(X)
    assert (low <= full + 1e-9).all()
    assert (full <= high + 1e-9).all()
    if budget is None:
        assert (high - low).max() < 1e-9


def test_a_larger_budget_never_leaves_more_open(moons: tuple[SVC, Any]) -> None:
    fast = dormie.compile(moons[0], methods=["geometry"])
    shares = []
    for budget in (16, 32, 64, 128):
        low, high = fast.interval(moons[1], budget=budget)
        shares.append(float(((low > 0) | (high < 0)).mean()))
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_steps_narrow_and_end_in_the_full_sum(fast: dormie.Predictor, moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    for x in X[:5]:
        steps = list(fast.anytime(x))
        low, high = np.array([s.low[0] for s in steps]), np.array([s.high[0] for s in steps])
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) <= 0).all()
        assert (np.diff([s.evaluations for s in steps]) > 0).all()
        assert steps[-1].evaluations - steps[-2].evaluations == fast.plan.machine.n_points
        assert low[-1] - 1e-9 <= svc.decision_function(x[None])[0] <= high[-1] + 1e-9


def test_steps_are_worked_out_as_they_are_asked_for(moons: tuple[SVC, Any]) -> None:
    steps = dormie.compile(moons[0], methods=["geometry"]).anytime(moons[1][:1])
    assert next(steps).evaluations == 1
    assert next(steps).evaluations == 2


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-1.0, 3.0, 0.75),
        (-3.0, 1.0, 0.25),
        (0.5, 2.0, 1.0),
        (-2.0, -0.5, 0.0),
        (0.0, 0.0, 1.0),
        (-1.0, 0.0, 0.0),
        (-np.inf, np.inf, 0.5),
        (-np.inf, 3.0, 0.0),
        (-1.0, np.inf, 1.0),
        (-1e308, 1e308, 0.5),
        (-np.inf, -1.0, 0.0),
        (1.0, np.inf, 1.0),
    ],
)
def test_p_positive_is_the_share_of_the_interval_above_zero(low: float, high: float, expected: float) -> None:
    assert Step(1, np.array([low]), np.array([high])).p_positive == pytest.approx([expected])


def test_intervals_of_all_certified_stages_intersect_within_the_budget(moons: tuple[SVC, Any]) -> None:
    machine = dormie.compile(moons[0], methods=[]).plan.machine
    few = ReducedSet.project(machine, machine.points[:16], [8, 16])
    geometry = Geometry.build(machine, machine.points[:32])
    fast = dormie.Predictor(
        Plan(machine, Cascade.of(few, geometry, Dense(machine)), Exact(), Source("moons", machine.n_points))
    )
    rows = moons[1][:50]
    for budget, shares in {7: (0, 7), 8: (8, 0), 20: (16, 4), 64: (16, 32)}.items():
        ends = [few.interval(rows, shares[0]), geometry.interval(rows, shares[1])]
        low, high = np.maximum(ends[0][0], ends[1][0])[:, 0], np.minimum(ends[0][1], ends[1][1])[:, 0]
        found = fast.interval(rows, budget=budget)
        np.testing.assert_allclose(found, (low, high))
        assert np.isfinite(found).all()
        full = moons[0].decision_function(rows)
        assert ((found[0] <= full + 1e-9) & (full <= found[1] + 1e-9)).all()


def test_several_outputs_have_an_interval_each() -> None:
    X, y = load_iris(return_X_y=True)
    svc = SVC(decision_function_shape="ovo").fit(X, y)
    fast = dormie.compile(svc)
    low, high = fast.interval(X, budget=10_000)
    full = svc.decision_function(X)
    assert low.shape == full.shape
    assert ((low <= full + 1e-9) & (full <= high + 1e-9)).all()


def test_wrong_requests_are_explained(fast: dormie.Predictor, moons: tuple[SVC, Any]) -> None:
    with pytest.raises(ValueError, match="budget"):
        fast.interval(moons[1], budget=-1)
    for budget in (64.0, "64"):
        with pytest.raises(TypeError, match="budget must be a whole number of kernel evaluations"):
            fast.interval(moons[1], budget=budget)  # type: ignore[arg-type]
    for deadline in ("20ms", np.timedelta64(20, "ms"), np.timedelta64(20, "ns")):
        with pytest.raises(TypeError, match=r"deadline must be a number of seconds, .* got .*20"):
            fast.predict(moons[1], deadline=deadline)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="deadline is NaN"):
        fast.predict(moons[1], deadline=float("nan"))
    with pytest.raises(ValueError, match="deadline is out of range"):
        fast.predict(moons[1], deadline=10**400)
    with pytest.raises(ValueError, match="one row"):
        fast.anytime(moons[1][:2])
    with pytest.raises(ValueError, match="columns"):
        fast.anytime(np.zeros(7))


def test_a_value_that_is_not_finite_is_named_by_its_place_among_all_rows(
    fast: dormie.Predictor, moons: tuple[SVC, Any]
) -> None:
    X = moons[1].copy()
    X[211, 1] = np.nan
    for budget in (0, 16, None):
        with pytest.raises(ValueError, match="row 211, column 1 is NaN"):
            fast.interval(X, budget=budget)
    for deadline in (-1.0, 0.0, 30.0):
        with pytest.raises(ValueError, match="row 211, column 1 is NaN"):
            fast.predict(X, deadline=deadline)
    with pytest.raises(ValueError, match="row 0, column 1 is NaN"):
        fast.anytime(X[211])


def test_exact_values_have_intervals_before_the_full_sum() -> None:
    """No stage of such a plan gives intervals, so one that needs no fitting does."""
    rows = np.random.default_rng(0).normal(size=(300, 3))
    fast = dormie.compile(SVR(epsilon=0.0).fit(rows, rows[:, 0]))
    assert [stage.name for stage in fast.plan.stages] == ["dense"]
    low, high = fast.interval(rows, budget=fast.plan.machine.n_points - 1)
    values = fast.predict(rows)
    assert np.isfinite(high - low).all()
    assert ((low <= values) & (values <= high)).all()
    assert (high - low).max() > 1e-6  # not the full sum's


def test_a_budget_far_beyond_the_plans_own_stages_buys_partial_sums(moons: tuple[SVC, Any]) -> None:
    machine = dormie.compile(moons[0], methods=[]).plan.machine
    few = ReducedSet.project(machine, machine.points[:1], [1])
    plan = Plan(machine, Cascade.of(few, Dense(machine)), Exact(), Source("moons", machine.n_points))
    fast, rows = dormie.Predictor(plan), moons[1][:50]
    narrow, wide = (np.subtract(*fast.interval(rows, budget=budget)[::-1]) for budget in (machine.n_points - 1, 64))
    assert (narrow < wide).all()
    assert len([*fast.anytime(rows[0])]) > 2

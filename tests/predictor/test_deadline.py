"""Answers at a deadline: what is settled is `predict`'s, the rest is guessed, and time goes where it helps most."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.base import CertifiedStage, Decisions
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.planner import guess
from dormie.planner.costs import Timed
from dormie.predictor.deadline import answers_by
from dormie.progress import Progress
from tests.methods.stages import StageByHand


@pytest.fixture(scope="module", params=["geometry", "fast_stopping", "dense"])
def fast(request: pytest.FixtureRequest, moons: tuple[SVC, Any]) -> dormie.Predictor:
    return dormie.compile(moons[0], methods=[request.param])


def test_a_generous_deadline_settles_every_row(fast: dormie.Predictor, moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    found = fast.predict(X, deadline=30.0)
    assert found.settled.all()
    assert (found.labels == svc.predict(X)).all()


def test_a_deadline_already_passed_gives_guesses(fast: dormie.Predictor, moons: tuple[SVC, Any]) -> None:
    found = fast.predict(moons[1], deadline=0.0)
    assert len(found.labels) == len(moons[1])
    assert not found.settled.any()


def test_what_is_settled_at_a_deadline_is_right(fast: dormie.Predictor, moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    expected = svc.predict(X)
    for deadline in (1e-4, 1e-3, 1e-2):
        found = fast.predict(X, deadline=deadline)
        assert (found.labels == expected)[found.settled].all()


class _Clock:
    """A clock that only the stages of a test move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


_POINTS = np.zeros((40_000, 1))  # as many as take the time of the slowest full sum below
MACHINE = Machine(RBF(1.0), _POINTS, np.ones(40_000), np.array([-1.0]), Sign(np.array([0, 1])))


class _Timed(StageByHand, CertifiedStage):
    """Settles rows whose output, their only feature, is further than a half-width from 0; estimates it to within that.

    Every call and every row takes its time by the clock.
    """

    name = "dense"
    machine = MACHINE
    budgets = (1,)

    def __init__(self, clock: _Clock, half: float, seconds: float) -> None:
        self.clock, self.half, self.seconds, self.asked = clock, half, seconds, list[Floats]()
        self.full_sum = Dense(MACHINE).full_sum

    def _work(self, rows: Any) -> None:
        self.clock.now += 1e-5 + self.seconds * len(rows)
        self.asked.append(rows)

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - it has none
        self._work(rows)
        settled = np.abs(rows[:, 0]) > self.half
        return Decisions(np.where(settled, rows[:, 0] > 0, -1), settled, 1)

    def estimate(self, rows: Any) -> Floats:
        self._work(rows)
        return np.asarray(rows + 0.9 * self.half * np.cos(1e4 * rows))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        raise NotImplementedError


def _plan(*stages: _Timed, guessing: _Timed | None = None) -> Plan:
    plan = Plan(MACHINE, Cascade.of(*stages), Exact(), Source("by the clock", 1))
    return replace(plan, guess=guessing)


def _run(clock: _Clock, plan: Plan, rows: Floats, seconds: float) -> tuple[float, float, float]:
    """The shares of rows that are settled and wrong, and how late the answers are."""
    end = clock.now + seconds
    answers, settled = answers_by(end, plan, rows, np.zeros(1, dtype=int))
    right = rows[:, 0] > 0
    assert (answers == right)[settled].all()
    return float(settled.mean()), float(np.mean(answers != right)), clock.now - end


def _seconds(rows: Floats, *stages: _Timed) -> float:
    """The time that the stages take for all rows, as `predict` runs them."""
    total = 0.0
    for stage in stages:
        total += 1e-5 + stage.seconds * len(rows)
        rows = rows[np.abs(rows[:, 0]) <= stage.half]
    return total


ROWS = np.random.default_rng(0).normal(size=(50_000, 1))
PLANS = {  # half-widths and seconds of the stages, and of the guess
    "a slow full sum and a cheap guess": ([(0.0, 7e-5)], (0.3, 1e-6)),
    "a cheap first stage": ([(0.3, 1e-6), (0.1, 2e-6), (0.0, 4e-5)], None),
    "a slow first stage that leaves open what the guess has wrong": ([(0.3, 1e-5), (0.0, 2e-5)], (0.3, 1e-7)),
    "all of it in the first stage": ([(0.02, 1.5e-7), (0.0, 1e-6)], (0.3, 2e-8)),
}


@pytest.mark.parametrize("name", PLANS)
def test_time_goes_where_it_helps_most(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, (stages, cheap) = _Clock(monkeypatch), PLANS[name]
    timed = [_Timed(clock, *each) for each in stages]
    plan = _plan(*timed, guessing=None if cheap is None else _Timed(clock, *cheap))
    whole = _seconds(ROWS, *timed)
    for share, least_settled, most_wrong in ((0.5, 0.0, 0.125), (1.0, 0.5, 0.01), (1.5, 0.99, 0.0), (2.0, 1.0, 0.0)):
        settled, wrong, late = _run(clock, plan, ROWS, share * whole)
        assert settled >= least_settled
        assert wrong <= most_wrong  # in the order of rows half as much time would leave a quarter of them wrong
        assert late <= 1e-3


@pytest.mark.parametrize("name", [*PLANS, "a first stage that leaves many rows open"])
def test_more_time_never_makes_many_more_answers_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a stage leaves open in the last moment have an estimate, too."""
    open_rows = ([(0.3, 1e-6), (0.0, 1e-6)], (0.5, 1e-7))
    clock, (stages, cheap) = _Clock(monkeypatch), PLANS.get(name, open_rows)
    timed = [_Timed(clock, *each) for each in stages]
    plan = _plan(*timed, guessing=None if cheap is None else _Timed(clock, *cheap))
    whole = _seconds(ROWS, *timed)
    wrong = [_run(clock, plan, ROWS, share * whole)[1] for share in np.arange(0.1, 2.0, 0.05)]
    assert (np.diff(wrong) < 0.02).all()
    assert wrong[-1] == 0


def test_after_the_first_stage_the_most_doubtful_rows_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    first, last = _Timed(clock, 0.5, 1e-6), _Timed(clock, 0.0, 1e-4)
    answers_by(np.inf, _plan(first, last), ROWS[:5000], np.zeros(1, dtype=int))
    estimates = np.abs(first.estimate(np.concatenate(last.asked))[:, 0])
    assert (np.diff(estimates) > -0.01 * estimates[:-1]).all()


def test_nothing_is_worked_out_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of the first stage takes longer than there is time: its estimate would take as long again."""
    clock = _Clock(monkeypatch)
    first = _Timed(clock, 1e9, 2.0)
    _, _, late = _run(clock, _plan(first, _Timed(clock, 0.0, 2.0)), ROWS[:1], 1.0)
    assert len(first.asked) == 1
    assert late == pytest.approx(1.0, abs=1e-3)


def test_every_row_goes_through_the_stages_once_when_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    stage = _Timed(clock, 0.0, 1e-6)
    settled, wrong, _ = _run(clock, _plan(stage, guessing=_Timed(clock, 1.0, 1e-8)), ROWS, 30.0)
    assert (settled, wrong) == (1.0, 0.0)
    assert len(stage.asked) > 1  # in pieces
    np.testing.assert_array_equal(np.concatenate(stage.asked), ROWS)


def test_a_stage_for_guesses_is_kept_saved_and_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Whatever the clock says of the first stage: it takes all of the time here, and the guess a hundredth."""
    monkeypatch.setattr(Timed, "of_cascades", lambda _, cascades, __: [1.0, 1.0, 0.01][: len(cascades)])
    X, y = make_moons(3000, noise=0.3, random_state=0)
    svr = SVR(C=10, gamma=5.0).fit(X, y)
    fast = dormie.compile(svr)
    assert fast.plan.guess is not None
    assert f"estimates come from:\n  {fast.plan.guess}" in fast.explain()
    assert np.corrcoef(fast.plan.guess.estimate(X)[:, 0], fast.predict(X))[0, 1] > 0.8
    fast.save(tmp_path / "plan")
    loaded = dormie.load(tmp_path / "plan")
    assert loaded.plan.guess is not None
    np.testing.assert_array_equal(loaded.plan.guess.estimate(X), fast.plan.guess.estimate(X))
    assert dormie.compile(svr, methods=[]).plan.guess is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [([1.0, 0.1, 0.01], None), ([1.0, 1.0, 0.01], "reduced_set"), ([1.0, 1.0, 0.5], "linear_filter")],
)
def test_the_stage_for_guesses_is_as_cheap_as_the_plan_needs(
    times: list[float], expected: str | None, moons: tuple[SVC, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """times: of the whole plan, of its first stage, and of a reduced set"""
    monkeypatch.setattr(Timed, "of_cascades", lambda *_: times)
    machine = dormie.read(moons[0])
    found = guess.guess_stage(Cascade.of(Dense(machine)), moons[1], Timed(), 0, Progress())
    assert (None if found is None else found.name) == expected


@pytest.mark.parametrize(("points", "expected"), [(63, None), (64, "reduced_set"), (300, "reduced_set")])
def test_small_machines_have_a_stage_for_guesses_unless_they_are_tiny(
    points: int, expected: str | None, moons: tuple[SVC, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Timed, "of_cascades", lambda *_: [1.0, 1.0, 0.01])
    rng = np.random.default_rng(0)
    small = Machine(
        RBF(1.0), rng.normal(size=(points, 2)), rng.normal(size=points), np.zeros(1), Sign(np.array([0, 1]))
    )
    found = guess.guess_stage(Cascade.of(Dense(small)), moons[1], Timed(), 0, Progress())
    assert (None if found is None else found.name) == expected


def test_a_plan_with_a_risk_settles_what_its_own_stages_settle() -> None:
    X, y = make_moons(6000, noise=0.3, random_state=0)
    svc = SVC(gamma=2.0, C=10).fit(X[:2000], y[:2000])
    fast = dormie.compile(svc, X[2000:], risk=0.02, methods=["linear_filter", "reduced_set"], effort="quick")
    found = fast.predict(X, deadline=30.0)
    assert found.settled.all()
    np.testing.assert_array_equal(found.labels, fast.predict(X))

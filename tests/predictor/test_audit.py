"""The audit: an interval that may be looked at any time, few false alarms, quick true ones, and the cost it says."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import dormie
from dormie.errors import BrokenPromiseWarning
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign, Value
from dormie.methods.base import Decisions
from dormie.methods.dense import Dense, Float32Dense
from dormie.numerics import reference
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Evidence, Exact, Guarantee, Risk
from dormie.plan.plan import Plan, Source
from dormie.predictor.audit import Status
from tests.methods.stages import StageByHand
from tests.predictor.test_evidence import interval

ALPHA = 0.01
RISK = Risk(ALPHA, 0.95, Evidence(1000, 0, 4.4e-5, 1, 1, "2024-12-31", 0))
MACHINE = Machine(RBF(1.0), np.zeros((2, 2)), np.zeros((2, 1)), np.full(1, -1.0), Sign(np.array(["no", "yes"])))


class _Hasty(StageByHand):
    """Says yes, which is wrong, where the first feature is 1; says no where it is 0; leaves the rest open."""

    name = "hasty"
    words = "in haste"
    machine = MACHINE

    certified = False

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - it has none
        first = rows[:, [0]].toarray()[:, 0] if scipy.sparse.issparse(rows) else rows[:, 0]
        return Decisions((first == 1).astype(np.intp), (first == 0) | (first == 1), np.full(len(first), 1))


class _Sure(_Hasty):
    certified = True


class _CountingSum(FullSum):
    """A full sum that keeps the rows it decides."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.decided: list[Any] = []
        self.core = _CountingCore(machine, self.decided)


class _CountingCore(reference.Dense):
    def __init__(self, machine: Machine, decided: list[Any]) -> None:
        super().__init__(machine)
        self._decided = decided

    def decide(self, rows: Any) -> Any:
        self._decided.append(rows)
        return super().decide(rows)


# As MACHINE, with points enough for rows to be like or unlike them.
CROWD = replace(MACHINE, points=np.random.default_rng(0).normal(size=(500, 2)), weights=np.zeros((500, 1)))


def _predictor(guarantee: Guarantee = RISK, certified: bool = False, machine: Machine = MACHINE) -> dormie.Predictor:
    stages = _Sure() if certified else _Hasty(), Dense(machine, _CountingSum(machine))
    return dormie.Predictor(Plan(machine, Cascade.of(*stages), guarantee, Source("by hand", 2)))


def _evaluated_in_full(fast: dormie.Predictor) -> int:
    full_sum = fast.plan.full_sum
    assert isinstance(full_sum, _CountingSum)
    return sum(rows.shape[0] for rows in full_sum.decided)


def _rows(count: int, wrong: float, seed: int = 0) -> Floats:
    """Rows on a share of which the plan is wrong; the second feature numbers them."""
    first = np.random.default_rng(seed).random(count) < wrong
    return np.column_stack([first.astype(np.float64), np.arange(count)])


def test_answers_are_those_of_the_plan() -> None:
    fast = _predictor()
    rows = np.vstack([_rows(300, 0.5), [[7.0, 0.0]] * 100])
    watched = fast.audited(0.3, callback=lambda _: None, seed=0)
    with pytest.warns(BrokenPromiseWarning):
        found = watched.predict(rows)
    np.testing.assert_array_equal(found, fast.predict(rows))
    np.testing.assert_array_equal(watched.decision_function(rows), fast.decision_function(rows))
    assert watched.trace(rows).stage.tolist() == fast.trace(rows).stage.tolist()
    assert watched.predict(rows[:0]).shape == (0,)


def test_the_status_counts_rows_audited_rows_and_disagreements() -> None:
    watched = _predictor().audited(1.0, confidence=0.95, seed=0)
    assert watched.status == Status(0, 0, 0, 0.0, 1.0, ALPHA, broken=False)
    rows = _rows(1000, 0.002)
    wrong = int(rows[:, 0].sum())
    assert wrong > 0
    watched.predict(rows[:400])
    watched.predict(scipy.sparse.csr_array(rows[400:]))
    low, high = interval(1000, wrong, 0.95)
    assert watched.status == Status(1000, 1000, wrong, low, high, ALPHA, broken=False)
    assert f"1,000 of 1,000 rows audited, {wrong} disagreements; " in repr(watched)
    assert str(watched.status).endswith(": not broken")


def test_the_alarm_is_raised_once_by_callback_and_warning() -> None:
    told: list[Status] = []
    watched = _predictor().audited(0.5, callback=told.append, seed=0)
    watched.predict(_rows(2000, 0.001))
    assert told == []
    with pytest.warns(BrokenPromiseWarning, match="promised at most 1 %: broken") as caught:
        watched.predict(_rows(2000, 0.1))
    assert caught[0].filename == __file__
    assert len(told) == 1
    assert told[0] == watched.status
    assert told[0].broken
    assert told[0].low > ALPHA
    watched.predict(_rows(2000, 0.1))  # a second warning would be an error here
    watched.predict(_rows(100_000, 0.0))
    assert watched.status.low < ALPHA
    assert watched.status.broken
    assert len(told) == 1


def test_a_warning_turned_into_an_error_leaves_the_audit_in_order() -> None:
    told: list[Status] = []
    watched = _predictor().audited(1.0, callback=told.append, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BrokenPromiseWarning):
            watched.predict(_rows(1000, 0.5))
    assert len(told) == 1
    assert watched.predict(_rows(5, 0.0)).tolist() == ["no"] * 5
    assert watched.status.audited == 1005


@pytest.mark.parametrize("rows", [80_000, 1_000_000])
def test_one_disagreement_after_long_good_service_is_no_alarm(rows: int) -> None:
    """The evidence is then smaller than any float."""
    watched = _predictor().audited(1.0, seed=0)
    watched.predict(np.zeros((rows, 2)))
    watched.predict(np.ones((1, 2)))
    assert watched.status.disagreements == 1
    assert not watched.status.broken


def test_a_callback_that_fails_does_not_keep_the_warning_back() -> None:
    def fails(_: Status) -> None:
        raise RuntimeError("the pager is out of order")

    watched = _predictor().audited(1.0, callback=fails, seed=0)
    with pytest.warns(BrokenPromiseWarning), pytest.raises(RuntimeError, match="pager"):
        watched.predict(_rows(1000, 0.5))
    assert watched.status.broken


def test_rows_are_drawn_in_blocks() -> None:
    watched = _predictor().audited(1.0, seed=0)
    drawn: list[int] = []
    random = watched._audit._random

    class Counting:
        def geometric(self, rate: float, size: int = 1) -> Any:
            drawn.append(size)
            return random.geometric(rate, size)

    watched._audit._random = Counting()  # type: ignore[assignment]
    watched.predict(np.zeros((100_000, 2)))
    assert watched.status.audited == 100_000
    assert len(drawn) <= 100


@pytest.mark.parametrize("rate", [1e-20, 1e-300, 5e-324])
def test_a_tiny_rate_draws_nothing(rate: float) -> None:
    watched = _predictor().audited(rate, seed=0)
    watched.predict(np.ones((10_000, 2)))
    assert watched.status.audited == 0


def test_the_audit_costs_what_the_rate_says() -> None:
    fast = _predictor()
    watched = fast.audited(0.01, seed=3)
    for _ in range(100):
        watched.predict(_rows(1000, 0.0))
    audited = watched.status.audited
    assert _evaluated_in_full(fast) == audited
    assert audited == pytest.approx(1000, abs=4 * math.sqrt(1000))


def test_rows_that_were_evaluated_in_full_anyway_are_not_evaluated_again() -> None:
    fast = _predictor()
    watched = fast.audited(1.0, seed=0)
    watched.predict(np.full((50, 2), 7.0))
    assert watched.status.audited == 50
    assert _evaluated_in_full(fast) == 50


def test_rows_that_a_certified_stage_settled_count_without_being_evaluated() -> None:
    fast = _predictor(certified=True)
    watched = fast.audited(1.0, seed=0)
    watched.predict(_rows(500, 0.5))
    assert (watched.status.audited, watched.status.disagreements) == (500, 0)
    assert _evaluated_in_full(fast) == 0


def test_a_full_sum_in_float32_is_evaluated_again() -> None:
    dense = Float32Dense(MACHINE, _CountingSum(MACHINE))
    fast = dormie.Predictor(Plan(MACHINE, Cascade.of(_Hasty(), dense), RISK, Source("by hand", 2)))
    watched = fast.audited(1.0, seed=0)
    watched.predict(np.full((50, 2), 7.0))
    assert watched.status.audited == 50
    assert _evaluated_in_full(fast) == 100


def test_which_rows_are_audited_depends_on_the_seed_and_not_on_batches() -> None:
    rows = _rows(600, 0.01, seed=5)

    def found(seed: int | None, size: int) -> tuple[int, int]:
        watched = _predictor().audited(0.2, seed=seed)
        for start in range(0, len(rows), size):
            watched.predict(rows[start : start + size])
        return watched.status.audited, watched.status.disagreements

    assert found(0, 600) == found(0, 1) == found(0, 77)
    assert len({found(seed, 600) for seed in range(5)}) > 1
    assert len({found(None, 600) for _ in range(5)}) > 1


def test_every_row_has_the_same_chance_to_be_audited() -> None:
    fast = _predictor()
    watched = fast.audited(0.1, seed=1)
    for _ in range(2000):
        watched.predict(_rows(10, 0.0))
    full_sum = fast.plan.full_sum
    assert isinstance(full_sum, _CountingSum)
    places = np.bincount(np.concatenate(full_sum.decided)[:, 1].astype(int), minlength=10)
    assert (np.abs(places - 200) < 4.5 * math.sqrt(200 * 0.9)).all()


def test_exact_plans_pass_through() -> None:
    fast = _predictor(Exact(), certified=True)
    watched = fast.audited(1.0)
    watched.predict(_rows(100, 0.0))
    assert watched.status == Status(100, 0, 0, 0.0, 0.0, None, broken=False)
    assert _evaluated_in_full(fast) == 0
    assert "no answer can disagree" in str(watched.status)


def test_an_audited_predictor_goes_on_after_pickling_where_it_was() -> None:
    rows = _rows(500, 0.004, seed=8)
    watched = _predictor().audited(0.3, seed=2)
    watched.predict(rows[:250])
    for again in (pickle.loads(pickle.dumps(watched)), copy.deepcopy(watched)):
        assert again.status == watched.status
        again.predict(rows[250:])
    watched.predict(rows[250:])
    assert again.status == watched.status
    assert again.status.rows == 500


def test_a_broken_promise_stays_broken_in_a_pickle() -> None:
    watched = _predictor().audited(1.0, seed=2)
    with pytest.warns(BrokenPromiseWarning):
        watched.predict(_rows(500, 0.5))
    again = pickle.loads(pickle.dumps(watched))
    assert again.status.broken
    again.predict(_rows(500, 0.5))  # without a second warning


def test_threads_lose_no_count() -> None:
    told: list[Status] = []
    watched = _predictor().audited(0.5, callback=told.append, seed=0)
    rows = _rows(50, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(watched.predict, [rows] * 400))
    assert all((found == answers[0]).all() for found in answers)
    status = watched.status
    assert status.rows == 20_000
    assert status.audited == pytest.approx(10_000, abs=5 * math.sqrt(5000))
    assert len(told) == 1
    one = _predictor().audited(0.5, callback=told.append, seed=0)
    with pytest.warns(BrokenPromiseWarning):
        one.predict(np.vstack([rows] * 400))
    assert (one.status.audited, one.status.rows) == (status.audited, status.rows)


@pytest.mark.parametrize("rate", [0, -0.1, 1.01, math.nan, math.inf])
def test_a_rate_that_is_no_share_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="rate must be above 0 and at most 1"):
        _predictor().audited(rate)


def test_other_bad_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="rate must be a number"):
        _predictor().audited("0.01")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callback must be a function of the status, got 3"):
        _predictor().audited(callback=3)  # type: ignore[arg-type]
    for confidence in (0, 1, math.nan):
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            _predictor().audited(confidence=confidence)


def test_rows_that_are_refused_are_not_counted() -> None:
    watched = _predictor().audited(1.0)
    with pytest.raises(ValueError, match="3 columns"):
        watched.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="row 0, column 0 is NaN"):
        watched.predict(np.full((4, 2), np.nan))
    assert watched.status.rows == 0


def test_answers_at_a_deadline_are_not_audited() -> None:
    fast = _predictor()
    watched = fast.audited(1.0)
    assert watched.predict(_rows(10, 0.5), deadline=60).settled.all()
    assert watched.status.rows == 0


def test_rows_unlike_the_support_vectors_are_audited_more_often() -> None:
    fast = _predictor(machine=CROWD)
    watched = fast.audited(0.05, unlike_rate=0.9, seed=0)
    rows = np.zeros((20_000, 2))
    rows[:, 1] = np.where(np.arange(20_000) % 2, 0.0, 50.0)
    watched.predict(rows)
    full_sum = fast.plan.full_sum
    assert isinstance(full_sum, _CountingSum)
    far = np.concatenate(full_sum.decided)[:, 1] > 0
    assert far.sum() == pytest.approx(8000, abs=4 * math.sqrt(1600))  # 0.05 * 2**4
    assert (~far).sum() == pytest.approx(500, abs=4 * math.sqrt(500))
    assert watched.status.audited == len(far)
    status = watched.status
    assert 0 == status.low < status.high < 0.02
    assert "audit of 5 % to 80 % of the rows: " in repr(watched)


def test_which_unlike_rows_are_audited_depends_on_the_seed_and_not_on_batches_or_pickling() -> None:
    rows = 3 * np.random.default_rng(0).normal(size=(900, 2))
    rows[:, 0] = np.arange(900) % 50 == 0

    def found(seed: int, size: int) -> Status:
        watched = _predictor(machine=CROWD).audited(0.1, unlike_rate=1.0, seed=seed)
        for start in range(0, len(rows), size):
            watched = pickle.loads(pickle.dumps(watched))
            watched.predict(rows[start : start + size])
        return watched.status

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPromiseWarning)
        assert found(0, 900) == found(0, 7) == found(0, 300)
        assert len({found(seed, 900).audited for seed in range(5)}) > 1


def test_a_promise_broken_on_unlike_rows_is_found_sooner() -> None:
    """One row in twenty comes from far away, and a plan is wrong on a third of those."""
    random = np.random.default_rng(3)
    rows = np.column_stack([np.zeros(20_000), random.normal(size=20_000) / 2])
    far = random.random(20_000) < 0.05
    rows[far, 1] = 50
    rows[far, 0] = random.random(far.sum()) < 0.33
    even, uneven = (_predictor(machine=CROWD).audited(0.01, unlike_rate=each, seed=0) for each in (None, 0.64))
    even.predict(rows)
    with pytest.warns(BrokenPromiseWarning, match="promised at most 1 %: broken"):
        uneven.predict(rows)
    assert not even.status.broken
    for watched in (even, uneven):
        assert watched.status.low < rows[:, 0].mean() < watched.status.high


def test_rates_of_unlike_rows_that_cannot_be_kept_are_refused() -> None:
    fast = _predictor(machine=CROWD)
    for unlike_rate in (0, 1.5, math.nan):
        with pytest.raises(ValueError, match="unlike_rate must be above 0 and at most 1"):
            fast.audited(unlike_rate=unlike_rate)
    with pytest.raises(TypeError, match="unlike_rate must be a number"):
        fast.audited(unlike_rate="often")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unlike_rate must be at least the rate of all rows"):
        fast.audited(0.5, unlike_rate=0.1)
    with pytest.raises(ValueError, match="needs at least 64; the plan's machine has 2: leave unlike_rate out"):
        _predictor().audited(unlike_rate=0.5)


class _HastyValues(_Hasty):
    """Settles rows whose first feature is 0 or 1; the values of the latter are off by one."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._right = Dense(machine)

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - it has none
        first = rows[:, 0]
        return Decisions(self._right.right(rows) + (first == 1)[:, None], (first == 0) | (first == 1), 1)


class TestValues:
    def _predictor(self, threads: int | None = None) -> dormie.Predictor:
        """Labels are certified, decision values have a risk; the values of rows that begin with 1 are wrong."""
        machine = MACHINE.changed(rule=Value(0.1))
        risk = replace(RISK, tolerance=0.1)
        source = Source("by hand", 2)
        values = Plan(machine, Cascade.of(_HastyValues(machine), Dense(machine)), risk, source)
        return dormie.Predictor(Plan(MACHINE, Cascade.of(Dense(MACHINE)), Exact(), source, values=values), threads)

    def test_they_are_audited_apart_from_labels(self) -> None:
        watched = self._predictor().audited(1.0, seed=0)
        rows = _rows(1000, 0.004)
        assert (watched.decision_function(rows) == self._predictor().decision_function(rows)).all()
        wrong = int((rows[:, 0] == 1).sum())
        assert wrong > 0
        status = watched.values_status
        assert status is not None
        assert (status.rows, status.audited, status.disagreements, status.tolerance) == (1000, 1000, wrong, 0.1)
        assert f"{wrong} off by more than 0.1; rate between" in str(status)
        assert f"audit of values: {status}" in repr(watched)
        assert (watched.status.rows, watched.status.alpha) == (0, None)
        watched.predict(rows)
        assert (watched.status.rows, watched.values_status) == (1000, status)

    def test_the_alarm_says_by_how_much_they_are_off(self) -> None:
        told: list[Status] = []
        watched = self._predictor().audited(1.0, callback=told.append, seed=0)
        with pytest.warns(BrokenPromiseWarning, match=r"off by more than 0\.1; rate between .* %: broken"):
            watched.decision_function(_rows(500, 0.5))
        assert [status.tolerance for status in told] == [0.1]

    def test_pickles_go_on_where_they_were(self) -> None:
        watched = self._predictor(threads=1).audited(0.5, seed=0)
        rows = _rows(500, 0.004)
        watched.decision_function(rows)
        again = copy.deepcopy(watched)
        assert again.threads == 1
        for each in (watched, again):
            each.decision_function(rows)
        assert again.values_status == watched.values_status
        assert again.values_status is not None
        assert again.values_status.rows == 1000

    def test_without_a_plan_for_them_there_is_no_status(self) -> None:
        watched = _predictor().audited(1.0)
        assert watched.values_status is None
        assert "audit of values" not in repr(watched)

    def test_probabilities_with_a_risk(self) -> None:
        X, y = make_classification(6000, n_features=4, random_state=0)
        model = CalibratedClassifierCV(SVC(), ensemble=False).fit(X[:300], y[:300])
        fast = dormie.compile(model, X[2000:], fit_rows=X[:2000], tolerance=0.05, risk=0.01, effort="quick")
        watched = fast.audited(1.0, seed=0)
        found = watched.predict_proba(X[:2000])
        assert (found == fast.predict_proba(X[:2000])).all()
        off = np.abs(found - model.predict_proba(X[:2000])).max(axis=1) > 0.05
        status = watched.values_status
        assert status is not None
        assert fast.plan.values is not None
        assert (status.rows, status.alpha) == (2000, 0.01 if isinstance(fast.plan.values.guarantee, Risk) else None)
        assert status.disagreements == (off.sum() if status.audited else 0)

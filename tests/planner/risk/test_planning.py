"""Plans with a stated risk: what is split from what, what is chosen, and what is promised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods import METHODS
from dormie.methods.base import CertifiedStage, Method, Usable
from dormie.methods.dense import Dense, Float32Dense, cheapest
from dormie.methods.fitting import EFFORTS, CertifiedFitting
from dormie.methods.reduced_set import CalibratedReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics import backend
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact, Risk
from dormie.plan.plan import Trial
from dormie.planner.costs import Timed
from dormie.planner.options import Options, RiskRequest
from dormie.planner.race import Race
from dormie.planner.risk import calibrated_candidates
from dormie.planner.risk.calibration import certify
from dormie.planner.risk.planning import CertifyingRows, Parts, RiskPlanner, sequence_of_plans
from dormie.predictor import cascade as flow
from dormie.progress import Progress
from tests.planner.risk.fittings import calibrated_fitting

_ALPHA = 0.01
_RISK = RiskRequest(_ALPHA)


@pytest.fixture(scope="module")
def bold(moons: tuple[SVC, Any, Any]) -> dormie.Predictor:
    svc, rows, _ = moons
    return dormie.compile(svc, rows, risk=_ALPHA, methods=["reduced_set", "linear_filter"])


def test_a_risk_plan_keeps_its_promise_on_rows_never_used(moons: tuple[SVC, Any, Any], bold: dormie.Predictor) -> None:
    svc, _, unseen = moons
    assert isinstance(bold.plan.guarantee, Risk)
    assert not all(stage.certified for stage in bold.plan.stages)
    assert 1200 < bold.plan.guarantee.evidence.rows <= 1400  # seven tenths of the rows, or as many as make a difference
    assert (bold.predict(unseen) != svc.predict(unseen)).mean() <= 2 * _ALPHA
    assert bold.trace(unseen).evaluations.mean() < len(svc.support_) / 3


def test_the_promise_and_its_evidence_are_told_and_survive_a_file(
    moons: tuple[SVC, Any, Any], bold: dormie.Predictor, tmp_path: Path
) -> None:
    unseen = moons[2]
    bold.save(tmp_path / "bold.dormie")
    again = dormie.load(tmp_path / "bold.dormie")
    assert again.plan.guarantee == bold.plan.guarantee
    assert (again.predict(unseen) == bold.predict(unseen)).all()
    assert "at most 1 % of the rows" in again.explain()
    assert again.explain() == bold.explain()


def test_the_same_seed_gives_the_same_split(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, _ = moons
    machine = dormie.read(svc)
    one, other = (Parts.of(machine, rows, None, _RISK, 7) for _ in range(2))
    assert (one.certifying == other.certifying).all()
    assert (one.choosing == other.choosing).all()
    third = Parts.of(machine, rows, None, _RISK, 8)
    assert not np.array_equal(one.certifying, third.certifying)


@given(st.integers(300, 2000), st.integers(0, 5), st.booleans())
def test_no_row_both_certifies_and_is_fitted_on_or_chosen_by(count: int, seed: int, own_rows: bool) -> None:
    scaled = Affine(np.array([5.0]), np.array([2.0]))
    machine = Machine(RBF(1.0), -np.ones((3, 1)), np.ones(3), np.zeros(1), Sign(np.array([0, 1])), scaled)
    rows = np.arange(count, dtype=float)[:, None] + 10
    fit_rows = -np.arange(50.0)[:, None] - 10 if own_rows else None
    parts = Parts.of(machine, rows, fit_rows, _RISK, seed)
    certifying = set(parts.certifying[:, 0])
    assert certifying <= set(rows[:, 0])
    assert not certifying & set(parts.choosing[:, 0])
    assert not certifying & set(parts.fitting[:, 0])
    if own_rows:
        assert parts.fitting is fit_rows
    else:
        assert {3.0} <= set(parts.fitting[:, 0])  # the points, as rows were before the input map
    if len(parts.choosing) >= 200 and parts.choosing.min() >= 10:
        assert not set(parts.choosing[:, 0]) & set(parts.fitting[:, 0])


def test_rows_that_certify_are_left_out_of_those_to_fit_on(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, unseen = moons
    machine = dormie.read(svc)
    with pytest.warns(dormie.TrainingRowsWarning, match=r"certifying rows are among fit_rows"):
        parts = Parts.of(machine, rows, np.vstack([rows, unseen]), _RISK, 0)
    assert {row.tobytes() for row in parts.certifying}.isdisjoint(row.tobytes() for row in parts.fitting)
    assert len(parts.fitting) == len(rows) + len(unseen) - len(parts.certifying)
    assert Parts.of(machine, rows, unseen, _RISK, 0).fitting is unseen
    whole = np.random.default_rng(0).integers(0, 3, (4000, 2)).astype(float)  # equal by nature
    assert len(Parts.of(machine, whole[:2000], whole[2000:], _RISK, 0).fitting) == 2000


def test_the_sequence_of_plans_goes_from_cautious_to_bold(moons: tuple[SVC, Any, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[2][:1000]
    rng = np.random.default_rng(0)
    levels = Levels.of(machine.points[:5], [rng.normal(size=(5, 1))], 1)
    rough = Cascade.of(CalibratedReducedSet(machine, levels, np.array([[0.3]])))
    last = cheapest(Dense(machine), rows)
    plans = sequence_of_plans([rough.scaled(2.0), rough.scaled(2.0), rough], last)
    cautions = [plan.cautions[0] for plan in plans]
    assert cautions == sorted(cautions, reverse=True)
    assert len(set(cautions)) == len(cautions)  # the cascade that was chosen twice is there once
    assert {2.0, 1.0} <= set(cautions)
    settled = [np.count_nonzero(flow.run(plan, rows).settled_by == 0) for plan in plans]
    assert settled == sorted(settled)
    assert all(plan.stages[-1] is last for plan in plans)
    assert len(sequence_of_plans([Cascade.of()], last)) == 1  # no caution tells those plans apart


def test_all_cautions_share_the_packed_vectors(moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten cautions in the race and some forty plans to certify: the native core lays the vectors out once."""
    packed: list[int] = []

    def counting(*arguments: Any) -> Any:
        packed.append(len(arguments[1]))
        return native(*arguments)

    native = backend.extension.ReducedSet
    monkeypatch.setattr(backend.extension, "ReducedSet", counting)
    svc, fit_rows, rows = moons
    options = Options(("reduced_set",), EFFORTS["quick"], 0, _RISK)
    machine = dormie.read(svc)
    parts = Parts.of(machine, rows, fit_rows, _RISK, 0)
    planner = RiskPlanner(machine, options, _RISK, parts, Progress(), Timed())
    full = Dense(machine)
    last = cheapest(full, parts.choosing)
    race = planner._race(full, last, planner._fitted_candidates())
    plans = planner._plans(race)
    planner._certify(plans, CertifyingRows.of(parts.certifying, full, last, _RISK))
    assert len(plans) > 20
    assert len({run.caution for run in race.runs}) == 10
    assert sorted(packed) == sorted({*packed})  # a set of each size, packed once
    assert len(race.runs) == 10 * len(packed) > 0


class _Recorder(Method):
    """Has no candidates, and keeps the efforts at which certified ones were asked for."""

    stages = (Dense,)

    def __init__(self) -> None:
        self.efforts: list[str] = []

    def is_usable_for(self, machine: Machine) -> Usable:  # noqa: ARG002 - the protocol's
        return Usable()

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        self.efforts.append(fitting.effort.name)
        yield from ()


@pytest.mark.parametrize(("far_ahead", "expected"), [(0.0, ["quick", "normal"]), (np.inf, ["quick"])])
def test_a_risk_is_not_taken_where_an_exact_plan_that_takes_longer_to_make_is_as_fast(
    moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch, far_ahead: float, expected: list[str]
) -> None:
    machine = dormie.read(moons[0])
    parts = Parts.of(machine, moons[1], None, _RISK, 0)
    recorder = _Recorder()
    monkeypatch.setitem(METHODS, "recorder", recorder)
    options = Options(("reduced_set", "linear_filter", "recorder"), risk=_RISK)
    RiskPlanner(machine, options, _RISK, parts, Progress(), Timed(), far_ahead).choose()
    assert recorder.efforts == expected


def test_where_nothing_is_gained_the_plan_is_exact(
    moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_alike(_: Race, *cascades: Cascade) -> list[Trial]:
        return [Trial(str(each), settled=0.5, microseconds=1.0) for each in cascades]

    monkeypatch.setattr(Race, "timed", all_alike)
    svc, rows, unseen = moons
    fast = dormie.compile(svc, rows, risk=_ALPHA, effort="quick")
    assert fast.plan.guarantee == Exact()
    assert "was allowed but not used" in fast.plan.note
    assert (fast.predict(unseen) == svc.predict(unseen)).all()


def test_kernels_without_bounds_can_have_a_risk_too() -> None:
    X, y = make_moons(2500, noise=0.3, random_state=0)
    svc = SVC(kernel="sigmoid", gamma=0.1).fit(X[:500], y[:500])
    fast = dormie.compile(svc, X[500:2000], risk=_ALPHA)
    assert (fast.predict(X[2000:]) != svc.predict(X[2000:])).mean() <= 2 * _ALPHA


def test_a_one_vs_rest_model_may_stop_at_its_nearest_support_vectors() -> None:
    X, y = make_blobs(4000, 6, centers=8, cluster_std=2.5, random_state=0)
    y = y % 4
    model = OneVsRestClassifier(SVC(gamma=0.3)).fit(X[:1000], y[:1000])
    fast = dormie.compile(model, X[1000:3000], fit_rows=X[:1000], risk=0.02, methods=["nearest"])
    assert not METHODS["nearest"].is_usable_for(fast.plan.machine).why_not
    assert np.mean(fast.predict(X[3000:]) != model.predict(X[3000:])) <= 0.03


def test_a_fit_that_fails_leaves_an_exact_plan(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, unseen = moons
    far = np.vstack([unseen[:300], [[1e10, 1e10]]])
    fast = dormie.compile(svc, rows, fit_rows=far, risk=_ALPHA)
    assert (fast.predict(unseen) != svc.predict(unseen)).mean() <= 2 * _ALPHA
    with pytest.raises(ValueError, match="leave them out"):
        dormie.compile(svc, rows, fit_rows=far, risk=_ALPHA, methods=["reduced_set"])


def test_risk_for_each_class_has_evidence_of_each(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, _ = moons
    fast = dormie.compile(svc, rows, risk=0.02, per_class=True, methods=["reduced_set"])
    assert isinstance(fast.plan.guarantee, Risk)
    assert [count.label for count in fast.plan.guarantee.evidence.classes] == ["0", "1"]


def test_too_few_rows_of_a_class_are_told_before_anything_is_fitted(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, _ = moons
    one_sided = rows[np.argsort(svc.decision_function(rows))][:1000]
    one_sided = np.vstack([one_sided, rows[svc.decision_function(rows) > 1][:50]])
    with pytest.raises(
        ValueError, match=r"for each class needs at least 149 certifying rows of each, and class '1' has"
    ):
        dormie.compile(svc, one_sided, risk=0.02, per_class=True, methods=["nearest"])


def test_a_plan_that_was_measured_cannot_promise_to_be_exact(bold: dormie.Predictor) -> None:
    with pytest.raises(ValueError, match="can only promise a risk"):
        replace(bold.plan, guarantee=Exact())


def test_wrong_requests_are_explained(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, _ = moons
    with pytest.raises(ValueError, match=r"held-out rows, without labels: pass rows, at least 299 of them"):
        dormie.compile(svc, risk=_ALPHA)
    with pytest.raises(ValueError, match=r"needs at least 2,995 held-out rows, and there are 2,000"):
        dormie.compile(svc, rows, risk=1e-3)
    with pytest.raises(ValueError, match="risk must lie between 0 and 1"):
        dormie.compile(svc, rows, risk=0.0)
    with pytest.raises(ValueError, match="tolerance"):
        dormie.compile(SVR().fit(rows, rows[:, 0]), rows, risk=_ALPHA)
    with pytest.raises(ValueError, match=r"nearest is calibrated, not certified.*risk="):
        dormie.compile(svc, methods=["nearest"])
    with pytest.warns(dormie.TrainingRowsWarning, match="trained on"):
        dormie.compile(svc, np.vstack([svc.support_vectors_, rows[:500]]), risk=0.1, methods=["linear_filter"])


@pytest.mark.parametrize("draws", [400, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_promise_holds_over_draws_of_certifying_rows(draws: int) -> None:
    """The family that compile walks through, certified on draws from a population whose rates are known."""
    rows_drawn, alpha, confidence = 400, 0.03, 0.9
    X, y = make_moons(24_000, noise=0.3, random_state=1)
    machine = dormie.read(SVC(gamma=20.0).fit(X[:1500], y[:1500]))
    fitting = calibrated_fitting(machine, X[:1500], X[1500:2500], "quick", named=True)
    [filtering] = calibrated_candidates.candidates(fitting, Options(("linear_filter",)))
    full = Dense(machine)
    plans = sequence_of_plans([Cascade((filtering.stage,), (caution,)) for caution in (1.0, 0.5)], full)
    population = X[2500:]
    right = full.decide(population).answers
    wrong = [flow.run(plan, population).answers != right for plan in plans]
    rates = np.mean(wrong, axis=1)
    assert rates.min() < alpha < rates.max()  # there are good plans and bad ones
    random, broken = np.random.default_rng(0), 0
    for _ in range(draws):
        drawn = random.integers(len(population), size=rows_drawn)
        found = certify([each[drawn] for each in wrong], np.asarray, alpha, confidence)
        broken += found is not None and rates[found.index] > alpha
    allowed = draws * (1 - confidence)
    assert broken <= allowed + 3 * np.sqrt(allowed * confidence)


def test_without_float32_the_full_sum_that_certifies_is_the_one_that_answers(moons: tuple[SVC, Any, Any]) -> None:
    """A plan made in NumPy must not answer from float32 where it is loaded with the native core."""
    machine = dormie.read(moons[0])
    assert isinstance(cheapest(Dense(machine), moons[2]), Float32Dense)
    with backend.numpy_only():
        full = Dense(machine)
        assert cheapest(full, moons[2]) is full

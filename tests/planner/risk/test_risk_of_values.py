"""Values with a risk: within the tolerance for all but a share of the rows, and certified like labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Machine
from dormie.machine.rules import ClassRule, Value, ValueRule, decision_values
from dormie.methods.dense import Dense, Float32Dense, cheapest
from dormie.methods.refinement import Refinement
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact, Risk, Tolerance
from dormie.planner.options import Options, RiskRequest
from dormie.planner.risk import calibrated_candidates
from dormie.planner.risk.calibration import certify
from dormie.planner.risk.planning import CertifyingRows, sequence_of_plans
from tests.planner.risk.fittings import calibrated_fitting

_ALPHA = 0.02
_EPSILON = 0.5
_METHODS = ["reduced_set", "refinement"]


@pytest.fixture(scope="module")
def regressor() -> tuple[SVR, Any, Any, Any]:
    """A model, its training rows, held-out rows, and rows that nothing else sees."""
    X, y = make_friedman1(7000, n_features=5, noise=1.0, random_state=0)
    return SVR(C=10.0).fit(X[:600], y[:600]), X[:600], X[600:3000], X[3000:]


@pytest.fixture(scope="module")
def bold(regressor: tuple[SVR, Any, Any, Any]) -> dormie.Predictor:
    model, training, rows, _ = regressor
    return dormie.compile(
        model, rows, fit_rows=training, risk=_ALPHA, tolerance=_EPSILON, methods=_METHODS, effort="quick"
    )


def test_values_keep_their_promise_on_rows_never_used(
    regressor: tuple[SVR, Any, Any, Any], bold: dormie.Predictor
) -> None:
    model, _, _, unseen = regressor
    assert isinstance(bold.plan.guarantee, Risk)
    assert bold.plan.guarantee.tolerance == _EPSILON
    assert not bold.plan.cascade.certified
    assert (np.abs(bold.predict(unseen) - model.predict(unseen)) > _EPSILON).mean() <= 1.5 * _ALPHA
    assert bold.trace(unseen).evaluations.mean() < len(model.support_) / 2


def test_the_promise_of_values_survives_a_file_and_is_told(
    regressor: tuple[SVR, Any, Any, Any], bold: dormie.Predictor, tmp_path: Path
) -> None:
    bold.save(tmp_path / "bold.dormie")
    again = dormie.load(tmp_path / "bold.dormie")
    assert again.plan.guarantee == bold.plan.guarantee
    assert np.array_equal(again.predict(regressor[3]), bold.predict(regressor[3]))
    assert "at most 2 % of the rows get a value more than 0.5 from the full sum's" in again.explain()


def test_audits_count_values_that_are_off(regressor: tuple[SVR, Any, Any, Any], bold: dormie.Predictor) -> None:
    model, _, _, unseen = regressor
    audited = bold.audited(rate=1.0, seed=0)
    off = np.abs(audited.predict(unseen) - dormie.compile(model, methods=[]).predict(unseen)) > _EPSILON
    assert audited.status.audited == len(unseen)
    assert audited.status.disagreements == off.sum()


def test_far_off_rows_break_the_promise(regressor: tuple[SVR, Any, Any, Any], bold: dormie.Predictor) -> None:
    audited = bold.audited(rate=1.0, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audited.predict(regressor[3][:, ::-1] ** 4)
    broken = [warning for warning in caught if warning.category is dormie.BrokenPromiseWarning]
    assert audited.status.broken == bool(broken)
    assert audited.status.alpha == _ALPHA


def test_what_a_risk_of_values_needs_is_said(regressor: tuple[SVR, Any, Any, Any]) -> None:
    model, _, rows, _ = regressor
    with pytest.raises(ValueError, match=r"off by more than a tolerance: add tolerance=0\.001"):
        dormie.compile(model, rows, risk=_ALPHA)
    with pytest.raises(ValueError, match="a regressor has no classes"):
        dormie.compile(model, rows, risk=_ALPHA, tolerance=0.1, per_class=True)
    with pytest.raises(ValueError, match="refinement is calibrated"):
        dormie.compile(model, rows, tolerance=0.1, methods=["refinement"])
    with pytest.raises(ValueError, match="give tolerance="):
        dormie.compile(model, rows, methods=["refinement"])


def test_a_tolerance_that_no_plan_reaches_is_certified_instead(regressor: tuple[SVR, Any, Any, Any]) -> None:
    model, training, rows, _ = regressor
    plan = dormie.compile(
        model, rows, fit_rows=training, risk=_ALPHA, tolerance=1e-8, methods=_METHODS, effort="quick"
    ).plan
    assert plan.guarantee == Tolerance(1e-8)
    assert "a risk of 0.02 was allowed but not used" in plan.note


def test_the_sum_in_float32_alone_is_a_plan_with_a_risk(regressor: tuple[SVR, Any, Any, Any]) -> None:
    model, _, rows, _ = regressor
    machine = dormie.read(model).changed(rule=Value(1e-3))
    full = Dense(machine)
    last = cheapest(full, rows)
    [plan] = sequence_of_plans([Cascade.of()], last)
    assert not plan.certified
    assert not CertifyingRows.of(rows, full, last, RiskRequest(_ALPHA)).disagreements(plan).any()
    biased = replace(machine, bias=machine.bias + 0.01)
    off = CertifyingRows.of(rows, full, cheapest(Dense(biased), rows), RiskRequest(_ALPHA))
    assert off.disagreements(plan).all()


@pytest.fixture(scope="module")
def classifier() -> tuple[SVC, Any, Any, Any]:
    X, y = make_classification(6000, n_features=5, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    return SVC().fit(X[:500], y[:500]), (X[500:900], y[500:900]), X[900:3000], X[3000:]


def test_probabilities_have_a_risk_of_their_own(classifier: tuple[SVC, Any, Any, Any], tmp_path: Path) -> None:
    svc, (X, y), rows, unseen = classifier
    model = CalibratedClassifierCV(FrozenEstimator(svc)).fit(X, y)
    fast = dormie.compile(model, rows, risk=_ALPHA, tolerance=0.05, methods=_METHODS[:1], effort="quick")
    assert fast.plan.values is not None
    promise = fast.plan.values.guarantee
    assert isinstance(promise, Risk)
    assert promise.tolerance == 0.05
    off = np.abs(fast.predict_proba(unseen) - model.predict_proba(unseen)).max(axis=1) > 0.05
    assert off.mean() <= 1.5 * _ALPHA
    fast.save(tmp_path / "values.dormie")
    again = dormie.load(tmp_path / "values.dormie")
    assert np.array_equal(again.predict_proba(unseen), fast.predict_proba(unseen))
    assert "Guarantee for probabilities" in again.explain()


def test_decision_values_have_a_tolerance(classifier: tuple[SVC, Any, Any, Any], tmp_path: Path) -> None:
    svc, _, _, unseen = classifier
    fast = dormie.compile(svc, tolerance=0.01)
    assert fast.plan.guarantee == Exact()
    assert fast.plan.values is not None
    assert fast.plan.values.guarantee == Tolerance(0.01)
    assert (np.abs(fast.decision_function(unseen) - svc.decision_function(unseen)) <= 0.01 + 1e-12).all()
    assert (fast.predict(unseen) == svc.predict(unseen)).all()
    assert not hasattr(fast, "predict_proba")
    fast.save(tmp_path / "decisions.dormie")
    assert np.array_equal(
        dormie.load(tmp_path / "decisions.dormie").decision_function(unseen), fast.decision_function(unseen)
    )
    assert "Guarantee for decision values" in fast.explain()


def test_decision_values_of_two_classes_are_outputs(classifier: tuple[SVC, Any, Any, Any]) -> None:
    X = classifier[3]
    svc = SVC().fit(X[:300], X[:300, 0] > 0)
    fast = dormie.compile(svc, tolerance=0.01)
    assert fast.plan.values is not None
    assert fast.plan.values.machine.rule == Value(0.01)
    assert (np.abs(fast.decision_function(X) - svc.decision_function(X)) <= 0.01 + 1e-12).all()


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
def test_coupled_probabilities_have_a_risk_but_no_certified_tolerance(classifier: tuple[SVC, Any, Any, Any]) -> None:
    _, (X, y), rows, unseen = classifier
    model = SVC(probability=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no certified tolerance"):
        dormie.compile(model, tolerance=0.05)
    fast = dormie.compile(model, rows, risk=_ALPHA, tolerance=0.05, effort="quick", methods=["refinement"])
    assert fast.plan.values is not None
    assert isinstance(fast.plan.values.guarantee, Risk | Exact)
    off = np.abs(fast.predict_proba(unseen) - model.predict_proba(unseen)).max(axis=1) > 0.05
    assert off.mean() <= 1.5 * _ALPHA


def _models() -> dict[str, Callable[[], tuple[Machine, Any, Any]]]:
    """Machines whose values have a tolerance, rows to fit on, and rows never seen."""

    def regressor() -> tuple[Machine, Any, Any]:
        X, y = make_friedman1(6600, n_features=5, noise=1.0, random_state=0)
        return dormie.read(SVR(C=10.0).fit(X[:600], y[:600])), X[:600], X[600:]

    def classifier(classes: int) -> tuple[SVC, Any, Any, Any]:
        X, y = make_classification(
            7500, 5, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.3, random_state=0
        )
        return SVC().fit(X[:1500], y[:1500]), X[:1500], y[:1500], X[1500:]

    def probabilities(classes: int) -> tuple[Machine, Any, Any]:
        svc, X, y, unseen = classifier(classes)
        machine = dormie.read(CalibratedClassifierCV(svc, ensemble=False).fit(X, y))
        assert machine.probability is not None
        return machine.changed(rule=machine.probability), X, unseen

    def decisions() -> tuple[Machine, Any, Any]:
        svc, X, _, unseen = classifier(3)
        machine = dormie.read(svc)
        assert isinstance(machine.rule, ClassRule)
        return machine.changed(rule=decision_values(machine.rule, machine.n_outputs, 0.1)), X, unseen

    return {
        "regressor": regressor,
        "probabilities of two classes": lambda: probabilities(2),
        "probabilities of three classes": lambda: probabilities(3),
        "decision values": decisions,
    }


@pytest.mark.parametrize("draws", [300, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", _models())
def test_the_promise_holds_as_often_as_it_says(model: str, draws: int) -> None:
    """Draws of certifying rows: the plan they certify is off too often for at most a share 1 - confidence.

    The tolerance is one that the values of the fine set keep to on all but one row in ten.
    """
    machine, training, rows = _models()[model]()
    assert isinstance(machine.rule, ValueRule)
    choosing, pool = rows[:1000], rows[1000:]
    fitting = calibrated_fitting(
        machine.changed(rule=machine.rule.within(0.1)), training, choosing, "quick", named=True
    )
    fitted = next(each.stage for each in calibrated_candidates.candidates(fitting, Options(("refinement",))))
    assert isinstance(fitted, Refinement)
    epsilon = float(np.quantile(fitted.errors(fitted.values(choosing)[0], fitting.measuring.outputs), 0.9))
    machine = machine.changed(rule=machine.rule.within(epsilon))
    stage = Refinement(machine, fitted.levels, fitted.slope, fitted.floor)
    full = Dense(machine)
    last = cheapest(full, choosing)
    assert isinstance(last, Float32Dense)
    plans = sequence_of_plans([Cascade((stage,), (caution,)) for caution in np.geomspace(4.0, 0.25, 12)], last)
    everything = CertifyingRows.of(pool, full, last, RiskRequest(_ALPHA))
    wrong = [everything.disagreements(plan) for plan in plans]
    rates = [each.mean() for each in wrong]
    assert rates[0] < _ALPHA < max(rates)  # some plans are good, and some must not be certified
    random, bad, certified = np.random.default_rng(0), 0, 0
    for _ in range(draws):
        drawn = random.integers(len(pool), size=400)  # with replacement: the rates above are the true ones
        found = certify(range(len(plans)), lambda plan, drawn=drawn: wrong[plan][drawn], _ALPHA, 0.9)  # type: ignore[misc]
        certified += found is not None
        bad += found is not None and rates[found.index] > _ALPHA
    assert certified > draws / 2
    assert bad <= binom.ppf(0.999, draws, 0.1)

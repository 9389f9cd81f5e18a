"""Probabilities of scikit-learn's models: equal to scikit-learn's own, and so are the labels, ties included."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

import dormie
from dormie.convert import read
from dormie.errors import UnreadableModelError
from dormie.lab import datasets
from dormie.lab.datasets.places import data_folder
from dormie.machine import MachineSum
from dormie.machine.rules import MostProbable, Probability
from dormie.numerics.evaluate import full_sum_of
from dormie.numerics.reference import widened
from dormie.predictor import Predictor

_SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(3)
NEW = X[RNG.permutation(150)] + RNG.normal(size=X.shape) * 0.4
TWO = np.where(Y == 1, "yes", "no")
THREE = np.array(["ash", "birch", "elm"], dtype=object)[Y]
# Temperatures came with scikit-learn 1.8.
METHODS = [method for method in ("sigmoid", "isotonic", "temperature") if method != "temperature" or _SKLEARN >= (1, 8)]
MODELS: dict[str, Callable[[], Any]] = {
    "SVC": SVC,
    "LinearSVC": LinearSVC,
    "one kernel for all": lambda: SVC(gamma=0.5),
    "pipeline": lambda: make_pipeline(MinMaxScaler(), SVC()),
    "linear pipeline": lambda: make_pipeline(StandardScaler(), LinearSVC()),
    "one against the rest": lambda: OneVsRestClassifier(SVC(gamma=0.5)),
    "polynomial": lambda: NuSVC(kernel="poly", nu=0.2, gamma=0.1),
}


def assert_same_probabilities(fast: Predictor, model: Any, rows: Any) -> None:
    """Within 1e-9, and what the probabilities change within the rounding of the outputs: isotonic maps are steep."""
    assert fast.plan.values is not None
    machine = fast.plan.values.machine
    assert isinstance(machine.rule, Probability)
    expected = model.predict_proba(rows)
    slack = np.full_like(expected, 1e-9)
    if machine.rule.map.certifiable:
        ends = widened(fast.plan.machine, rows, *full_sum_of(machine).ends(rows))
        low, high = machine.rule.bounds(*ends)
        slack = slack + (high - low)
    assert (np.abs(fast.predict_proba(rows) - expected) <= slack).all()
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_calibrated_classifiers_answer_as_they_do(name: str, method: str, ensemble: bool, labels: Any) -> None:
    model = CalibratedClassifierCV(MODELS[name](), method=method, ensemble=ensemble, cv=3).fit(X, labels)
    fast = dormie.compile(model, methods=[])
    assert_same_probabilities(fast, model, NEW)
    assert_same_probabilities(pickle.loads(pickle.dumps(fast)), model, NEW)
    assert isinstance(read(model).rule, MostProbable)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", [False, True])
def test_a_loaded_plan_has_the_same_probabilities(tmp_path: Path, method: str, ensemble: bool) -> None:
    model = CalibratedClassifierCV(MODELS["pipeline"](), method=method, ensemble=ensemble, cv=3).fit(X, THREE)
    fast = dormie.compile(model, tolerance=0.01, methods=[])
    fast.save(tmp_path / "plan")
    loaded = dormie.load(tmp_path / "plan")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), fast.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert loaded.explain() == fast.explain()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "plan").read_bytes()


@pytest.mark.parametrize("method", METHODS)
def test_members_with_kernels_of_their_own_are_a_sum_of_machines(method: str) -> None:
    model = CalibratedClassifierCV(SVC(), method=method, cv=3).fit(X, THREE)
    machine = read(model)
    assert isinstance(machine, MachineSum)
    assert [member.kernel for member in machine.members] == [
        read(member.estimator).kernel for member in model.calibrated_classifiers_
    ]
    assert not isinstance(read(CalibratedClassifierCV(SVC(gamma=0.1), method=method).fit(X, THREE)), MachineSum)


@pytest.mark.parametrize("method", METHODS)
def test_a_frozen_model_is_calibrated_as_it_is(method: str) -> None:
    frozen = FrozenEstimator(SVC().fit(X[::2], THREE[::2]))
    model = CalibratedClassifierCV(frozen, method=method).fit(X[1::2], THREE[1::2])
    assert_same_probabilities(dormie.compile(model, methods=[]), model, NEW)


@pytest.mark.parametrize("make", [SVC, lambda **how: NuSVC(nu=0.1, **how)])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_the_own_probabilities_of_an_svc(make: Any, kernel: str, labels: Any) -> None:
    how = {} if kernel != "sigmoid" else {"gamma": 0.01}
    rows, new = X - X.mean(axis=0), NEW - X.mean(axis=0)
    model = make(kernel=kernel, probability=True, random_state=0, **how).fit(rows, labels)
    fast = dormie.compile(model, methods=[])
    assert_same_probabilities(fast, model, new)
    np.testing.assert_allclose(fast.predict_log_proba(new), model.predict_log_proba(new), rtol=1e-9, atol=1e-9)


def test_ten_digits() -> None:
    rows, digits = load_digits(return_X_y=True)
    for model in (
        SVC(probability=True, random_state=0),
        CalibratedClassifierCV(SVC(), method="isotonic", cv=3),
        CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False),
    ):
        model.fit(rows[:400], digits[:400])
        assert_same_probabilities(dormie.compile(model, methods=[]), model, rows[400:900])


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="no data: DORMIE_DATA is not set")
@pytest.mark.parametrize("name", ["a9a", "satimage", "usps"])
def test_probabilities_on_real_rows(name: str) -> None:
    data = datasets.load(name)
    some = np.random.default_rng(0).permutation(data.X.shape[0])[:1000]
    models: list[Any] = [SVC(probability=True, random_state=0), NuSVC(nu=0.1, probability=True, random_state=0)]
    models += [CalibratedClassifierCV(SVC(), method=method, ensemble=False, cv=3) for method in METHODS]
    models += [CalibratedClassifierCV(SVC(), method=method, cv=3) for method in METHODS]
    for model in models:
        model.fit(data.X[some], data.y[some])
        assert_same_probabilities(dormie.compile(model, methods=[]), model, data.X_test[:1500])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_ties_are_the_model_s_own(method: str, kernel: str, ensemble: bool) -> None:
    """Whole numbers, and classes that are mirror images: many scores are equal, or 0, but for rounding."""
    grid = np.array(np.meshgrid(*[np.arange(-3.0, 4.0)] * 2)).reshape(2, -1).T
    labels = np.where(grid[:, 0] > grid[:, 1], 2, np.where(grid[:, 0] < grid[:, 1], 1, 0))
    for answers in (labels, labels == 1):
        model = CalibratedClassifierCV(SVC(kernel=kernel, gamma=0.5), method=method, ensemble=ensemble, cv=2)
        model.fit(grid, answers)
        fast = dormie.compile(model, methods=[])
        np.testing.assert_array_equal(fast.predict(2 * grid), model.predict(2 * grid))
        np.testing.assert_array_equal(fast.predict(grid), model.predict(grid))


@pytest.mark.parametrize("ensemble", [False, True])
def test_stages_before_the_full_sum_change_no_label_and_keep_the_tolerance(ensemble: bool) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    labels = (rows[:, 0] ** 2 + rows[:, 1] > 0.5).astype(int) + (rows[:, 2] > 0.7)
    model = CalibratedClassifierCV(SVC(gamma=0.3), ensemble=ensemble, cv=2).fit(rows[:300], labels[:300])
    fast = dormie.compile(model, rows[300:], tolerance=0.02, methods=["fast_stopping"])
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
    assert np.abs(fast.predict_proba(rows) - model.predict_proba(rows)).max() <= 0.02 + 1e-9
    assert fast.plan.values is not None
    assert fast.plan.values.guarantee == dormie.Tolerance(0.02)
    assert (dormie.Predictor(fast.plan.values).trace(rows).stage != "dense").any()


def test_a_sum_of_machines_keeps_the_tolerance() -> None:
    model = CalibratedClassifierCV(SVC(), cv=3).fit(X, THREE)
    fast = dormie.compile(model, tolerance=0.005)
    assert np.abs(fast.predict_proba(NEW) - model.predict_proba(NEW)).max() <= 0.005 + 1e-9
    np.testing.assert_array_equal(fast.predict(NEW), model.predict(NEW))
    assert fast.predict(NEW, deadline=10.0).settled.all()
    low, high = fast.interval(NEW)
    outputs = full_sum_of(fast.plan.machine).outputs(NEW)
    assert ((low <= outputs) & (outputs <= high)).all()


def test_a_risk_is_one_of_the_labels() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 3))
    labels = rows[:, 0] ** 2 + rows[:, 1] > 0.5
    model = CalibratedClassifierCV(SVC(gamma=0.3), ensemble=False).fit(rows[:300], labels[:300])
    fast = dormie.compile(model, rows[300:], risk=0.1, methods=["reduced_set"], effort="quick")
    assert np.mean(fast.predict(rows[300:]) != model.predict(rows[300:])) <= 0.1
    assert np.abs(fast.predict_proba(rows) - model.predict_proba(rows)).max() <= 1e-9


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: CalibratedClassifierCV(SVC(decision_function_shape="ovo"), ensemble=False).fit(X, THREE),
        "decision_function_shape='ovr'",
    ),
    (
        lambda: CalibratedClassifierCV(
            FrozenEstimator(CalibratedClassifierCV(SVC(), ensemble=False).fit(X, THREE))
        ).fit(X, THREE),
        "Calibrate the model inside",
    ),
    (
        lambda: CalibratedClassifierCV(SVC(), cv=[(np.arange(100), np.arange(150))]).fit(X, Y),
        "knows fewer classes",
    ),
]


@pytest.mark.parametrize(("make", "advice"), REFUSED)
def test_what_cannot_be_read_is_refused_with_advice(make: Callable[[], Any], advice: str) -> None:
    with pytest.raises(UnreadableModelError, match=advice):
        read(make())


def test_a_predictor_has_the_methods_that_its_model_has() -> None:
    plain = dormie.compile(SVC().fit(X, Y), methods=[])
    calibrated = dormie.compile(CalibratedClassifierCV(SVC(), ensemble=False).fit(X, Y), methods=[])
    regressor = dormie.compile(SVR().fit(X, X[:, 0]), methods=[])
    assert [hasattr(fast, "predict_proba") for fast in (plain, calibrated, regressor)] == [False, True, False]
    assert [hasattr(fast, "decision_function") for fast in (plain, calibrated, regressor)] == [True, False, True]
    with pytest.raises(AttributeError, match="compile a CalibratedClassifierCV around it"):
        plain.predict_proba(X)
    with pytest.raises(AttributeError, match="use predict_proba"):
        calibrated.decision_function(X)


def test_a_tolerance_must_be_one_of_something() -> None:
    with pytest.raises(ValueError, match="have no certified tolerance"):
        dormie.compile(SVC(probability=True).fit(X, Y), tolerance=0.01)
    with pytest.raises(ValueError, match="closer than float64 arithmetic can certify"):
        dormie.compile(CalibratedClassifierCV(SVC(), ensemble=False).fit(X, Y), tolerance=1e-18)

"""What dormie gave is compiled again: the answers of the model it came from, and a guarantee of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import dormie
from dormie.estimators import CompiledClassifier, CompiledOutlierDetector, CompiledRegressor, SupportVectorTree
from dormie.machine.rules import Value
from tests import fresh_process

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 4)) * [1.0, 5.0, 0.3, 2.0] + [0.0, 10.0, -3.0, 1.0]
NEW = RNG.normal(size=(300, 4)) * [1.5, 7.0, 0.5, 3.0] + [0.0, 10.0, -3.0, 1.0]
TWO = np.where(X[:, 0] + 0.2 * X[:, 3] ** 2 > 0.8, "yes", "no")
FOUR = np.array(["north", "east", "south", "west"])[2 * (X[:, 0] > 0) + (X[:, 1] > 10)]
VALUES = np.sin(X[:, 0]) + 0.1 * X[:, 1]

MODELS: dict[str, Callable[[], Any]] = {
    "two classes": lambda: SVC(gamma=0.05).fit(X, TWO),
    "four classes": lambda: make_pipeline(StandardScaler(), SVC()).fit(X, FOUR),
    "quadratic": lambda: SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.01).fit(X, FOUR),
    "linear": lambda: make_pipeline(StandardScaler(), LinearSVC()).fit(X, FOUR),
    "outliers": lambda: OneClassSVM(gamma=0.05).fit(X),
    "values": lambda: SVR(gamma=0.05).fit(X, VALUES),
    "several values": lambda: KernelRidge(kernel="rbf", gamma=0.05).fit(X, np.c_[VALUES, X[:, 1]]),
    "calibrated": lambda: CalibratedClassifierCV(SVC(gamma=0.05), ensemble=False).fit(X, FOUR),
    "a sum of machines": lambda: CalibratedClassifierCV(SVC(), cv=3).fit(X, FOUR),
    "outputs that are added": lambda: BaggingRegressor(make_pipeline(StandardScaler(), SVR()), 3).fit(X, VALUES),
    "votes": lambda: BaggingClassifier(make_pipeline(StandardScaler(), SVC()), 3).fit(X, FOUR),
    "pairs of classes": lambda: OneVsOneClassifier(SVC()).fit(X, FOUR),
    "transformed targets": lambda: TransformedTargetRegressor(SVR(), func=np.arcsinh, inverse_func=np.sinh).fit(
        X, VALUES
    ),
    "libsvm's probabilities": lambda: SVC(gamma=0.05, probability=True, random_state=0).fit(X, TWO),
}


def assert_same_answers(one: Any, model: Any) -> None:
    expected = model.predict(NEW)
    if expected.dtype == np.float64:
        np.testing.assert_allclose(one.predict(NEW), expected, rtol=1e-9)
    else:
        np.testing.assert_array_equal(one.predict(NEW), expected)
    for name in ("decision_function", "predict_proba", "score_samples"):
        if hasattr(model, name) and hasattr(one, name):
            np.testing.assert_allclose(getattr(one, name)(NEW), getattr(model, name)(NEW), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.parametrize("name", MODELS)
def test_predictors_and_plans_are_compiled_again(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    fast = dormie.compile(model, effort="quick")
    fast.save(tmp_path / "plan")
    for given in (fast, fast.plan, dormie.load(tmp_path / "plan")):
        again = dormie.compile(given, methods=[])
        assert_same_answers(again, model)
        assert again.plan.source.description == fast.plan.source.description
        assert again.plan.source.points == fast.plan.source.points
    assert_same_answers(dormie.compile(FrozenEstimator(fast), methods=[]), model)


def test_the_guarantee_is_made_anew() -> None:
    svr = SVR(gamma=0.05).fit(X, VALUES)
    loose = dormie.compile(svr, tolerance=0.1)
    assert loose.plan.guarantee == dormie.Tolerance(0.1)
    assert dormie.read(loose).rule == Value()
    assert dormie.compile(loose).plan.guarantee == dormie.Exact()
    assert dormie.compile(loose, tolerance=0.2).plan.guarantee == dormie.Tolerance(0.2)
    assert_same_answers(dormie.compile(loose), svr)


def test_a_plan_with_a_risk_is_compiled_to_an_exact_one() -> None:
    rows = RNG.normal(size=(1600, 4))
    svc = SVC(gamma=0.3).fit(rows[:400], rows[:400, 0] ** 2 + rows[:400, 1] > 0.5)
    risky = dormie.compile(svc, rows[400:], risk=0.05, methods=["reduced_set"], effort="quick")
    assert isinstance(risky.plan.guarantee, dormie.Risk)
    again = dormie.compile(risky)
    assert again.plan.guarantee == dormie.Exact()
    np.testing.assert_array_equal(again.predict(rows), svc.predict(rows))


def test_a_threshold_stays_that_of_the_answers() -> None:
    svc = SVC(gamma=0.05).fit(X, TWO)
    fast = dormie.compile(svc, threshold=0.3)
    np.testing.assert_array_equal(dormie.compile(fast).predict(NEW), fast.predict(NEW))
    assert (fast.predict(NEW) != svc.predict(NEW)).any()


def test_rewrites_are_those_of_the_model_itself() -> None:
    model = make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2, coef0=1.0)).fit(X, FOUR)
    fast = dormie.compile(model, methods=[])
    again = dormie.compile(fast, methods=[])
    assert fast.plan.rewrites == again.plan.rewrites
    assert fast.plan.machine.origin is not None
    np.testing.assert_array_equal(dormie.read(fast).points, dormie.read(model).points)


def test_reductions_are_compiled_and_reduced_again() -> None:
    reduction = dormie.reduce(SVC(gamma=0.05).fit(X, TWO), 20, X)
    assert dormie.read(reduction) is reduction.machine
    fast = dormie.compile(reduction)
    np.testing.assert_array_equal(fast.predict(NEW), dormie.compile(reduction.machine).predict(NEW))
    assert dormie.reduce(reduction, 10).machine.n_points == 10
    assert dormie.reduce(fast, 10).machine.n_points == 10


def test_the_machine_of_a_tree_is_compiled() -> None:
    tree = SupportVectorTree(SVC(gamma=0.05), evaluations=5).fit(X, TWO)
    np.testing.assert_array_equal(dormie.compile(tree.machine_).predict(NEW), tree.estimator_.predict(NEW))


@pytest.mark.parametrize(
    ("estimator", "targets"),
    [
        (CompiledClassifier(SVC(), effort="quick"), FOUR),
        (CompiledRegressor(SVR(), effort="quick"), VALUES),
        (CompiledOutlierDetector(OneClassSVM(), effort="quick"), None),
    ],
)
def test_compiled_estimators_are_read(estimator: Any, targets: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = estimator.fit(X, targets)
    assert_same_answers(dormie.compile(fitted), fitted.estimator_)
    assert_same_answers(dormie.compile(make_pipeline(StandardScaler(), estimator).fit(X, targets)), _scaled(estimator))


def _scaled(estimator: Any) -> Any:
    """The pipeline of a compiled estimator, with the model that it trained at its end."""
    return make_pipeline(FrozenEstimator(StandardScaler().fit(X)), FrozenEstimator(estimator.estimator_))


def test_a_predictor_is_compiled_again_without_scikit_learn(tmp_path: Path) -> None:
    dormie.compile(SVC().fit(X, TWO), methods=[]).save(tmp_path / "plan")
    script = (
        "import sys, dormie\n"
        f"dormie.compile(dormie.load({str(tmp_path / 'plan')!r}), methods=[])\n"
        "print('sklearn' in sys.modules)"
    )
    assert fresh_process.printed(script).strip() == "False"

"""Linear models of scikit-learn, read by what they have in common."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLasso,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

import dormie
from dormie.errors import UnreadableModelError

RNG = np.random.default_rng(23)
X = RNG.normal(size=(120, 5)) * [1.0, 3.0, 0.2, 1.0, 2.0] + [0.0, 5.0, 1.0, -1.0, 0.0]
NEW = RNG.normal(size=(400, 5)) * [1.0, 3.0, 0.2, 1.0, 2.0] + [0.0, 5.0, 1.0, -1.0, 0.0]
TWO = np.where(X[:, 0] + 0.1 * X[:, 1] + 0.3 * RNG.normal(size=120) > 0.5, "yes", "no")
FOUR = np.array(["n", "e", "s", "w"])[2 * (X[:, 0] > 0) + (X[:, 1] > 5)]
VALUES = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 0.1 * RNG.normal(size=120)

# What later versions of scikit-learn warn of where it is not said, and older ones do not know.
_TO_COME: dict[str, Any] = (
    {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters
    else {}
)
CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegressionCV(Cs=2, cv=2, scoring="accuracy", **_TO_COME),
    LinearDiscriminantAnalysis(),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    LinearSVC(),
    CalibratedClassifierCV(SGDClassifier(random_state=0), ensemble=False),
]
REGRESSORS = [
    *(LinearRegression(), Ridge(), RidgeCV(), Lasso(0.01), ElasticNet(0.01), BayesianRidge(), HuberRegressor()),
    *(SGDRegressor(random_state=0), LinearSVR(random_state=0, max_iter=100_000)),
]


def assert_same(fast: Any, model: Any) -> None:
    expected = model.predict(NEW)
    if expected.dtype == np.float64:
        np.testing.assert_allclose(fast.predict(NEW), expected, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(fast.predict(NEW), expected)
    for name in ("decision_function", "score_samples", "predict_proba"):
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(fast, name)(NEW), getattr(model, name)(NEW), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("labels", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_linear_classifiers_answer_as_they_do(model: Any, labels: Any, tmp_path: Path) -> None:
    pipeline = make_pipeline(StandardScaler(), model).fit(X, labels)
    fast = dormie.compile(pipeline)
    assert_same(fast, pipeline)
    fast.save(tmp_path / "plan")
    assert_same(dormie.load(tmp_path / "plan"), pipeline)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_linear_regressors_answer_as_they_do(model: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), model).fit(X, VALUES)
    assert_same(dormie.compile(pipeline), pipeline)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), MultiTaskLasso(0.01)])
@pytest.mark.parametrize("targets", [VALUES[:, None], np.c_[VALUES, X[:, 0]]])
def test_a_matrix_of_targets_gives_a_matrix(model: Any, targets: Any) -> None:
    fitted = model.fit(X, targets)
    assert_same(dormie.compile(fitted), fitted)
    assert dormie.compile(fitted).predict(NEW).shape == fitted.predict(NEW).shape


def test_a_one_class_machine_by_gradient_descent_has_scores(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), SGDOneClassSVM(nu=0.3, random_state=0)).fit(X)
    fast = dormie.compile(model)
    assert_same(fast, model)
    assert set(fast.predict(NEW)) == {-1, 1}
    assert fast.offset_ == pytest.approx(model[-1].offset_[0])
    fast.save(tmp_path / "plan")
    assert_same(dormie.load(tmp_path / "plan"), model)
    rows, scores = fast.most_anomalous(NEW, 5)
    np.testing.assert_array_equal(rows, np.argsort(model.score_samples(NEW), kind="stable")[:5])
    np.testing.assert_allclose(scores, np.sort(model.score_samples(NEW))[:5], rtol=1e-9)


def test_a_one_class_machine_by_gradient_descent_answers_inside_at_zero() -> None:
    model = SGDOneClassSVM(random_state=0).fit(X)
    model.coef_, model.offset_ = np.zeros(5), np.zeros(1)
    assert model.predict(NEW[:1]) == dormie.compile(model).predict(NEW[:1]) == 1


def test_several_answers_a_row_are_refused_and_the_advice_is_good() -> None:
    both = np.c_[TWO == "yes", FOUR == "e"].astype(int)
    model = RidgeClassifier().fit(X, both)
    with pytest.raises(UnreadableModelError, match=r"several answers a row\. Fit one model for each"):
        dormie.read(model)
    for column in both.T:
        one = RidgeClassifier().fit(X, column)
        assert_same(dormie.compile(one), one)

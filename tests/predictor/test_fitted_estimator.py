"""scikit-learn's tools take a bare predictor for an estimator that is fitted already, and find what the model gives."""

from __future__ import annotations

import pickle
from functools import cache
from io import BytesIO
from typing import Any

import joblib
import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import ConfusionMatrixDisplay, get_scorer
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import dormie
from dormie.machine.kernels import Custom
from dormie.machine.rules import OneClassSign, Sign
from tests.fresh_process import printed

X, Y = load_iris(return_X_y=True)
X = X[:, :2]
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]

MODELS: dict[str, Any] = {
    "two classes": SVC().fit(X[:100], Y[:100]),
    "three classes": SVC().fit(X, NAMES),
    "values": SVR().fit(X, Y),
    "several values": KernelRidge(kernel="rbf").fit(X, np.column_stack([Y, X[:, 0]])),
    "outliers": OneClassSVM(nu=0.2).fit(X),
    "pipeline": make_pipeline(StandardScaler(), SVC()).fit(X, Y),
}


@cache
def _fast(name: str) -> dormie.Predictor:
    return dormie.compile(MODELS[name], effort="quick")


@pytest.fixture(params=MODELS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, dormie.Predictor]:
    return MODELS[request.param], _fast(request.param)


def test_it_is_of_the_models_kind_and_has_its_attributes(pair: tuple[Any, dormie.Predictor]) -> None:
    model, fast = pair
    for ask in (is_classifier, is_regressor, is_outlier_detector):
        assert ask(fast) == ask(model)
    assert hasattr(fast, "classes_") == hasattr(model, "classes_")
    if hasattr(model, "classes_"):
        assert fast.classes_.tolist() == model.classes_.tolist()
    assert fast.n_features_in_ == 2
    assert not hasattr(fast, "feature_names_in_")
    for name in ("score", "score_samples", "offset_"):
        assert hasattr(fast, name) == hasattr(model, name), name
    check_is_fitted(fast)
    assert clone(fast) is fast
    assert fast.fit(X, Y) is fast
    assert get_tags(fast).input_tags.sparse


@pytest.mark.parametrize("name", ["two classes", "three classes", "values", "several values", "pipeline"])
def test_it_scores_as_the_model_does(name: str) -> None:
    model, weights = MODELS[name], np.arange(150.0)
    y: Any = {"three classes": NAMES, "several values": np.column_stack([Y, X[:, 0]])}.get(name, Y)
    fast = _fast(name)
    assert fast.score(X, y) == pytest.approx(model.score(X, y), rel=1e-12)
    assert fast.score(X, y, weights) == pytest.approx(model.score(X, y, weights), rel=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_samples_are_scored_as_scikit_learn_scores_them(kernel: str) -> None:
    model = OneClassSVM(kernel=kernel, nu=0.3, degree=2, gamma=0.2).fit(X)
    fast = dormie.compile(model, effort="quick")
    for rows in (X, X.astype(np.float32)):
        expected = model.score_samples(rows)
        np.testing.assert_allclose(fast.score_samples(rows), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert fast.offset_ == model.offset_[0]


def test_a_classifier_of_plus_and_minus_one_does_not_detect_outliers() -> None:
    fast = dormie.compile(LinearSVC().fit(X, np.where(Y > 0, 1, -1)))
    assert fast.plan.machine.rule == Sign([-1, 1], zero=0) != OneClassSign()
    assert is_classifier(fast)
    assert fast.classes_.tolist() == [-1, 1]


def test_what_a_predictor_does_not_have_is_an_error_that_says_why() -> None:
    classifier, values = _fast("two classes"), _fast("values")
    outliers = _fast("outliers")
    with pytest.raises(AttributeError, match="Predictor has no classes_: only classifiers have them"):
        values.classes_  # noqa: B018
    with pytest.raises(AttributeError, match="only one-class machines and densities have score_samples"):
        classifier.score_samples  # noqa: B018
    with pytest.raises(AttributeError, match="Predictor has no offset_: only one-class machines have one"):
        classifier.offset_  # noqa: B018
    with pytest.raises(AttributeError, match="outliers have no score"):
        outliers.score  # noqa: B018
    with pytest.raises(AttributeError, match="feature_names_in_: its model was trained on rows without column names"):
        classifier.feature_names_in_  # noqa: B018
    machine = dormie.Machine(Custom(_alike), ["a", "b"], [1.0, -1.0], 0.0, Sign([0, 1]))
    with pytest.raises(AttributeError, match="n_features_in_: its rows are objects of a Python kernel"):
        dormie.compile(machine).n_features_in_  # noqa: B018


def _alike(a: Any, b: Any) -> Any:
    return [[float(u == v) for v in b] for u in a]


def test_columns_have_the_names_of_training() -> None:
    frame = pd.DataFrame(X, columns=["length", "width"])
    fast = dormie.compile(SVC().fit(frame, Y))
    assert fast.feature_names_in_.tolist() == ["length", "width"]
    assert permutation_importance(fast, frame, Y, n_repeats=2, random_state=0).importances.shape == (2, 2)


def test_the_tools_judge_it_as_they_judge_the_frozen_model() -> None:
    model, fast = MODELS["three classes"], _fast("three classes")
    frozen = FrozenEstimator(model)
    assert cross_val_score(fast, X, NAMES).tolist() == cross_val_score(frozen, X, NAMES).tolist()
    assert cross_val_predict(fast, X, NAMES).tolist() == model.predict(X).tolist()
    for scoring in ("accuracy", "f1_macro", "balanced_accuracy"):
        assert get_scorer(scoring)(fast, X, NAMES) == get_scorer(scoring)(model, X, NAMES)
    importance, expected = (permutation_importance(each, X, NAMES, random_state=0) for each in (fast, model))
    assert importance.importances.tolist() == expected.importances.tolist()
    assert FrozenEstimator(fast).fit(X, NAMES).predict(X).tolist() == model.predict(X).tolist()


def test_scorers_use_decision_values_of_two_classes() -> None:
    model, fast = MODELS["two classes"], _fast("two classes")
    for scoring in ("roc_auc", "average_precision"):
        assert get_scorer(scoring)(fast, X[:100], Y[:100]) == get_scorer(scoring)(model, X[:100], Y[:100])


@pytest.mark.parametrize("name", ["two classes", "three classes", "values", "outliers"])
def test_displays_draw_it(name: str) -> None:
    matplotlib.use("agg")
    model, fast = MODELS[name], _fast(name)
    mine, theirs = (DecisionBoundaryDisplay.from_estimator(each, X, grid_resolution=20) for each in (fast, model))
    np.testing.assert_allclose(mine.response, theirs.response, atol=1e-9)
    if name == "three classes":
        matrix = ConfusionMatrixDisplay.from_estimator(fast, X, NAMES).confusion_matrix
        assert matrix.tolist() == ConfusionMatrixDisplay.from_estimator(model, X, NAMES).confusion_matrix.tolist()
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("frozen", [True, False])
def test_it_is_calibrated_as_the_frozen_model_is(frozen: bool) -> None:
    model, fast = MODELS["three classes"], _fast("three classes")
    mine = CalibratedClassifierCV(FrozenEstimator(fast) if frozen else fast, ensemble=True).fit(X, NAMES)
    theirs = CalibratedClassifierCV(FrozenEstimator(model), ensemble=True).fit(X, NAMES)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_it_stands_at_the_end_of_a_pipeline_and_in_its_diagram() -> None:
    scaler = StandardScaler().fit(X)
    fast = dormie.compile(SVC().fit(scaler.transform(X), Y))
    pipeline = make_pipeline(FrozenEstimator(scaler), fast).fit(X, Y)
    assert pipeline.score(X, Y) == fast.score(scaler.transform(X), Y)
    assert "Predictor" in pipeline._repr_html_()


class TestPickles:
    def test_a_pickle_holds_the_plan_file(self, pair: tuple[Any, dormie.Predictor]) -> None:
        _, fast = pair
        file = BytesIO()
        fast.save(file)
        assert file.getvalue() in pickle.dumps(fast)
        for again in (pickle.loads(pickle.dumps(fast)), _through_joblib(fast)):
            assert type(again) is dormie.Predictor
            assert np.array_equal(again.predict(X), fast.predict(X))
            assert again.predict(X).dtype == fast.predict(X).dtype
            assert again.explain() == fast.explain()

    def test_threads_and_audits_are_kept(self) -> None:
        fast = dormie.Predictor(_fast("two classes").plan, threads=1)
        assert pickle.loads(pickle.dumps(fast)).threads == 1
        audited = fast.audited(rate=0.5, seed=0)
        audited.predict(X)
        again = pickle.loads(pickle.dumps(audited))
        assert isinstance(again, dormie.AuditedPredictor)
        assert again.status == audited.status

    def test_a_plan_that_files_cannot_hold_is_pickled_as_objects(self) -> None:
        machine = dormie.Machine(Custom(_alike), ["a", "b"], [1.0, -1.0], 0.0, Sign([0, 1]))
        again = pickle.loads(pickle.dumps(dormie.compile(machine)))
        assert again.predict(["a", "b"]).tolist() == [1, 0]

    def test_bytes_of_a_plan_are_checked_when_they_are_loaded(self) -> None:
        fast = _fast("two classes")
        state = fast.__getstate__()
        damaged = state["plan"].replace(b"rbf", b"rbg")
        with pytest.raises(dormie.PlanFileError, match="the open file"):
            dormie.Predictor.__new__(dormie.Predictor).__setstate__(state | {"plan": damaged})


def _through_joblib(fast: dormie.Predictor) -> Any:
    file = BytesIO()
    joblib.dump(fast, file)
    file.seek(0)
    return joblib.load(file)


def test_a_score_says_what_to_install_where_scikit_learn_is_missing() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import dormie
machine = dormie.Machine(dormie.kernels.RBF(1.0), [[0.0]], [1.0], -0.5, dormie.rules.Sign([0, 1]))
fast = dormie.compile(machine)
print(fast.fit().classes_, fast.n_features_in_, hasattr(fast, "score"))
try:
    fast.score([[0.0]], [1])
except ModuleNotFoundError as error:
    print(error)
"""
    classes, told = printed(code).splitlines()
    assert classes == "[0 1] 1 True"
    assert told == "score needs scikit-learn: pip install 'dormie[sklearn]'"


def test_several_labels_are_those_of_a_classifier() -> None:
    labels = np.column_stack([NAMES, NAMES[::-1]])
    model = MultiOutputClassifier(SVC()).fit(X, labels)
    fast = dormie.compile(model, effort="quick")
    assert is_classifier(fast)
    for ours, theirs in zip(fast.classes_, model.classes_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert fast.score(X, labels) == model.score(X, labels)
    heavy = np.arange(len(X)) + 1.0
    right = (model.predict(X) == labels).all(axis=1)
    assert fast.score(X, labels, heavy) == pytest.approx(heavy @ right / heavy.sum())
    answers = fast.predict(X, deadline=60.0)
    assert answers.settled.all()
    np.testing.assert_array_equal(answers.labels, model.predict(X))
    np.testing.assert_array_equal(fast.predict_with_decision(X)[0], model.predict(X))
    assert len(fast.trace(X).stage) == len(X)
    with pytest.raises(AttributeError, match="several labels a row has no decision values"):
        fast.decision_function(X)
    with pytest.raises(AttributeError, match="keeps no probabilities: compile each of the model's estimators_"):
        fast.predict_proba(X)

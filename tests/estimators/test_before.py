"""Pipelines with steps that no plan can hold: scikit-learn runs them, and the rest is compiled."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, OneClassSVM

import dormie
from dormie.errors import UnreadableModelError
from dormie.estimators import CompiledClassifier, CompiledOutlierDetector, CompiledRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ([PolynomialFeatures()], [StandardScaler(), PCA(3)]),
        ([QuantileTransformer(n_quantiles=20)], []),
        ([StandardScaler(), FunctionTransformer(np.abs)], [PCA(2)]),
        ([SimpleImputer(add_indicator=True)], []),
        ([ColumnTransformer([("codes", OneHotEncoder(), [0]), ("rest", StandardScaler(), [1, 2, 3])])], []),
    ],
)
def test_what_a_plan_cannot_hold_runs_in_scikit_learn(before: list[Any], behind: list[Any]) -> None:
    rows = np.column_stack([np.round(X[:, 0]), X[:, 1:]])
    pipeline = make_pipeline(*before, *behind, SVC())
    fast = CompiledClassifier(pipeline).fit(rows, Y)
    np.testing.assert_array_equal(fast.predict(rows), clone(pipeline).fit(rows, Y).predict(rows))
    np.testing.assert_allclose(fast.decision_function(rows), fast.estimator_.decision_function(rows), atol=1e-9)
    assert fast.before_ is not None
    assert [type(step) for _, step in fast.before_.steps] == [type(step) for step in before]
    assert fast.n_features_in_ == 4


def test_a_fitted_pipeline_and_a_search() -> None:
    pipeline = make_pipeline(PolynomialFeatures(), SVC()).fit(X, Y)
    frozen = CompiledClassifier(FrozenEstimator(pipeline)).fit(X)
    np.testing.assert_array_equal(frozen.predict(X), pipeline.predict(X))
    search = CompiledClassifier(GridSearchCV(pipeline, {"svc__C": [1, 10]}, cv=2)).fit(X, Y)
    np.testing.assert_array_equal(search.predict(X), search.estimator_.predict(X))


def test_regressors_and_outlier_detectors() -> None:
    values = X[:, 0] * X[:, 1]
    regressor = CompiledRegressor(make_pipeline(PolynomialFeatures(), SVR())).fit(X, values)
    np.testing.assert_allclose(regressor.predict(X), regressor.estimator_.predict(X), rtol=1e-9, atol=1e-9)
    detector = CompiledOutlierDetector(make_pipeline(PolynomialFeatures(), OneClassSVM(nu=0.2))).fit(X)
    np.testing.assert_array_equal(detector.predict(X), detector.estimator_.predict(X))


def test_a_risk_is_certified_on_rows_behind_the_steps() -> None:
    rows = np.random.default_rng(1).normal(size=(1500, 4))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    fast = CompiledClassifier(make_pipeline(PolynomialFeatures(), SVC()), risk=0.02, random_state=0).fit(rows, labels)
    assert isinstance(fast.predictor_.plan.guarantee, dormie.Risk)
    assert (fast.predict(rows) != fast.estimator_.predict(rows)).mean() < 0.02


def test_a_plan_names_what_must_run_before_it() -> None:
    fast = CompiledClassifier(make_pipeline(PolynomialFeatures(degree=3), SVC())).fit(X, Y)
    assert fast.before_ is not None
    told = "Rows must first go through PolynomialFeatures(degree=3)."
    file = io.BytesIO()
    fast.predictor_.save(file)
    file.seek(0)
    loaded = dormie.load(file)
    assert told in loaded.explain()
    assert told in repr(loaded)
    assert loaded.plan.source.before == ("PolynomialFeatures(degree=3)",)
    np.testing.assert_array_equal(loaded.predict(fast.before_.transform(X)), fast.predict(X))
    assert dormie.compile(loaded.plan).plan.source.before == loaded.plan.source.before


def test_pipelines_that_plans_can_hold_run_in_them_alone() -> None:
    fast = CompiledClassifier(make_pipeline(PCA(2), SVC())).fit(X, Y)
    assert fast.before_ is None
    assert fast.predictor_.plan.source.before == ()
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.predict(X), fast.estimator_.predict(X))


def test_names_are_those_before_the_steps() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fast = CompiledClassifier(make_pipeline(PolynomialFeatures(), SVC())).fit(frame, Y)
    assert fast.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(fast.predict(frame), fast.estimator_.predict(frame))


def test_a_model_that_is_unreadable_itself_is_refused() -> None:
    from sklearn.ensemble import RandomForestClassifier

    with pytest.raises(UnreadableModelError, match=r"RandomForestClassifier|PolynomialFeatures"):
        CompiledClassifier(make_pipeline(PolynomialFeatures(), RandomForestClassifier(3))).fit(X, Y)

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

import joblib
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import ConfusionMatrixDisplay, get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVR, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import dormie
from dormie.errors import UnreadableModelError
from dormie.estimators import CompiledClassifier, CompiledOutlierDetector, CompiledRegressor, compiled
from dormie.machine import Floats
from dormie.machine.kernels import Custom

# With a risk so high, and no method to take it, even the checks' few rows can be split. With this random state the one
# row that a check spoils is trained on, and so meets scikit-learn's own message first.
SPLIT: dict[str, Any] = {"risk": 0.9, "confidence": 0.5, "methods": [], "calibration": 0.3, "random_state": 1}
CHECKED = [
    CompiledClassifier(effort="quick"),
    CompiledClassifier(LinearSVC(dual=False, tol=1e-12), effort="quick"),
    CompiledClassifier(**SPLIT),
    CompiledRegressor(SVR(), effort="quick"),
    CompiledRegressor(KernelRidge(kernel="rbf"), tolerance=0.01, effort="quick"),
    CompiledOutlierDetector(effort="quick"),
    CompiledOutlierDetector(**SPLIT),
]


def _exceptions(estimator: Any) -> dict[str, str]:
    """scikit-learn expects the same checks to fail for its own SVC, SVR and OneClassSVM, but for the last one here."""
    if isinstance(estimator.estimator, KernelRidge | LinearSVC):
        return {}
    why = "LIBSVM's solution for a row of weight 2 differs from that for two equal rows"
    exceptions = dict.fromkeys((f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")), why)
    if isinstance(estimator, CompiledOutlierDetector) and estimator.risk is not None:
        # One of its 300 rows is 5e-8 from the boundary, where many support vectors of a one-class machine lie.
        why = "with a risk, a row as close to the boundary as float32 rounds may get another label"
        exceptions |= dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), why)
    return exceptions


@parametrize_with_checks(CHECKED, expected_failed_checks=_exceptions)  # type: ignore[untyped-decorator]
def test_scikit_learn_conventions_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def _moons(count: int, seed: int = 0) -> tuple[Floats, Any]:
    X, y = make_moons(count, noise=0.25, random_state=seed)
    return X, np.array(["above", "below"])[y]


def _quick(estimator: Any = None, **parameters: Any) -> CompiledClassifier:
    return CompiledClassifier(estimator, effort="quick", random_state=0, **parameters)


@cache
def _three_classes() -> CompiledClassifier:
    return _quick().fit(X, NAMES)


KINDS: dict[str, tuple[Any, Any]] = {
    "votes": (CompiledClassifier, SVC(decision_function_shape="ovo")),
    "one-vs-rest": (CompiledClassifier, OneVsRestClassifier(SVC())),
    "pipeline": (CompiledClassifier, make_pipeline(StandardScaler(), SVC())),
    "search": (CompiledClassifier, GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2)),
    "values": (CompiledRegressor, NuSVR()),
    "outliers": (CompiledOutlierDetector, make_pipeline(StandardScaler(), OneClassSVM(nu=0.2))),
}


@pytest.mark.parametrize(("kind", "estimator"), KINDS.values(), ids=KINDS.keys())
def test_it_answers_as_the_model_does_that_it_trains(kind: Any, estimator: Any) -> None:
    fast, model = kind(estimator, effort="quick").fit(X, Y), clone(estimator).fit(X, Y)
    for ask in (is_classifier, is_regressor, is_outlier_detector):
        assert ask(fast) == ask(model)
    np.testing.assert_allclose(fast.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)
    for name in ("decision_function", "score_samples", "score", "classes_", "predict_proba"):
        assert hasattr(fast, name) == hasattr(model, name), name
    for name in {"decision_function", "score_samples"} & {*dir(model)}:
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(fast, name)(X), getattr(model, name)(X), rtol=1e-10, atol=1e-10)
    if kind is not CompiledOutlierDetector:
        assert fast.score(X, Y) == pytest.approx(model.score(X, Y), rel=1e-12)


def test_several_values_a_row_are_given_within_the_tolerance() -> None:
    y = np.column_stack([X[:, 0] + X[:, 1], np.sin(X[:, 2])])
    fast = CompiledRegressor(KernelRidge(kernel="rbf"), tolerance=0.01, effort="quick").fit(X, y)
    assert np.abs(fast.predict(X) - fast.estimator_.predict(X)).max() <= 0.01
    assert isinstance(fast.predictor_.plan.guarantee, dormie.Tolerance)


def test_outliers_are_scored_and_found_as_scikit_learn_does() -> None:
    model = OneClassSVM(nu=0.3).fit(X)
    fast = CompiledOutlierDetector(OneClassSVM(nu=0.3), effort="quick")
    assert fast.fit_predict(X).tolist() == model.fit_predict(X).tolist()
    np.testing.assert_allclose(fast.score_samples(X), model.score_samples(X), rtol=1e-12)
    assert fast.offset_ == model.offset_[0]


def test_a_model_that_was_fitted_is_left_alone_and_trained_anew() -> None:
    given = SVC(C=5.0).fit(X[:100], Y[:100])
    fast = _quick(given).fit(X, Y)
    assert len(given.classes_) == 2
    assert len(fast.classes_) == 3
    assert fast.estimator_.C == 5.0


class TestRowsForCalibration:
    def _asked(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """What `dormie.compile` is asked, in its place."""
        asked: dict[str, Any] = {}

        def record(model: Any, rows: Any, **options: Any) -> dormie.Predictor:
            asked.update(options, model=model, rows=rows)
            return dormie.compile(model, methods=[])

        monkeypatch.setattr(compiled, "compile", record)
        return asked

    @pytest.mark.parametrize(("calibration", "count"), [(None, 100), (0.3, 120), (150, 150)])
    def test_they_are_set_aside_before_training(
        self, monkeypatch: pytest.MonkeyPatch, calibration: Any, count: int
    ) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(400)
        fast = _quick(risk=0.1, calibration=calibration).fit(X, y)
        assert len(asked["rows"]) == count
        assert fast.estimator_.shape_fit_ == (400 - count, 2)
        together = np.concatenate([asked["rows"], asked["fit_rows"]])
        assert sorted(together.tolist()) == sorted(X.tolist())
        positions = [X.tolist().index(row) for row in asked["fit_rows"].tolist()]
        again = SVC().fit(X[positions], y[positions])  # labels go with their rows
        assert np.array_equal(again.dual_coef_, fast.estimator_.dual_coef_)

    def test_a_frozen_model_is_calibrated_on_all_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(400)
        model = SVC().fit(X[:100], y[:100])
        fast = _quick(FrozenEstimator(model), risk=0.1).fit(X[100:])
        assert fast.estimator_.estimator is model
        assert asked["rows"] is not None
        assert len(asked["rows"]) == 300
        assert asked["fit_rows"] is None
        assert fast.classes_.tolist() == ["above", "below"]

    def test_of_a_frozen_model_some_rows_may_be_fitted_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(400)
        _quick(FrozenEstimator(SVC().fit(X[:100], y[:100])), risk=0.1, calibration=0.5).fit(X[100:], y[100:])
        assert [len(asked["rows"]), len(asked["fit_rows"])] == [150, 150]

    def test_they_may_be_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(400)
        fast = _quick(risk=0.1, calibration=X[200:]).fit(X[:200], y[:200])
        assert np.array_equal(asked["rows"], X[200:])
        assert np.array_equal(asked["fit_rows"], X[:200])
        assert fast.estimator_.shape_fit_ == (200, 2)

    def test_weights_go_with_their_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(400)
        weights = np.random.default_rng(0).uniform(0.5, 2.0, 400)
        fast = _quick(risk=0.1).fit(X, y, sample_weight=weights)
        positions = [X.tolist().index(row) for row in asked["fit_rows"].tolist()]
        again = SVC().fit(X[positions], y[positions], sample_weight=weights[positions])
        assert np.array_equal(again.dual_coef_, fast.estimator_.dual_coef_)

    @pytest.mark.parametrize("make", [pd.DataFrame, sparse.csc_array, lambda X: X.tolist()])
    def test_rows_of_any_kind_are_split(self, monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
        asked = self._asked(monkeypatch)
        X, y = _moons(100)
        _quick(risk=0.2).fit(make(X), y)
        split = [each.shape[0] if hasattr(each, "shape") else len(each) for each in (asked["rows"], asked["fit_rows"])]
        assert split == [25, 75]

    def test_values_and_outliers_have_no_labels_to_split_by(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self._asked(monkeypatch)
        CompiledOutlierDetector(risk=0.1, random_state=0).fit(X)
        assert len(asked["rows"]) == 43  # half as many again as the 29 that are needed

    def test_a_risk_is_certified_on_them(self) -> None:
        X, y = make_classification(6000, random_state=0)
        fast = _quick(SVC(C=0.1), risk=0.05, methods=["linear_filter"], calibration=0.5).fit(X[:4000], y[:4000])
        risk = fast.predictor_.plan.guarantee
        assert isinstance(risk, dormie.Risk)
        assert 59 <= risk.evidence.rows <= 2000
        assert np.mean(fast.predict(X[4000:]) != fast.estimator_.predict(X[4000:])) <= 0.05

    def test_too_few_are_an_error_that_says_how_many_before_anything_is_trained(self) -> None:
        X, y = _moons(400)
        told = "needs at least 2,995 held-out rows, and there are 200: .* n_samples=400 rows; calibration=None sets 200"
        with pytest.raises(ValueError, match=told):
            CompiledClassifier(_Untrainable(), risk=0.001).fit(X, y)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
    def test_a_missing_value_is_named_by_its_place_among_all_rows(self, make: Any) -> None:
        X, y = _moons(400)
        X[333, 1] = np.nan
        with pytest.raises(ValueError, match="row 333, column 1 is NaN"):
            CompiledClassifier(_Untrainable(), risk=0.1).fit(make(X), y)

    def test_without_a_risk_there_is_nothing_to_calibrate(self) -> None:
        with pytest.raises(ValueError, match=r"calibration is used only with a risk: add risk=0\.001"):
            CompiledClassifier(_Untrainable(), calibration=0.3).fit(X, Y)


class _Untrainable(SVC):  # type: ignore[misc]
    def fit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("trained too early")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"risk": 2.0}, "risk must lie between 0 and 1"),
        ({"confidence": 0.9}, "confidence is used only with a risk"),
        ({"per_class": True}, "per_class is used only with a risk"),
        ({"effort": "huge"}, "effort must be one of"),
        ({"methods": ["magic"]}, "no method is called 'magic'"),
    ],
)
def test_parameters_are_checked_before_anything_is_trained(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        CompiledClassifier(_Untrainable(), **parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (CompiledClassifier(SVR()), "CompiledClassifier: estimator must be a classifier, such as SVC(), got SVR()"),
        (CompiledRegressor(SVC()), "CompiledRegressor: estimator must be a regressor, such as SVR(), got SVC()"),
        (CompiledOutlierDetector(SVC()), "must be an outlier detector, such as OneClassSVM(), got SVC()"),
        (CompiledClassifier(SVC), "got <class 'sklearn.svm._classes.SVC'>"),
        (CompiledClassifier("svc.model"), "got 'svc.model'"),
    ],
)
def test_a_model_of_another_kind_is_an_error(estimator: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        estimator.fit(X, Y)


def test_a_model_that_cannot_be_compiled_says_so() -> None:
    with pytest.raises(UnreadableModelError, match="KNeighborsClassifier"):
        _quick(KNeighborsClassifier()).fit(X, Y)


def test_before_fit_nothing_is_predicted() -> None:
    for ask in (CompiledClassifier().predict, CompiledRegressor().predict, CompiledOutlierDetector().score_samples):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(X)


def test_a_second_fit_forgets_the_first() -> None:
    frame = pd.DataFrame(X, columns=[*"abcd"])
    fast = _quick().fit(frame, Y)
    fast.fit(X[:, :2], Y > 0)
    assert (fast.n_features_in_, fast.classes_.tolist()) == (2, [False, True])
    assert not hasattr(fast, "feature_names_in_")


class TestRows:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_are_read_by_their_names(self, frame: Any) -> None:
        rows = frame(dict(zip("abcd", X.T, strict=True)))
        fast = _quick().fit(rows, NAMES)
        assert fast.feature_names_in_.tolist() == [*"abcd"]
        assert np.array_equal(fast.predict(rows), _three_classes().predict(X))
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            fast.predict(rows[["b", "a", "c", "d"]])
        with pytest.warns(UserWarning, match="X does not have valid feature names, but CompiledClassifier was fitted"):
            fast.predict(X)

    def test_names_that_training_did_not_have_are_warned_of(self) -> None:
        with pytest.warns(UserWarning, match="X has feature names, but CompiledClassifier was fitted without"):
            found = _three_classes().predict(pd.DataFrame(X, columns=[*"abcd"]))
        assert np.array_equal(found, _three_classes().predict(X))

    @pytest.mark.parametrize(
        "make", [sparse.csr_array, sparse.coo_matrix, lambda X: X.tolist(), np.asfortranarray, lambda X: X.astype("O")]
    )
    def test_other_rows_are_read_as_the_predictor_reads_them(self, make: Any) -> None:
        assert np.array_equal(_three_classes().predict(make(X)), _three_classes().predict(X))

    def test_models_are_trained_on_sparse_rows(self) -> None:
        fast = _quick().fit(sparse.csr_array(X), Y)
        assert np.array_equal(fast.predict(X), SVC().fit(sparse.csr_array(X), Y).predict(sparse.csr_array(X)))

    @pytest.mark.parametrize(
        ("rows", "told"),
        [
            (X[:, :3], "X has 3 features, but CompiledClassifier is expecting 4 features as input"),
            (X[:, :3].tolist(), "X has 3 features"),
            (X[0], "Reshape your data"),
            (X[0].tolist(), "Reshape your data"),
            ([[1.0, 2.0], [3.0]], "inhomogeneous"),
            (np.full((1, 4), np.nan), "row 0, column 0 is NaN"),
            (pd.DataFrame(np.full((1, 4), np.inf)), "row 0, column 0 is infinite"),
            ([["a", "b", "c", "d"]], "Convert your data to numeric values"),
            (np.ma.masked_equal(X, X[0, 0]), "X has masked values"),
        ],
    )
    def test_what_cannot_be_read_is_explained(self, rows: Any, told: str) -> None:
        with pytest.raises(ValueError, match=told):
            _three_classes().predict(rows)

    def test_no_rows_have_no_answers(self) -> None:
        assert _three_classes().predict(X[:0]).shape == (0,)

    def test_strings_are_no_vectors(self) -> None:
        words = [a + b for a in "abcdefgh" for b in "abcdefgh"]
        y = np.array([word[0] < "e" for word in words])
        kernel = Custom(_letters_in_common, positive_semidefinite=True)
        fast = _quick(SVC(kernel=kernel), risk=0.2).fit(words, y)
        assert not hasattr(fast, "n_features_in_")
        assert fast.predict(words).tolist() == fast.estimator_.predict(words).tolist()
        assert pickle.loads(pickle.dumps(fast)).predict(["aa", "hh"]).tolist() == [True, False]


def _letters_in_common(a: Any, b: Any) -> Any:
    return np.array([[float(u[0] == v[0]) + (u[1] == v[1]) for v in b] for u in a])


class TestProbabilities:
    def test_they_are_there_if_the_model_has_them(self) -> None:
        assert not hasattr(CompiledClassifier(), "predict_proba")
        assert not hasattr(_three_classes(), "predict_proba")
        assert not hasattr(_three_classes(), "predict_log_proba")
        assert hasattr(CompiledClassifier(CalibratedClassifierCV(SVC())), "predict_proba")

    def test_they_are_the_predictors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("predict_proba", "predict_log_proba"):
            monkeypatch.setattr(dormie.Predictor, name, _column_of(name), raising=False)
            assert getattr(_three_classes(), name)(X[:2].tolist()).tolist() == [name, name]


def _column_of(name: str) -> Any:
    return lambda _, rows: np.array([name] * len(rows))


class TestTools:
    def test_cross_validation_scorers_and_importances_find_what_they_find_for_the_model(self) -> None:
        model = SVC().fit(X, NAMES)
        assert cross_val_score(_quick(), X, NAMES).tolist() == cross_val_score(SVC(), X, NAMES).tolist()
        for scoring in ("accuracy", "f1_macro"):
            assert get_scorer(scoring)(_three_classes(), X, NAMES) == get_scorer(scoring)(model, X, NAMES)
        importances = [
            permutation_importance(each, X, NAMES, n_repeats=2, random_state=0) for each in (_three_classes(), model)
        ]
        assert importances[0].importances.tolist() == importances[1].importances.tolist()
        assert FrozenEstimator(_three_classes()).fit(X, NAMES).score(X, NAMES) == model.score(X, NAMES)

    def test_displays(self) -> None:
        matplotlib.use("agg")
        shown = ConfusionMatrixDisplay.from_estimator(_three_classes(), X, NAMES)
        assert shown.confusion_matrix.sum() == 150
        flat = _quick().fit(X[:, :2], NAMES)
        assert DecisionBoundaryDisplay.from_estimator(flat, X[:, :2], grid_resolution=10).response.shape[:2] == (10, 10)
        matplotlib.pyplot.close("all")

    def test_a_search_reaches_the_model_and_the_risk(self) -> None:
        X, y = _moons(400)
        search = GridSearchCV(_quick(), {"estimator": [SVC()], "estimator__C": [0.1, 10.0], "risk": [None, 0.1]}, cv=2)
        search.fit(X, y)
        assert len(search.cv_results_["params"]) == 4
        assert search.score(X, y) > 0.85
        assert search.best_params_["estimator__C"] == search.best_estimator_.estimator_.C

    def test_calibrated_probabilities_are_those_of_the_model(self) -> None:
        mine, theirs = (CalibratedClassifierCV(each, cv=3).fit(X, NAMES) for each in (_quick(), SVC()))
        np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-9)

    def test_a_pipeline_hands_on_frames(self) -> None:
        frame = pd.DataFrame(X, columns=[*"abcd"])
        pipeline = make_pipeline(StandardScaler(), _quick()).set_output(transform="pandas").fit(frame, NAMES)
        assert pipeline[-1].feature_names_in_.tolist() == [*"abcd"]
        expected = make_pipeline(StandardScaler(), SVC()).fit(frame, NAMES).predict(frame)
        assert np.array_equal(pipeline.predict(frame), expected)


class TestMetadata:
    def test_weights_are_the_models(self) -> None:
        weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
        fast = _quick().fit(X, NAMES, sample_weight=weights)
        model = SVC().fit(X, NAMES, sample_weight=weights)
        assert np.array_equal(fast.estimator_.dual_coef_, model.dual_coef_)
        assert fast.score(X, NAMES, sample_weight=weights) == model.score(X, NAMES, sample_weight=weights)

    def test_they_are_routed_if_the_model_requests_them(self) -> None:
        weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
        expected = SVC().fit(X, NAMES, sample_weight=weights).dual_coef_
        with sklearn.config_context(enable_metadata_routing=True):
            model = SVC().set_fit_request(sample_weight=True)
            fast = _quick(model).fit(X, NAMES, sample_weight=weights)
            assert np.array_equal(fast.estimator_.dual_coef_, expected)
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                _quick().fit(X, NAMES, sample_weight=weights)
            search = GridSearchCV(_quick(model).set_score_request(sample_weight=False), {"risk": [None]}, cv=2)
            assert np.array_equal(
                search.fit(X, NAMES, sample_weight=weights).best_estimator_.estimator_.dual_coef_, expected
            )
            assert _quick().fit(X, NAMES).score(X, NAMES) > 0.9

    def test_other_parameters_of_fit_go_to_the_model(self) -> None:
        weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
        pipeline = make_pipeline(StandardScaler(), SVC())
        fast = _quick(pipeline, risk=0.2).fit(X, NAMES, svc__sample_weight=weights)
        assert fast.estimator_[-1].shape_fit_ == (113, 4)
        alike = _quick(pipeline, risk=0.2).fit(X, NAMES)
        assert not np.array_equal(fast.estimator_[-1].intercept_, alike.estimator_[-1].intercept_)


class TestCopies:
    def test_a_clone_has_the_parameters(self) -> None:
        fast = _quick(SVC(C=3.0), risk=0.1, calibration=0.3)
        again = clone(fast)
        assert again.get_params()["estimator__C"] == 3.0
        assert (again.risk, again.calibration) == (0.1, 0.3)
        assert not hasattr(clone(_three_classes()), "predictor_")
        assert "estimator=SVC(C=3.0)" in repr(fast)

    def test_pickles_carry_the_bytes_of_the_plan(self) -> None:
        fast, file = _three_classes(), BytesIO()
        fast.predictor_.save(file)
        assert file.getvalue() in pickle.dumps(fast)
        through_joblib = BytesIO()
        joblib.dump(fast, through_joblib)
        through_joblib.seek(0)
        for again in (pickle.loads(pickle.dumps(fast)), joblib.load(through_joblib)):
            assert np.array_equal(again.predict(X), fast.predict(X))
            assert again.classes_.tolist() == fast.classes_.tolist()
            assert again.predictor_.explain() == fast.predictor_.explain()


class TestNotebooks:
    def test_they_show_the_cascade_and_the_guarantee_below_the_diagram(self) -> None:
        fast = _quick(methods=["geometry"]).fit(X, Y)
        for html in (fast._repr_html_(), fast._repr_mimebundle_()["text/html"]):
            assert html.index("sk-top-container") < html.index("dormie-plan")
            shown = html[html.index("dormie-plan") :]
            assert shown.index("geometry(") < shown.index("dense") < shown.index("exact: every answer is the model")
        assert "dormie-plan" not in _quick()._repr_html_()

    def test_they_may_show_text(self) -> None:
        with sklearn.config_context(display="text"):
            assert [*_three_classes()._repr_mimebundle_()] == ["text/plain"]
            assert not hasattr(_three_classes(), "_repr_html_")

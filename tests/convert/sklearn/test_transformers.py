"""What is before the model in a pipeline: the same answers, from the model, from its plan and from its plan file."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import dormie
from dormie.errors import UnreadableModelError
from dormie.machine.preparation import Columns, Preparation
from dormie.numerics import reference
from dormie.numerics.backend import numpy_only
from tests.fresh_process import printed

CLIPPED = MaxAbsScaler(**{name: True for name in MaxAbsScaler().get_params() if name == "clip"})  # older ones cannot
MIXED = ColumnTransformer(
    [
        ("scaled", StandardScaler(), [0, 3]),
        ("projected", make_pipeline(StandardScaler(), PCA(2)), [1, 2, 4]),
        ("as they are", "passthrough", slice(5, 6)),
        ("dropped", "drop", [6]),
    ],
    remainder=MinMaxScaler(),
    transformer_weights={"projected": 0.5},
)
UNION = FeatureUnion(
    [("some", PCA(3)), ("best", SelectKBest(k=2)), ("all", "passthrough"), ("none", "drop")],
    transformer_weights={"best": 3.0},
)
TRANSFORMERS: dict[str, list[Any]] = {
    "PCA": [PCA(3)],
    "PCA, whitened": [StandardScaler(), PCA(4, whiten=True)],
    "IncrementalPCA": [IncrementalPCA(3)],
    "TruncatedSVD": [TruncatedSVD(3), StandardScaler()],
    "LinearDiscriminantAnalysis": [LinearDiscriminantAnalysis()],
    "LinearDiscriminantAnalysis, eigen": [LinearDiscriminantAnalysis(solver="eigen", n_components=1)],
    "FastICA": [FastICA(3, random_state=0)],
    "NeighborhoodComponentsAnalysis": [NeighborhoodComponentsAnalysis(2, max_iter=5)],
    "GaussianRandomProjection": [GaussianRandomProjection(3, random_state=0)],
    "SparseRandomProjection": [SparseRandomProjection(4, random_state=0)],
    "SelectKBest": [SelectKBest(k=3)],
    "SelectPercentile": [SelectPercentile(percentile=50), RobustScaler()],
    "SelectFromModel": [SelectFromModel(RandomForestClassifier(20, random_state=0))],
    "RFE": [RFE(LogisticRegression(), n_features_to_select=4)],
    "VarianceThreshold": [VarianceThreshold(0.5)],
    "ColumnTransformer": [MIXED],
    "FeatureUnion": [UNION],
    "MinMaxScaler, clipped": [MinMaxScaler(clip=True)],
    "MaxAbsScaler, clipped": [CLIPPED, "passthrough"],
    "SimpleImputer": [SimpleImputer(missing_values=0.0, strategy="median")],
    "Normalizer": [StandardScaler(), Normalizer()],
    "Normalizer, l1": [Normalizer("l1")],
    "Normalizer, max": [Normalizer("max")],
    "Binarizer": [Binarizer(threshold=1.0)],
    "no function": [FunctionTransformer(), PCA(3)],
    "pipelines": [make_pipeline(StandardScaler(), make_pipeline(PCA(5), SelectKBest(k=3)))],
}
MODELS: dict[str, Any] = {
    "rbf": SVC(),
    "polynomial": SVC(kernel="poly", degree=2, coef0=1.0),
    "linear": LinearSVC(),
    "logistic": LogisticRegression(),
    "values": SVR(),
    "ridge": KernelRidge(kernel="rbf", gamma=0.1),
}
FEATURES = 8


def data(n: int = 120, features: int = FEATURES, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * rng.uniform(0.5, 3, size=features) + 2 * rng.normal(size=features)
    X[rng.random(X.shape) < 0.05] = 0.0
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] ** 2 + X[:, 2] > 3)


def fitted(transformers: list[Any], model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(*transformers, model).fit(X, y)


def assert_same_answers(pipeline: Any, rows: Any, predict: Any) -> None:
    expected, found = pipeline.predict(rows), predict(rows)
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_plan_answers_as_the_pipeline_does(name: str, model: str) -> None:
    X, y = data()
    pipeline = fitted(TRANSFORMERS[name], MODELS[model], X, y)
    fast, (rows, _) = dormie.compile(pipeline, effort="quick"), data(400, seed=1)
    rows = np.vstack([rows * 1.2, X])
    assert_same_answers(pipeline, rows, fast.predict)
    assert fast.predict(rows[:1]) == fast.predict(rows)[:1]
    file = io.BytesIO()
    fast.save(file)
    file.seek(0)
    np.testing.assert_array_equal(dormie.load(file).predict(rows), fast.predict(rows))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_decision_values_are_those_of_the_pipeline(name: str) -> None:
    X, y = data()
    pipeline = fitted(TRANSFORMERS[name], SVC(), X, y > 0)
    machine, (rows, _) = dormie.read(pipeline), data(100, seed=2)
    with numpy_only():
        found = reference.outputs(machine, rows)[:, 0]
    expected = pipeline.decision_function(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("n", "features"), [(30, 2), (60, 40), (200, 90)])
@pytest.mark.parametrize("name", ["PCA", "SelectKBest", "FeatureUnion", "Normalizer"])
def test_shapes(n: int, features: int, name: str) -> None:
    X, y = data(n, max(features, 3))
    fast = dormie.compile(pipeline := fitted(TRANSFORMERS[name], SVC(), X, y))
    assert_same_answers(pipeline, data(300, max(features, 3), seed=3)[0], fast.predict)


@pytest.mark.parametrize(
    "transformers",
    [[TruncatedSVD(3)], [SelectKBest(k=3)], [MaxAbsScaler(), TruncatedSVD(3), StandardScaler()], [Normalizer()],
     [CLIPPED], [PCA(3)], [TfidfTransformer()], [VarianceThreshold(), SparseRandomProjection(4)]],
)  # fmt: skip
@pytest.mark.parametrize("model", ["rbf", "linear"])
def test_sparse_rows(transformers: list[Any], model: str) -> None:
    rng = np.random.default_rng(0)
    X = csr_array(np.where(rng.random((150, 30)) < 0.2, np.abs(rng.normal(size=(150, 30))), 0.0))
    pipeline = fitted(transformers, MODELS[model], X, np.asarray(X.sum(axis=1)).ravel() > 4.5)
    fast = dormie.compile(pipeline)
    assert_same_answers(pipeline, X, fast.predict)
    np.testing.assert_array_equal(fast.predict(X.toarray()), fast.predict(X))


@pytest.mark.parametrize(
    "transformers",
    [[SimpleImputer()], [StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.5), PCA(3)],
     [ColumnTransformer([("a", SimpleImputer(), [0, 1]), ("b", make_pipeline(SimpleImputer(), StandardScaler()),
                                                         list(range(2, FEATURES)))])]],
)  # fmt: skip
def test_nan_is_imputed(transformers: list[Any]) -> None:
    X, y = data()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    fast = dormie.compile(pipeline := fitted(transformers, SVC(), X, y))
    assert_same_answers(pipeline, X, fast.predict)
    with numpy_only():
        assert_same_answers(pipeline, X, dormie.compile(pipeline, methods=[]).predict)
    assert len(fast.trace(X).stage) == len(X)
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7, column 2 is infinite"):
        fast.predict(X)


def test_a_column_without_values_is_dropped_as_by_the_imputer() -> None:
    X, y = data()
    X[:, 3] = np.nan
    fast = dormie.compile(pipeline := fitted([SimpleImputer()], SVC(), X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same_answers(pipeline, X, fast.predict)


@pytest.mark.parametrize("transformers", [[PCA(3)], [SimpleImputer(missing_values=-1.0)]])
def test_nan_is_refused_where_nothing_imputes_it(transformers: list[Any]) -> None:
    X, y = data()
    fast = dormie.compile(fitted(transformers, SVC(), X, y))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4, column 1 is NaN"):
        fast.predict(X)


def test_a_plan_is_loaded_and_answers_without_scikit_learn(tmp_path: Path) -> None:
    X, y = data()
    rows = data(50, seed=5)[0]
    for number, name in enumerate(TRANSFORMERS):
        fast = dormie.compile(fitted(TRANSFORMERS[name], SVC(), X, y), methods=[])
        fast.save(tmp_path / f"{number}.dormie")
        np.save(tmp_path / f"{number}.npy", fast.predict(rows))
    np.save(tmp_path / "rows.npy", rows)
    code = f"""
import sys
sys.modules["sklearn"] = None
from pathlib import Path
import numpy as np
import dormie
folder = Path({str(tmp_path)!r})
rows = np.load(folder / "rows.npy")
def same(n):
    return (dormie.load(folder / f"{{n}}.dormie").predict(rows) == np.load(folder / f"{{n}}.npy")).all()
print([n for n in range({len(TRANSFORMERS)}) if same(n)])
"""
    assert printed(code).strip() == str([*range(len(TRANSFORMERS))])


def test_scalers_alone_remain_an_input_map() -> None:
    X, y = data()
    machine = dormie.read(fitted([StandardScaler(), MinMaxScaler()], SVC(), X, y))
    assert machine.preparation is None
    assert machine.input_map is not None


def test_scalers_behind_a_projection_become_the_input_map() -> None:
    X, y = data()
    machine = dormie.read(fitted([PCA(3), StandardScaler()], SVC(), X, y))
    assert machine.preparation is not None
    assert [step.kind for step in machine.preparation.steps] == ["projection", "subtract"]
    assert machine.input_map is not None


def test_what_all_columns_pass_is_no_step() -> None:
    X, y = data()
    machine = dormie.read(fitted([VarianceThreshold(), FunctionTransformer()], SVC(), X, y))
    assert machine.preparation is None or not machine.preparation.steps


def test_a_sum_of_machines_behind_a_pipeline() -> None:
    X, y = data()
    inner = fitted([PCA(3)], SVC(), X, y)
    whole = make_pipeline(StandardScaler(), *[step for _, step in inner.steps]).fit(X, y)
    machine = dormie.read(whole)
    sums = dormie.MachineSum([machine, machine], dormie.rules.Value(flat=False))
    assert machine.preparation is not None
    chosen = sums.behind(Preparation(FEATURES + 1, [Columns(np.arange(FEATURES), FEATURES + 1)]))
    rows = data(20, FEATURES + 1, seed=4)[0]
    expected = reference.outputs(machine, rows[:, :FEATURES])
    for member in chosen.members:
        np.testing.assert_array_equal(reference.outputs(member, rows), expected)
    assert chosen.n_columns == FEATURES + 1


def test_names_are_those_of_the_columns_before_all_steps() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(FEATURES)])
    pipeline = fitted([MIXED, PCA(3)], SVC(), frame, y)
    fast = dormie.compile(pipeline)
    assert fast.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(fast.predict(frame), pipeline.predict(frame))


def test_one_class_machines_too() -> None:
    X, _ = data()
    pipeline = make_pipeline(PCA(3), OneClassSVM(nu=0.2)).fit(X)
    fast = dormie.compile(pipeline)
    np.testing.assert_array_equal(fast.predict(X), pipeline.predict(X))
    np.testing.assert_allclose(fast.decision_function(X), pipeline.decision_function(X), rtol=1e-9, atol=1e-9)


def test_an_expansion_behind_a_projection() -> None:
    X, y = data()
    pipeline = fitted([PCA(4), Nystroem(n_components=20, random_state=0)], LogisticRegression(), X, y)
    assert_same_answers(pipeline, X, dormie.compile(pipeline).predict)


@pytest.mark.parametrize(
    ("transformers", "message"),
    [
        ([PolynomialFeatures()], "PolynomialFeatures: a plan cannot hold this step.*CompiledClassifier"),
        ([FunctionTransformer(np.abs)], "FunctionTransformer: a plan cannot hold"),
        ([FeatureUnion([("a", PolynomialFeatures()), ("b", PCA(2))])], "PolynomialFeatures: a plan cannot hold"),
        ([SimpleImputer(add_indicator=True)], "add_indicator=True.*CompiledClassifier"),
        ([TfidfTransformer(sublinear_tf=True)], "sublinear_tf=True"),
        ([Nystroem(n_components=9, random_state=0), PCA(2)], "SVC|rows are changed|kernel of its own"),
    ],
)
def test_what_a_plan_cannot_do_is_refused_with_advice(transformers: list[Any], message: str) -> None:
    X, y = np.abs(data()[0]), data()[1]
    with pytest.raises(UnreadableModelError, match=message):
        dormie.read(fitted(transformers, SVC(), X, y))

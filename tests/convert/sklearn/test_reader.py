"""Models of scikit-learn, read: the same decision values and, on every row, the same answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import dormie
from dormie.convert import read
from dormie.convert.one_vs_one import expand
from dormie.errors import UnreadableModelError
from dormie.machine import Machine, kernels
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value
from dormie.numerics import reference
from tests import fresh_process

Rows = npt.NDArray[np.float64]
RNG = np.random.default_rng(7)
X = RNG.normal(size=(90, 4)) * [1.0, 5.0, 0.3, 2.0] + [0.0, 10.0, -3.0, 1.0]
NEW = RNG.normal(size=(300, 4)) * [1.5, 7.0, 0.5, 3.0] + [0.0, 10.0, -3.0, 1.0]
VALUES = np.sin(X[:, 0]) + 0.1 * X[:, 1]
TWO = np.where(X[:, 0] + 0.2 * X[:, 3] ** 2 > 0.8, "yes", "no")
FOUR = np.array(["north", "east", "south", "west"])[2 * (X[:, 0] > 0) + (X[:, 1] > 10)]
KERNELS = ["linear", "poly", "rbf", "sigmoid"]


def dot_cubed(a: Any, b: Any) -> Any:
    return (0.05 * (a @ b.T) + 1.0) ** 3


def laplacian_of_rows(u: Rows, v: Rows, width: float = 4.0) -> float:
    return float(np.exp(-np.abs(u - v).sum() / width))


def assert_reads(model: Any, rows: Any = NEW) -> Machine:
    """The machine of the model, once its values and answers are those of the model."""
    machine = read(model)
    outputs = reference.outputs(machine, rows)
    answers = machine.rule.labels(machine.rule.answer(outputs))
    if isinstance(machine.rule, Value):
        np.testing.assert_allclose(answers, model.predict(rows), rtol=1e-9, atol=1e-9)
    else:
        expected = model.predict(rows)
        np.testing.assert_array_equal(answers, expected)
        assert answers.dtype == expected.dtype
        assert len(np.unique(expected)) > 1, "one answer for all rows would prove little"
        np.testing.assert_allclose(machine.rule.decision(outputs), model.decision_function(rows), rtol=1e-9, atol=1e-9)
    return machine


def libsvm_settings(kernel: str) -> dict[str, Any]:
    return {"kernel": kernel, "gamma": 0.05, "coef0": 0.3, "degree": 2, "max_iter": 5000, "tol": 1e-2}


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [TWO, FOUR, TWO == "yes", FOUR.astype(object), (FOUR == "east") * 7 - 3])
def test_svc_of_every_kernel_and_kind_of_label(kernel: str, labels: Any) -> None:
    assert_reads(SVC(**libsvm_settings(kernel)).fit(X, labels))


@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.2])
def test_nu_svc_and_every_way_of_giving_gamma(labels: Any, gamma: Any) -> None:
    assert_reads(NuSVC(nu=0.1, gamma=gamma).fit(X, labels))


@pytest.mark.parametrize(("shape", "break_ties"), [("ovo", False), ("ovr", False), ("ovr", True)])
def test_votes_have_the_shape_and_tie_breaking_asked_for(shape: str, break_ties: bool) -> None:
    machine = assert_reads(SVC(decision_function_shape=shape, break_ties=break_ties).fit(X, FOUR))
    assert isinstance(machine.rule, OneVsOneVote)
    assert (machine.rule.shape, machine.rule.break_ties) == (shape, break_ties)


@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize("kernel", KERNELS)
def test_models_fitted_on_sparse_rows(kernel: str, labels: Any) -> None:
    rows = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    new = np.where(np.abs(NEW) > 1, NEW, 0.0)
    model = SVC(kernel=kernel, gamma=0.01).fit(rows, labels)
    machine = read(model)
    outputs = reference.outputs(machine, new)
    np.testing.assert_allclose(machine.rule.decision(outputs), model.decision_function(new), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(machine.rule.labels(machine.rule.answer(outputs)), model.predict(new))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5), n=st.integers(10, 30), d=st.integers(1, 4))
def test_svc_on_any_small_data_with_ties_and_duplicates(seed: int, k: int, n: int, d: int) -> None:
    """Rows on a coarse grid: many are equal, many symmetric, so that values of exactly 0 and tied votes occur."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(n, d)).astype(np.float64)
    labels = np.append(np.arange(k), rng.integers(0, k, size=n - k))
    model = SVC(kernel="rbf", gamma=0.5, decision_function_shape="ovo").fit(rows, labels)
    machine = read(model)
    outputs = model.decision_function(rows).reshape(n, -1)
    np.testing.assert_array_equal(machine.rule.labels(machine.rule.answer(outputs)), model.predict(rows))
    np.testing.assert_allclose(reference.outputs(machine, rows), outputs, rtol=1e-9, atol=1e-9)


def test_a_binary_value_of_exactly_zero_is_the_second_class() -> None:
    model = SVC(kernel="linear").fit([[-1.0], [1.0]], ["left", "right"])
    assert model.decision_function([[0.0]]) == 0
    machine = read(model)
    assert machine.rule.labels(machine.rule.answer(np.zeros((1, 1)))) == model.predict([[0.0]]) == "right"


@pytest.mark.parametrize("labels", [TWO, FOUR])
def test_svc_with_a_kernel_function(labels: Any) -> None:
    machine = assert_reads(SVC(kernel=dot_cubed).fit(X, labels))
    assert machine.kernel == kernels.Custom(dot_cubed)
    assert machine.n_points < len(X)


def test_svr_with_a_kernel_function_fitted_on_sparse_rows_or_a_data_frame() -> None:
    def tenth_of_dot(a: Any, b: Any) -> Any:
        return 0.1 * (a @ b.T)

    expected = SVR(kernel=tenth_of_dot).fit(X, VALUES).predict(NEW)
    for rows in (X, sparse.csr_array(X), pd.DataFrame(X)):
        machine = read(SVR(kernel=tenth_of_dot).fit(rows, VALUES))
        np.testing.assert_allclose(reference.outputs(machine, NEW)[:, 0], expected, rtol=1e-6)


def shared_letters(a: Any, b: Any) -> Rows:
    return np.array([[len(set(u) & set(v)) for v in b] for u in a], dtype=np.float64)


def test_svc_with_a_kernel_function_of_strings() -> None:
    words = ["apple", "maple", "plea", "rocky", "ticky", "kiosk"]
    model = SVC(kernel=shared_letters).fit(words, [0, 0, 0, 1, 1, 1])
    machine = read(model)
    assert set(machine.points) <= set(words)
    outputs = reference.outputs(machine, ["peal", "tock"])
    np.testing.assert_allclose(outputs[:, 0], model.decision_function(["peal", "tock"]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_support_vector_regression(kernel: str, kind: Callable[..., Any]) -> None:
    scaled = StandardScaler().fit(X)
    assert_reads(kind(kernel=kernel, coef0=0.1).fit(scaled.transform(X), VALUES), scaled.transform(NEW))


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)])
def test_a_regressor_without_support_vectors_is_its_intercept(rows: Any) -> None:
    model = SVR(epsilon=100.0).fit(rows, VALUES)
    assert len(model.support_) == 0
    machine = assert_reads(model)
    assert (machine.n_points, machine.n_features) == (0, 4)


@pytest.mark.parametrize("kernel", ["poly", "rbf", "sigmoid"])
def test_one_class_machines(kernel: str) -> None:
    scaled = StandardScaler().fit(X)
    model = OneClassSVM(kernel=kernel, nu=0.3, gamma=0.1, coef0=0.5).fit(scaled.transform(X))
    assert_reads(model, scaled.transform(NEW))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_linear_svc(labels: Any, multi_class: str, fit_intercept: bool) -> None:
    model = LinearSVC(multi_class=multi_class, fit_intercept=fit_intercept, max_iter=100_000, tol=1e-2)
    assert_reads(model.fit(StandardScaler().fit_transform(X), labels))
    assert_reads(model.sparsify())


def test_a_binary_linear_svc_answers_the_first_class_at_zero() -> None:
    assert read(LinearSVC().fit(X - X.mean(axis=0), TWO)).rule == Sign(np.array(["no", "yes"]), zero=0)


def test_linear_svr() -> None:
    assert_reads(LinearSVR(tol=1e-1, max_iter=10_000).fit(StandardScaler().fit_transform(X), VALUES))


@pytest.mark.parametrize("targets", [VALUES, VALUES[:, None], np.column_stack([VALUES, X[:, 1], -VALUES])])
@pytest.mark.parametrize("kernel", ["linear", "poly", "polynomial", "rbf", "sigmoid", laplacian_of_rows])
@pytest.mark.parametrize("gamma", [None, 0.03])
def test_kernel_ridge(kernel: Any, targets: Any, gamma: float | None) -> None:
    model = KernelRidge(alpha=200.0, kernel=kernel, gamma=gamma, degree=2).fit(X, targets)
    machine = assert_reads(model)
    assert isinstance(machine.rule, Value)
    assert machine.rule.flat == (targets.ndim == 1)


def test_kernel_ridge_with_parameters_for_its_function_and_sparse_rows() -> None:
    assert_reads(KernelRidge(kernel=laplacian_of_rows, kernel_params={"width": 9.0}).fit(X, VALUES))
    machine = assert_reads(KernelRidge(kernel="rbf", gamma=0.1).fit(sparse.csr_array(X), VALUES))
    assert machine.points.shape == X.shape


def test_a_kernel_function_of_rows_serves_an_empty_batch() -> None:
    machine = read(KernelRidge(kernel=laplacian_of_rows).fit(X, VALUES))
    assert machine.kernel.matrix(X[:0], machine.points).shape == (0, len(X))


LENGTHS = [1.0, 4.0, 0.7, 2.0]


@pytest.mark.parametrize("normalize_y", [True, False])
@pytest.mark.parametrize("targets", [VALUES, VALUES[:, None], np.column_stack([VALUES, 3 * X[:, 1]])])
@pytest.mark.parametrize(
    "kernel",
    [
        None,
        gp.RBF(3.0),
        gp.RBF(LENGTHS),
        gp.ConstantKernel(2.0) * gp.RBF(2.0),
        gp.RBF(LENGTHS) * gp.ConstantKernel(2.0) + gp.WhiteKernel(0.1),
        gp.WhiteKernel(0.1) + gp.ConstantKernel(0.5) * gp.RBF(3.0) + gp.ConstantKernel(1.5),
        gp.ConstantKernel(2.0) * (gp.RBF(3.0) + gp.WhiteKernel(0.1) + gp.ConstantKernel(1.5)),
    ],
)
def test_gaussian_process_means(kernel: Any, targets: Any, normalize_y: bool) -> None:
    model = GaussianProcessRegressor(kernel, alpha=0.1, normalize_y=normalize_y, optimizer=None).fit(X, targets)
    machine = assert_reads(model, np.vstack([NEW, X]))
    assert machine.rule == Value(flat=targets.ndim == 1 or targets.shape[1] == 1)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("targets", [VALUES, VALUES[:, None], np.column_stack([VALUES, 3 * X[:, 1]])])
@pytest.mark.parametrize(
    "kernel", [gp.Matern(3.0, nu=3.5), gp.RBF(2.0) * gp.RationalQuadratic(2.0) + gp.WhiteKernel(0.1)], ids=str
)
def test_the_advice_for_a_gaussian_process_that_cannot_be_read_is_good(
    kernel: Any, targets: Any, normalize_y: bool
) -> None:
    model = GaussianProcessRegressor(kernel, alpha=0.1, normalize_y=normalize_y, optimizer=None)
    model.fit(X, 400.0 + 30.0 * targets)
    with pytest.raises(UnreadableModelError, match=r"by hand: dormie\.Machine\(.*\)$") as refused:
        read(model)
    code = str(refused.value).partition("by hand: ")[2]
    fast = dormie.compile(eval(code, {"dormie": dormie, "model": model}))
    np.testing.assert_allclose(fast.predict(NEW), model.predict(NEW), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_gaussian_process_is_read_with_the_kernel_that_was_fitted() -> None:
    model = GaussianProcessRegressor(gp.RBF(9.0) + gp.WhiteKernel(1.0)).fit(X, VALUES)
    assert model.kernel_.k1.length_scale != 9.0
    assert_reads(model)


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [StandardScaler(with_mean=False, with_std=False)],
        [MinMaxScaler()],
        [MinMaxScaler(feature_range=(-3, 2))],
        [MaxAbsScaler()],
        [RobustScaler()],
        [RobustScaler(with_centering=False)],
        [RobustScaler(with_scaling=False)],
        [RobustScaler(unit_variance=True, quantile_range=(10, 80))],
        ["passthrough"],
        [None],
        [MinMaxScaler(), StandardScaler()],
        [RobustScaler(), "passthrough", MinMaxScaler(), MaxAbsScaler()],
        [make_pipeline(RobustScaler(), MinMaxScaler()), StandardScaler()],
    ],
)
def test_scalers_fold_into_the_input_map(scalers: list[Any]) -> None:
    assert_reads(make_pipeline(*scalers, SVC(gamma=0.1)).fit(X, FOUR))


def test_scalers_fold_where_a_feature_never_changes() -> None:
    constant = np.column_stack([X, np.full(len(X), 3.0)])
    for scaler in (StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()):
        assert_reads(make_pipeline(scaler, SVC()).fit(constant, FOUR), np.column_stack([NEW, NEW[:, 0]]))


def test_a_pipeline_inside_a_pipeline_and_length_scales_compose() -> None:
    model = GaussianProcessRegressor(gp.RBF(LENGTHS), optimizer=None, alpha=0.1)
    inner = make_pipeline(MinMaxScaler(), model)
    assert_reads(make_pipeline(StandardScaler(), inner).fit(X, VALUES))


def test_a_pipeline_of_scaler_and_kernel_function() -> None:
    assert_reads(make_pipeline(StandardScaler(), SVC(kernel=dot_cubed)).fit(X, FOUR))


GRID = {"svc__C": [0.5, 5.0], "svc__gamma": [0.05, 0.5]}


@pytest.mark.parametrize(
    "search",
    [
        lambda model: GridSearchCV(model, GRID, cv=2),
        lambda model: RandomizedSearchCV(model, GRID, n_iter=2, cv=2, random_state=0),
        lambda model: HalvingGridSearchCV(model, GRID, cv=2, random_state=0, min_resources=40),
    ],
)
def test_searches_give_their_best_estimator(search: Callable[[Any], Any]) -> None:
    assert_reads(search(make_pipeline(StandardScaler(), SVC())).fit(X, FOUR))


@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize(
    "estimator", [SVC(gamma=0.1), LinearSVC(max_iter=100_000), make_pipeline(RobustScaler(), SVC(gamma=0.3))]
)
def test_one_vs_rest(estimator: Any, labels: Any) -> None:
    scaled = StandardScaler().fit(X)
    model = OneVsRestClassifier(estimator).fit(scaled.transform(X), labels)
    assert_reads(model, scaled.transform(NEW))


def test_one_vs_rest_shares_points() -> None:
    machine = assert_reads(OneVsRestClassifier(SVC(gamma=0.1, C=0.1)).fit(X, FOUR))
    assert machine.n_outputs == 4
    assert machine.n_points <= len(X)


def test_one_vs_rest_with_a_kernel_function_and_equal_training_rows() -> None:
    twice = np.vstack([X, X])
    assert_reads(OneVsRestClassifier(SVC(kernel=dot_cubed)).fit(twice, np.append(FOUR, FOUR)))


def test_one_vs_rest_breaks_ties_as_the_installed_scikit_learn_does() -> None:
    rows = np.zeros((3, 1))
    model = OneVsRestClassifier(LinearSVC()).fit(np.array([[-1.0], [0.0], [1.0]]), ["a", "b", "c"])
    for estimator in model.estimators_:
        estimator.coef_, estimator.intercept_ = np.zeros((1, 1)), np.zeros(1)
    machine = read(model)
    assert isinstance(machine.rule, Argmax)
    answers = machine.rule.labels(machine.rule.answer(reference.outputs(machine, rows)))
    np.testing.assert_array_equal(answers, model.predict(rows))


FRAME = pd.DataFrame(X, columns=["length", "mass", "slope", "age"])


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(make_pipeline(StandardScaler(), RobustScaler()), SVC()),
        Pipeline([("nothing", "passthrough"), ("svc", SVC())]),
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=2),
        OneVsRestClassifier(make_pipeline(MinMaxScaler(), SVC())),
    ],
)
def test_models_fitted_on_a_data_frame_know_their_columns(model: Any) -> None:
    machine = read(model.fit(FRAME, FOUR))
    assert machine.feature_names == ("length", "mass", "slope", "age")
    new = pd.DataFrame(NEW, columns=FRAME.columns)
    outputs = reference.outputs(machine, NEW)
    np.testing.assert_array_equal(machine.rule.labels(machine.rule.answer(outputs)), model.predict(new))


def test_names_made_up_between_steps_are_not_the_names_of_the_columns() -> None:
    model = make_pipeline(StandardScaler(), SVC()).set_output(transform="pandas").fit(X, FOUR)
    assert list(model[-1].feature_names_in_) == ["x0", "x1", "x2", "x3"]
    assert read(model).feature_names is None


def test_arrays_put_into_a_fitted_svc_are_the_ones_read() -> None:
    donor = SVC(C=10, gamma=0.2, decision_function_shape="ovo").fit(X, FOUR)
    probe = np.concatenate([np.flatnonzero(label == FOUR)[:3] for label in np.unique(FOUR)])
    host = SVC(C=10, gamma=0.2, decision_function_shape="ovo").fit(X[probe], FOUR[probe])
    host.support_, host.support_vectors_ = donor.support_, X[donor.support_]
    host._n_support, host._dual_coef_, host.dual_coef_ = donor._n_support, donor.dual_coef_, donor.dual_coef_
    host._intercept_, host.intercept_ = donor.intercept_.copy(), donor.intercept_
    host.shape_fit_ = X.shape
    machine = assert_reads(host)
    np.testing.assert_allclose(reference.outputs(machine, NEW), donor.decision_function(NEW), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_", "_dual_coef_", "_intercept_"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("model", "labels"),
    [(SVC(), TWO), (NuSVC(nu=0.2), TWO), (SVC(), FOUR), (SVR(), VALUES), (OneClassSVM(), None)],
    ids=["two classes", "nu", "four classes", "values", "one class"],
)
def test_an_array_changed_apart_from_its_twin_is_refused(model: Any, labels: Any, form: Any, name: str) -> None:
    model = clone(model).fit(form(X), labels)
    before = _values(model)
    setattr(model, name, getattr(model, name) * 1.5)
    public = name.removeprefix("_")
    with pytest.raises(UnreadableModelError, match=rf"its {public} and _{public} differ.* use _{public}\.") as refused:
        read(model)
    keep, change = re.findall(rf"model\._?{public} = -?model\._?{public}", str(refused.value))
    for advice in (keep, change):
        advised = deepcopy(model)
        exec(advice, {"model": advised})
        machine = read(advised)
        values = machine.rule.decision(reference.outputs(machine, NEW))
        np.testing.assert_allclose(values, _values(advised), rtol=1e-9, atol=1e-9)
        assert np.allclose(values, before) == ((advice == keep) == (name == public))


def _values(model: Any) -> Any:
    return model.decision_function(NEW) if hasattr(model, "decision_function") else model.predict(NEW)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    model = SVC().fit(X, FOUR)
    model.dual_coef_ = model._dual_coef_ = model.dual_coef_[:, :-1]
    with pytest.raises(UnreadableModelError, match=r"do not fit .* vectors per class"):
        read(model)


def test_one_vs_one_coefficients_expand_like_the_definition() -> None:
    counts, rng = [3, 1, 0, 4, 2], np.random.default_rng(1)
    packed = rng.normal(size=(4, 10))
    owner = np.repeat(np.arange(5), counts)
    expected = np.zeros((10, 10))
    for column, (a, b) in enumerate(combinations(range(5), 2)):
        for i in range(10):
            if owner[i] in (a, b):
                expected[i, column] = packed[b - 1 if owner[i] == a else a, i]
    np.testing.assert_array_equal(expand(packed, counts), expected)


class HouseSVC(SVC):  # type: ignore[misc]
    """A user's own subclass."""


class StubbornSVC(SVC):  # type: ignore[misc]
    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > 0.5).astype(int)]


class ClippingScaler(StandardScaler):  # type: ignore[misc]
    def transform(self, X: Any, copy: Any = None) -> Any:
        return np.clip(super().transform(X, copy), -3, 3)


def test_subclasses_read_like_their_parents() -> None:
    assert_reads(HouseSVC().fit(X, FOUR))


def gram(rows: Rows) -> Any:
    return rows @ rows.T


def _probable_alone() -> Any:
    """A model with labels and probabilities, and without decision values."""
    return GaussianProcessClassifier(optimizer=None)


REFUSED = [
    (lambda: SVC(), "not fitted. Call fit first"),
    (lambda: make_pipeline(StandardScaler(), SVC()), "not fitted. Call fit first"),
    (lambda: GridSearchCV(SVC(), {"C": [1]}), "not fitted. Call fit first"),
    (lambda: GaussianProcessRegressor(), "not fitted. Call fit first"),
    (lambda: SVC(kernel="precomputed").fit(gram(X), TWO), "Fit it with the kernel function instead"),
    (lambda: KernelRidge(kernel="precomputed").fit(gram(X), VALUES), "Fit it with the kernel function instead"),
    (
        lambda: KernelRidge(kernel="poly", degree=1.5, alpha=10, coef0=500).fit(np.abs(X), VALUES),
        "degree must be a whole number.*Fit it with other parameters",
    ),
    (lambda: SVC(gamma=0.0).fit(X, TWO), "gamma must be positive.*Fit it with other parameters"),
    (lambda: SVC(break_ties=True, decision_function_shape="ovo").fit(X, FOUR), "Set break_ties=False"),
    (lambda: StubbornSVC().fit(X, TWO), "StubbornSVC has a predict method of its own. Compile a plain one"),
    (lambda: GridSearchCV(SVC(), {"C": [1]}, refit=False, cv=2).fit(X, TWO), "Search with refit=True"),
    (lambda: make_pipeline(StandardScaler(), "passthrough").fit(X), "Compile a pipeline that ends in a model"),
    (
        lambda: make_pipeline(PolynomialFeatures(), SVC()).fit(X, TWO),
        "PolynomialFeatures.*CompiledClassifier.*transform the rows yourself.*compile the final step",
    ),
    (lambda: make_pipeline(FunctionTransformer(np.abs), SVC()).fit(X, TWO), "FunctionTransformer.*transform the rows"),
    (lambda: make_pipeline(ClippingScaler(), SVC()).fit(X, TWO), "ClippingScaler has a transform method of its own"),
    (lambda: OneVsOneClassifier(_probable_alone()).fit(X, FOUR), "no decision values. Fit it around an SVC"),
    (lambda: OneVsRestClassifier(_probable_alone()).fit(X, FOUR), "no decision values. Fit it around an SVC"),
    (lambda: CalibratedClassifierCV(_probable_alone()).fit(X, TWO), "calibrates probabilities.*around an SVC"),
    (lambda: OneVsOneClassifier(SVR()).fit(X, FOUR), "not classifiers. Fit it around an SVC"),
    (lambda: OutputCodeClassifier(SVC(), random_state=0).fit(X, FOUR), "Fit an SVC or a OneVsRestClassifier"),
    (lambda: _probable_alone().fit(X, FOUR), "variance of each latent function.*Fit an SVC"),
    (lambda: DecisionTreeClassifier().fit(X, TWO), "none of SVC, .*build a dormie.Machine"),
    (
        lambda: OneVsRestClassifier(SVC()).fit(X, np.column_stack([TWO == "yes", FOUR == "east"]).astype(int)),
        "multilabel.*Compile each of model.estimators_",
    ),
    (
        lambda: OneVsRestClassifier(SVC(kernel=shared_letters)).fit(["apple", "rocky", "sinus"], [0, 1, 2]),
        "not a matrix. Compile each of its estimators",
    ),
    (lambda: OneVsRestClassifier(SVR()).fit(X, FOUR), "not classifiers. Compile each of model.estimators_"),
    (
        lambda: SVC().fit(X, FOUR, sample_weight=(FOUR != "east").astype(float)),
        "weight of 0.*Fit it on weighted rows of every class",
    ),
    (
        lambda: GaussianProcessRegressor(gp.Matern(nu=3.5), optimizer=None).fit(X, VALUES),
        "Matern.*Bessel.*Fit it with sums of RBF.*build its Machine by hand",
    ),
    (
        lambda: GaussianProcessRegressor(gp.ConstantKernel(1.0), optimizer=None, alpha=1.0).fit(X, VALUES),
        "is constant.*build its Machine by hand",
    ),
]


@pytest.mark.parametrize(("make", "advice"), REFUSED)
def test_what_cannot_be_read_is_refused_with_advice(make: Callable[[], Any], advice: str) -> None:
    with pytest.raises(UnreadableModelError, match=advice):
        read(make())


@pytest.mark.filterwarnings("ignore:Label not .* is present")
def test_one_vs_rest_of_a_single_class_is_refused() -> None:
    with pytest.raises(UnreadableModelError, match=r"one class only\. Fit it on rows of every class"):
        read(OneVsRestClassifier(SVC()).fit(X, np.ones(len(X))))


def test_a_machine_is_returned_as_it_is() -> None:
    machine = Machine(kernels.RBF(1.0), X, VALUES, np.zeros(1), Value())
    assert read(machine) is machine


@pytest.mark.parametrize("thing", [None, 3, {"kernel": "rbf"}, np.zeros(3)])
def test_anything_else_is_refused_with_advice(thing: Any) -> None:
    with pytest.raises(UnreadableModelError, match=r"build a Machine\(.*\) by hand"):
        read(thing)


def test_a_class_is_refused_with_advice() -> None:
    with pytest.raises(UnreadableModelError, match=r"SVC is a class: pass a fitted model, such as SVC\(\)\.fit"):
        read(SVC)


def test_reading_other_things_does_not_import_scikit_learn() -> None:
    script = (
        "import sys\nfrom dormie.errors import UnreadableModelError\nfrom dormie.convert import read\n"
        "try:\n    read(3)\nexcept UnreadableModelError:\n    print('sklearn' in sys.modules)\n"
    )
    assert fresh_process.printed(script).strip() == "False"

"""The model's own sum, repeated: scikit-learn's bits, and with them its answer wherever rounding leaves one open."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, OneClassSVM

import dormie
from dormie.machine import Affine, Floats, Machine, Origin
from dormie.machine.kernels import RBF, Linear, Normalized, Polynomial
from dormie.machine.margin import Margin
from dormie.machine.rows import check_rows
from dormie.machine.rules import Sign, Value
from dormie.methods.dense import Dense
from dormie.numerics import backend as native
from dormie.numerics import source_reference
from dormie.numerics.evaluate import FullSum
from dormie.numerics.source_sum import SourceSum
from tests.oracles import long_double
from tests.oracles import source_sum as naive_source
from tests.properties import checks
from tests.properties.strategies import KERNELS, adversarial_machines, by_hand, machine

RNG = np.random.default_rng(3)
KERNEL_NAMES = ("rbf", "poly", "linear", "sigmoid")


def _digits(d: int) -> tuple[Floats, Any]:
    X = RNG.integers(0, 17, size=(300, d)).astype(np.float64)
    return X, (X.sum(axis=1) % 3).astype(int)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("d", [1, 7, 64, 784])
@pytest.mark.parametrize("sparse", [False, True])
def test_outputs_are_the_bits_of_scikit_learn(kernel: str, d: int, sparse: bool) -> None:
    X, y = _digits(d)
    rows: Any = scipy.sparse.csr_matrix(X) if sparse else X
    model = SVC(kernel=kernel, gamma=1e-3, coef0=0.5, decision_function_shape="ovo", max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        model.fit(rows[:200], y[:200])
    made = dormie.read(model)
    assert made.blas_products == (not sparse)
    np.testing.assert_array_equal(SourceSum(made).outputs(check_rows(rows, made)), model.decision_function(rows))


SCALERS: dict[str, Any] = {
    "standard": [StandardScaler()],
    "no mean": [StandardScaler(with_mean=False)],
    "min and max": [MinMaxScaler((-1, 1))],
    "largest": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "two": [MinMaxScaler(), StandardScaler()],
    "three": [StandardScaler(), MaxAbsScaler(), MinMaxScaler()],
}


@pytest.mark.parametrize("steps", SCALERS.values(), ids=SCALERS.keys())
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_scalers_are_repeated_step_by_step(steps: list[Any], kernel: str) -> None:
    X, y = _digits(7)
    model = make_pipeline(*steps, SVC(kernel=kernel)).fit(X, y == 1)
    np.testing.assert_array_equal(SourceSum(dormie.read(model)).outputs(X)[:, 0], model.decision_function(X))


def test_sparse_rows_are_scaled_as_scikit_learn_scales_them() -> None:
    X, y = _digits(7)
    rows = scipy.sparse.csr_matrix(X * (RNG.random(X.shape) < 0.5) / 7)
    model = make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), SVC()).fit(rows, y == 1)
    np.testing.assert_array_equal(SourceSum(dormie.read(model)).outputs(rows)[:, 0], model.decision_function(rows))


def test_one_vs_rest_is_summed_estimator_by_estimator() -> None:
    X, y = _digits(5)
    model = OneVsRestClassifier(SVC(gamma=0.01)).fit(X, y)
    made = dormie.read(model)
    assert made.origin is not None
    assert made.n_points < made.origin.machine.n_points
    np.testing.assert_array_equal(SourceSum(made).outputs(X), model.decision_function(X))


def test_one_vs_rest_of_a_kernel_function_is_summed_estimator_by_estimator() -> None:
    X = np.array([[1, -1], [2, 2], [-2, -2], [-2, -2], [0, -1], [0, -1]], dtype=np.float64)
    model = OneVsRestClassifier(SVC(kernel=lambda a, b: a @ b.T)).fit(X, [0, 1, 2, 0, 1, 2])
    every = np.stack(np.meshgrid(*[np.arange(-4.0, 5)] * 2), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(dormie.compile(model).decision_function(every), model.decision_function(every))
    np.testing.assert_array_equal(dormie.compile(model).predict(every), model.predict(every))


@pytest.mark.parametrize("steps", SCALERS.values(), ids=SCALERS.keys())
def test_scalers_fitted_on_float32_are_repeated_for_float64_rows(steps: list[Any]) -> None:
    X = np.random.default_rng(6).normal(size=(60, 3)) + 1000
    model = make_pipeline(*steps, SVC(gamma=1000.0, C=1000.0)).fit(X.astype(np.float32), np.arange(60) % 2)
    made = dormie.read(model)
    np.testing.assert_array_equal(SourceSum(made).outputs(X)[:, 0], model.decision_function(X))
    off = np.abs(FullSum(made).outputs(X)[:, 0] - model.decision_function(X))
    assert (off <= SourceSum(made).interval(X)[1][:, 0]).all()


def test_kernel_functions_are_summed_in_order() -> None:
    X, y = _digits(4)
    model = SVC(kernel=lambda a, b: (a @ b.T) ** 2.0).fit(X, y == 1)
    fast = dormie.compile(model)
    np.testing.assert_array_equal(fast.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("blas", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_native_numpy_and_the_letter_give_the_same_bits(kernel: Any, blas: bool) -> None:
    made, rows = machine(kernel, 37, 9, 3)
    steps = (("multiply", np.linspace(0.1, 3, 9)), ("add", np.linspace(-1, 1, 9)), ("divide", np.full(9, 0.7)))
    plain = replace(made, blas_products=blas and not isinstance(kernel, Normalized))
    scaled = replace(plain, input_map=Affine(np.linspace(-1, 1, 9), np.linspace(0.3, 2, 9)))
    stepped = replace(plain, input_map=Affine(np.zeros(9), np.ones(9), steps))
    stretched = replace(plain, input_map=Affine(np.zeros(9), np.linspace(0.3, 2, 9)))
    for each in (plain, stretched, scaled, stepped):
        forms: list[tuple[Any, bool]] = [(rows, False), (rows.astype(np.float32), False)]
        # Where a map moves zeros, scikit-learn refuses sparse rows: then they count as the dense rows that they are.
        for form, sparse in [*forms, (scipy.sparse.csr_array(rows), each in (plain, stretched))]:
            dense = form.toarray() if scipy.sparse.issparse(form) else form
            expected = naive_source.outputs(each, dense, sparse)
            np.testing.assert_array_equal(SourceSum(each).outputs(form), expected)
            np.testing.assert_array_equal(source_reference.source_outputs(each, form, sparse), expected)


def test_steps_that_underflow_on_the_way_are_counted() -> None:
    steps = (("divide", np.full(3, 1e300)), ("multiply", np.full(3, 1e300)), ("divide", np.full(3, 1e-12)))
    rng = np.random.default_rng(7)
    made = replace(by_hand(RBF(1.0), rng.normal(size=(5, 3)), rng.normal(size=5)), input_map=None)
    made = replace(made, input_map=Affine(np.zeros(3), np.full(3, 1e-12), steps))
    checks.source_sums_hold(made, rng.normal(size=(20, 3)) * 1e-12)


@settings(max_examples=300)
@given(adversarial_machines())
def test_the_sum_lies_within_its_stated_rounding(case: tuple[Machine, Floats]) -> None:
    checks.source_sums_hold(*case)


def _two_clusters(n: int, apart: float) -> tuple[Floats, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[n // 2 :, 0] += apart
    return X, rng.integers(2, size=n)


@pytest.mark.parametrize(("n", "apart"), [(600, 1e8), (4000, 1e7), (600, 1e12), (300, 1e100)])
def test_clusters_far_apart(n: int, apart: float) -> None:
    X, y = _two_clusters(n, apart)
    model = SVC(gamma=0.5).fit(X, y)
    fast = dormie.compile(model, methods=[])
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_allclose(fast.decision_function(X), model.decision_function(X), atol=1e-10)
    low, high = fast.interval(X)
    assert (high - low < 1e-8).all()


def test_a_year_of_milliseconds() -> None:
    rng = np.random.default_rng(1)
    when = np.sort(np.round(1.6e12 + rng.uniform(0, 3.15e10, size=1200)))
    busy = ((when // 8.64e7) % 7 < 5).astype(int) ^ (rng.random(1200) < 0.1)
    model = SVC(gamma=1e-6).fit(when[:, None], busy)
    np.testing.assert_array_equal(dormie.compile(model).predict(when[:, None]), model.predict(when[:, None]))


def test_values_of_far_clusters_are_right_too() -> None:
    from sklearn.svm import SVR

    X, y = _two_clusters(200, 1e8)
    model = SVR(gamma=0.5).fit(X, y + X[:, 1])
    np.testing.assert_allclose(dormie.compile(model).predict(X), model.predict(X), rtol=1e-12, atol=1e-13)
    near = dormie.compile(model, tolerance=1e-6).predict(X)
    np.testing.assert_allclose(near, model.predict(X), rtol=0, atol=1.01e-6)


SIX = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], dtype=np.float64)


def test_ties_of_a_linear_one_class_machine() -> None:
    model = OneClassSVM(kernel="linear").fit(SIX)
    assert (model.decision_function(SIX) == 0).any()
    fast = dormie.compile(model)
    assert "fold_linear" in fast.plan.rewrites
    np.testing.assert_array_equal(fast.predict(SIX), model.predict(SIX))
    assert "source" in fast.trace(SIX).stage


@pytest.mark.parametrize("seed", range(20))
def test_ties_of_whole_numbers(seed: int) -> None:
    """Integers and one-hot columns put rows on the decision boundary, and scikit-learn's rounding decides."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(5 + seed, 2)).astype(np.float64)
    y = np.arange(len(X)) % 3
    every = np.stack(np.meshgrid(*[np.arange(-4, 5) / 2] * 2), axis=-1).reshape(-1, 2)
    for model in (SVC(kernel="linear"), SVC(kernel="poly", degree=2, coef0=1), SVC()):
        model.fit(X, y)
        fast = dormie.compile(model)
        np.testing.assert_array_equal(fast.predict(every), model.predict(every))


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 1e150, 1e250])
def test_normalized_kernels_of_tiny_and_huge_points(size: float) -> None:
    rng = np.random.default_rng(2)
    points = rng.integers(1, 9, size=(30, 3)) * size
    for kernel in (Normalized(Linear()), Normalized(Polynomial(1.0, 0.0, 3))):
        made = by_hand(kernel, points, rng.normal(size=30), 0.01)
        rows = rng.integers(-9, 9, size=(200, 3)) * size
        real = long_double.outputs(made, rows)[:, 0]
        clear = np.abs(real) > 1e-12
        answers = Dense(made).decide(rows).answers
        np.testing.assert_array_equal(answers[clear], (real > 0)[clear].astype(int))
        low, high = (FullSum(made).interval(rows)[0] + sign * FullSum(made).interval(rows)[1] for sign in (-1, 1))
        assert ((low[:, 0] <= real) & (real <= high[:, 0])).all()
        assert (high - low < 1e-10).all()


def test_a_linear_machine_behind_a_huge_input_map() -> None:
    rng = np.random.default_rng(4)
    center = np.array([1e100, -3e100])
    plain = by_hand(Linear(), rng.normal(size=(9, 2)), rng.normal(size=9), 0.1, Sign(np.array([0, 1])))
    made = replace(plain, input_map=Affine(center, np.ones(2) * 1e84))
    rows = center + rng.normal(size=(500, 2)) * 1e85
    real = long_double.outputs(made, rows)[:, 0]
    np.testing.assert_array_equal(dormie.compile(made).predict(rows), (real > 0).astype(int))


def test_the_stage_of_an_undecided_row_is_the_source() -> None:
    made = by_hand(RBF(1.0), [[0.0]], [1.0], -1.0)
    trace = dormie.compile(made).trace(np.array([[0.0], [5.0]]))
    assert trace.stage.tolist() == ["source", "dense"]
    assert trace.evaluations.tolist() == [4, 1]


def test_an_origin_travels_with_its_machine_and_with_no_other(tmp_path: Any) -> None:
    X, y = _digits(3)
    model = make_pipeline(MinMaxScaler(), SVC(kernel="linear")).fit(X, y == 1)
    fast = dormie.compile(model)
    made = fast.plan.machine
    assert made.origin is not None
    assert replace(made).origin is None
    fast.save(tmp_path / "plan")
    for again in (dormie.load(tmp_path / "plan").plan.machine, pickle.loads(pickle.dumps(made))):
        assert again.origin is not None
        np.testing.assert_array_equal(SourceSum(again).outputs(X)[:, 0], model.decision_function(X))
        for name in ("constant", "slope"):
            mine, theirs = getattr(again.origin.deviation, name), getattr(made.origin.deviation, name)
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(X), model.predict(X))


@pytest.mark.parametrize("rule", [Sign(np.array([0, 1])), Value()], ids=str)
def test_a_deviation_in_another_power_than_the_kernels_is_refused(rule: Any, tmp_path: Any) -> None:
    fast = dormie.compile(by_hand(Polynomial(0.5, 1.0, 3), RNG.normal(size=(5, 2)), RNG.normal(size=5), 0.1, rule))
    made = fast.plan.machine
    object.__setattr__(made, "origin", Origin(replace(made), Margin(np.zeros(1), np.full(1, 1e-15), degree=2)))
    fast.save(tmp_path / "plan")
    with pytest.raises(dormie.PlanFileError, match="margins of degrees 2 and 3 do not add up"):
        dormie.load(tmp_path / "plan")


def test_of_a_bound_that_is_no_number_nothing_is_known() -> None:
    plain = by_hand(Linear(), RNG.normal(size=(5, 2)), RNG.normal(size=5), 0.1, Value())
    made = plain.with_origin(Origin(plain, Margin(np.zeros(1), np.ones(1), gain=0.0)))
    low, high = dormie.compile(made).interval(np.array([[1e200, 1.0]]))
    assert (low.tolist(), high.tolist()) == ([-np.inf], [np.inf])


@pytest.mark.parametrize(
    "outputs",
    [
        lambda made, rows: SourceSum(made).outputs(rows),
        lambda made, rows: source_reference.source_outputs(made, rows, hasattr(rows, "toarray")),
    ],
)
def test_a_mapped_row_that_is_no_number_has_no_unit_vector(outputs: Any) -> None:
    kernel = Normalized(Polynomial(0.5, 1.0, 1))
    plain = by_hand(kernel, RNG.uniform(1, 2, size=(5, 2)), np.ones(5), 0.0, Value())
    made = replace(plain, input_map=Affine(np.zeros(2), np.array([1e-310, 1.0])))
    rows = np.array([[0.0, 1e200], [1e-5, 1e200]])
    with np.errstate(over="ignore"):  # 1 / scale
        found = outputs(made, scipy.sparse.csr_array(rows))
        np.testing.assert_array_equal(found[0], outputs(made, rows[:1])[0])  # zeros are not stored, and not scaled
        assert np.isnan(found[1]).all()
        assert FullSum(made).interval(scipy.sparse.csr_array(rows[1:]))[1] == np.inf


def test_without_the_native_core_ties_are_the_same() -> None:
    model = OneClassSVM(kernel="linear").fit(SIX)
    with native.numpy_only():
        np.testing.assert_array_equal(dormie.compile(model).predict(SIX), model.predict(SIX))


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_sums_that_overflow_have_the_answers_of_the_model(degree: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    model = SVC(kernel="poly", degree=degree).fit(X, X[:, 0] > 0.5)
    rows = X * 1e160
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(model.decision_function(rows)).any()
        np.testing.assert_array_equal(dormie.compile(model).predict(rows), model.predict(rows))

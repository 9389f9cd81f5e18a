"""Models with sparse support vectors from scikit-learn or a LIBSVM file to answers, beside the models themselves."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import dormie
from dormie.convert.libsvm.writer import write_libsvm
from dormie.convert.sklearn.writer import to_sklearn
from dormie.errors import TrainingRowsWarning
from dormie.methods import METHODS
from dormie.numerics import backend

FEATURES = 6_000


def text(count: int, seed: int) -> Any:
    """Rows of some fifty words, a few of them frequent, and of unit length."""
    rng = np.random.default_rng(seed)
    words = np.minimum(rng.zipf(1.3, size=(count, 60)), FEATURES) - 1
    rows = scipy.sparse.csr_matrix((np.ones(60 * count), words.ravel(), np.arange(0, 60 * count + 1, 60)))
    rows.resize(count, FEATURES)
    rows.sum_duplicates()
    rows.data = np.log1p(rows.data)
    norms = np.sqrt(rows.multiply(rows).sum(axis=1)).A1
    return scipy.sparse.csr_matrix(scipy.sparse.diags(1 / norms) @ rows)


X, ROWS = text(260, 0), text(120, 1)
Y = np.arange(260) % 4
MODELS = {
    "vote": SVC(gamma=0.7),
    "vote with ties broken": SVC(gamma=0.7, break_ties=True),
    "linear": SVC(kernel="linear"),
    "polynomial": SVC(kernel="poly", coef0=1.0, gamma=0.5),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.1),
    "two classes": NuSVC(gamma=0.5, nu=0.3),
    "one class": OneClassSVM(gamma=0.5, nu=0.7),
    "one against the rest": OneVsRestClassifier(SVC(gamma=0.5)),
    "linear, one against the rest": OneVsRestClassifier(SVC(kernel="linear")),
    "scaled": make_pipeline(MaxAbsScaler(), SVC(gamma=0.1)),
    "scaled and linear": make_pipeline(StandardScaler(with_mean=False), SVC(kernel="linear")),
    "regressor": SVR(gamma=0.5),
    "ridge": KernelRidge(kernel="rbf", gamma=0.5),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    targets = Y % 2 if request.param == "two classes" else Y
    return MODELS[request.param].fit(X, targets)


def test_answers_are_the_models_own(model: Any, tmp_path: Path) -> None:
    fast = dormie.compile(model)
    assert fast.plan.machine.has_sparse_points
    expected = model.predict(ROWS)
    found = fast.predict(ROWS)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)
    if hasattr(model, "decision_function"):
        np.testing.assert_allclose(fast.decision_function(ROWS), model.decision_function(ROWS), atol=1e-11)
    low, high = fast.interval(ROWS)
    assert (high - low < 1e-6).all()
    fast.save(tmp_path / "plan.dormie")
    for same in (dormie.load(tmp_path / "plan.dormie"), pickle.loads(pickle.dumps(fast))):
        np.testing.assert_array_equal(same.predict(ROWS.toarray()), found)
    np.testing.assert_array_equal(fast.predict(ROWS[:1]), found[:1])
    np.testing.assert_array_equal(fast.predict(ROWS[::-1], threads=2), found[::-1])


def test_everything_a_predictor_offers_works(model: Any) -> None:
    fast = dormie.compile(model)
    found = fast.predict(ROWS)
    answers = fast.predict(ROWS, deadline=60.0)
    assert answers.settled.all()
    np.testing.assert_array_equal(answers.labels, found)
    *_, last = fast.anytime(ROWS[:1])
    assert (last.low <= last.high).all()
    assert set(fast.trace(ROWS).stage) <= {"dense", "source"}
    np.testing.assert_array_equal(fast.audited(0.5, seed=0).predict(ROWS), found)
    assert "sparse point" in fast.explain()
    with backend.numpy_only():
        np.testing.assert_allclose(dormie.compile(model).predict(ROWS[:9]), found[:9], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.serves_sparse_points])
def test_a_method_that_cannot_serve_says_why(name: str) -> None:
    risk = {"risk": 0.1, "rows": ROWS} if METHODS[name].needs_risk else {}
    with pytest.raises(ValueError, match=f"{name} lays points out densely, and those of this machine are sparse"):
        dormie.compile(SVC().fit(X, Y), methods=[name], **risk)


def test_a_risk_gives_the_exact_plan_with_a_note() -> None:
    svc = SVC(gamma=0.7).fit(X, Y)
    fast = dormie.compile(svc, rows=text(300, 5), risk=0.05)
    assert str(fast.plan.guarantee) == "exact: every answer is the model's own"
    assert "a risk of 0.05 was allowed but not used" in fast.explain()
    with pytest.warns(TrainingRowsWarning, match="equal support vectors"):
        dormie.compile(svc, rows=X, risk=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dormie.compile(svc, rows=text(300, 6).toarray(), risk=0.05)


def test_a_tolerance_is_kept() -> None:
    svr = SVR(gamma=0.5).fit(X, Y)
    fast = dormie.compile(svr, tolerance=1e-5)
    np.testing.assert_allclose(fast.predict(ROWS), svr.predict(ROWS), atol=1e-5, rtol=0)


def test_what_dense_points_alone_allow_is_an_error_with_advice() -> None:
    svc = SVC(gamma=0.7).fit(X, Y)
    with pytest.raises(ValueError, match="reduce moves dense vectors, and this model has"):
        dormie.reduce(svc, 10)
    with pytest.raises(ValueError, match="these are sparse: leave it out"):
        dormie.compile(svc).audited(0.1, unlike_rate=0.5)
    with pytest.raises(ValueError, match=r"the machine are sparse: pass points.toarray\(\)"):
        dormie.tree.greedy(dormie.read(svc), ROWS, height=3)


def test_a_linear_model_is_reduced_to_a_vector_for_each_output_and_written() -> None:
    svc = SVC(kernel="linear").fit(X, Y % 2)
    reduction = dormie.reduce(svc, 1)
    assert reduction.exact
    assert f"Measured on {len(svc.support_):,} of its support vectors" in str(reduction)
    small = reduction.to_sklearn()
    assert small.support_vectors_.shape == (1, FEATURES)
    np.testing.assert_array_equal(small.predict(ROWS), svc.predict(ROWS))


@pytest.mark.parametrize("name", ["vote", "linear", "two classes", "one class", "regressor"])
def test_writers_and_libsvm_files_keep_sparse_points(name: str, tmp_path: Path) -> None:
    fitted = MODELS[name].fit(X, Y % 2 if name == "two classes" else Y)
    machine = dormie.read(fitted)
    again = to_sklearn(machine, one_class=name == "one class")
    np.testing.assert_array_equal(again.predict(ROWS), fitted.predict(ROWS))
    assert scipy.sparse.issparse(again.support_vectors_)
    write_libsvm(machine, tmp_path / "model")
    from_file = dormie.compile(tmp_path / "model")
    assert from_file.plan.machine.has_sparse_points
    rows = ROWS[:, : from_file.plan.machine.n_features]
    np.testing.assert_allclose(from_file.predict(rows), fitted.predict(ROWS), rtol=1e-12)


def test_a_libsvm_file_with_an_enormous_index_takes_little_memory(tmp_path: Path) -> None:
    lines = ["svm_type c_svc", "kernel_type rbf", "gamma 0.5", "nr_class 2", "total_sv 2", "rho 0", "label 1 -1"]
    lines += ["nr_sv 1 1", "SV", "1 2:1 ", "-1 1:1 2000000000:2 "]
    (tmp_path / "model").write_text("\n".join(lines))
    fast = dormie.compile(tmp_path / "model")
    rows = scipy.sparse.csr_array(([1.0, 2.0], [1, 1_999_999_999], [0, 1, 2]), shape=(2, 2_000_000_000))
    assert fast.predict(rows).tolist() == [1, -1]
    fast.save(tmp_path / "plan.dormie")
    assert dormie.load(tmp_path / "plan.dormie").predict(rows).tolist() == [1, -1]

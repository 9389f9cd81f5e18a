"""Ensembles and wrappers: the answers of scikit-learn on every row, from plan files without scikit-learn too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import dormie
from dormie.machine import MachineSum
from tests import fresh_process

RNG = np.random.default_rng(7)
X = RNG.normal(size=(160, 5)) * [1.0, 3.0, 0.5, 2.0, 1.0]
NEW = RNG.normal(size=(400, 5)) * [1.5, 4.0, 0.7, 3.0, 1.5]
TWO = np.where(X[:, 0] + 0.2 * X[:, 3] ** 2 > 0.8, "yes", "no")
FOUR = np.array(["north", "east", "south", "west"])[2 * (X[:, 0] > 0) + (X[:, 1] > 0.5)]
RARE = np.where(np.arange(160) < 3, 9, np.array([3, 5, 7])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)])
VALUES = np.sin(X[:, 0]) + 0.1 * X[:, 1]
POSITIVE = np.exp(VALUES)
LABELS = np.c_[TWO, FOUR]
NUMBERS = np.c_[RARE, X[:, 2] > 0, X[:, 1] > 1]
TARGETS = np.c_[VALUES, POSITIVE, X[:, 2] ** 2]


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def _voters() -> list[tuple[str, Any]]:
    return [("a", SVC(C=3.0)), ("b", _scaled(LinearSVC())), ("c", SVC(kernel="poly", degree=2, gamma=0.1))]


def _probable() -> list[tuple[str, Any]]:
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False)
    return [("a", LogisticRegression()), ("b", calibrated), ("c", _scaled(LogisticRegression(C=0.1)))]


def _regressors() -> list[tuple[str, Any]]:
    return [("a", SVR()), ("b", KernelRidge(kernel="rbf", gamma=0.1)), ("c", _scaled(Ridge()))]


def _mapped(func: Any = None, inverse_func: Any = None, **options: Any) -> Any:
    return TransformedTargetRegressor(SVR(), func=func, inverse_func=inverse_func, **options).fit(X, POSITIVE)


def _bagging(model: Any, y: Any, **options: Any) -> Any:
    return BaggingClassifier(model, random_state=0, **options).fit(X, y)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "bagging, two classes": lambda: _bagging(SVC(), TWO),
    "bagging, an odd number": lambda: _bagging(SVC(C=0.3), TWO, n_estimators=5),
    "bagging, one kernel": lambda: _bagging(SVC(gamma=0.2), FOUR, n_estimators=4),
    "bagging, few rows": lambda: _bagging(_scaled(SVC()), RARE, max_samples=0.2),
    "bagging, pipelines": lambda: _bagging(_scaled(SVC()), FOUR),
    "bagging, linear": lambda: _bagging(LinearSVC(), FOUR),
    "bagging, probabilities": lambda: _bagging(LogisticRegression(), FOUR),
    "bagging, few classes": lambda: _bagging(LogisticRegression(), RARE, max_samples=0.2, n_estimators=6),
    "bagging, calibrated": lambda: _bagging(CalibratedClassifierCV(SVC(), ensemble=False, cv=3), TWO, n_estimators=4),
    "bagging, some columns": lambda: _bagging(SVC(), FOUR, n_estimators=4, max_features=0.6),
    "bagging, columns twice": lambda: _bagging(SVC(gamma=0.2), TWO, n_estimators=4, bootstrap_features=True),
    "bagging, columns of pipelines": lambda: _bagging(_scaled(LogisticRegression()), FOUR, max_features=3),
    "bagging, one member": lambda: _bagging(SVC(), TWO, n_estimators=1),
    "voting, hard": lambda: VotingClassifier(_voters()).fit(X, FOUR),
    "voting, two members": lambda: VotingClassifier(_voters()[:2]).fit(X, FOUR),
    "voting, weights": lambda: VotingClassifier(_voters(), weights=[0.1, 0.2, 0.3]).fit(X, FOUR),
    "voting, one dropped": lambda: VotingClassifier(_voters(), weights=[1, 1, 1]).set_params(c="drop").fit(X, TWO),
    "voting, soft": lambda: VotingClassifier(_probable(), voting="soft").fit(X, FOUR),
    "voting, soft with weights": lambda: VotingClassifier(_probable(), voting="soft", weights=[1, 2, 0]).fit(X, TWO),
    "one-vs-one": lambda: OneVsOneClassifier(SVC()).fit(X, FOUR),
    "one-vs-one, one kernel": lambda: OneVsOneClassifier(SVC(gamma=0.2)).fit(X, FOUR),
    "one-vs-one, linear": lambda: OneVsOneClassifier(LinearSVC()).fit(X, FOUR),
    "one-vs-one, two classes": lambda: OneVsOneClassifier(SVC()).fit(X, TWO),
    "one-vs-one, two classes, linear": lambda: OneVsOneClassifier(RidgeClassifier()).fit(X, TWO),
    "one-vs-one, pipelines": lambda: OneVsOneClassifier(_scaled(SVC())).fit(X, RARE),
    "one-vs-rest": lambda: OneVsRestClassifier(_scaled(SVC())).fit(X, FOUR),
    "one-vs-rest, projections": lambda: OneVsRestClassifier(_projected(SVC(gamma=0.2))).fit(X, FOUR),
    "bagging, projections": lambda: _bagging(_projected(SVC(gamma=0.2)), TWO, n_estimators=3),
    "several labels, projections": lambda: MultiOutputClassifier(_projected(SVC(gamma=0.2))).fit(X, LABELS),
    "one-vs-rest, subsets": lambda: _different_members(),
    "several labels": lambda: MultiOutputClassifier(SVC()).fit(X, LABELS),
    "several labels, one kernel": lambda: MultiOutputClassifier(SVC(gamma=0.2)).fit(X, LABELS),
    "several labels, numbers": lambda: MultiOutputClassifier(SVC()).fit(X, NUMBERS),
    "several labels, objects": lambda: MultiOutputClassifier(SVC()).fit(X, LABELS.astype(object)),
    "several labels, pipelines": lambda: MultiOutputClassifier(_scaled(LinearSVC())).fit(X, LABELS),
    "several labels, ensembles": lambda: MultiOutputClassifier(BaggingClassifier(SVC(), 3)).fit(X, LABELS),
    "several labels, equal ensembles": lambda: MultiOutputClassifier(
        BaggingClassifier(_scaled(SVC()), 3, random_state=0)
    ).fit(X, LABELS),
    "several labels, one column": lambda: MultiOutputClassifier(SVC()).fit(X, LABELS[:, 1:]),
    "Gaussian process": lambda: GaussianProcessClassifier(ConstantKernel(2.0) * RBF(1.5)).fit(X, TWO),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "bagging": lambda: BaggingRegressor(SVR(), random_state=0).fit(X, VALUES),
    "bagging, pipelines": lambda: BaggingRegressor(_scaled(SVR()), random_state=0).fit(X, VALUES),
    "bagging, one kernel": lambda: BaggingRegressor(SVR(gamma=0.1), random_state=0).fit(X, VALUES),
    "bagging, some columns": lambda: BaggingRegressor(SVR(), 3, max_features=0.6, random_state=0).fit(X, VALUES),
    "bagging, columns twice": lambda: BaggingRegressor(_scaled(SVR()), 3, bootstrap_features=True, random_state=0).fit(
        X, VALUES
    ),
    "bagging, several targets": lambda: BaggingRegressor(KernelRidge(kernel="rbf"), 3).fit(X, TARGETS),
    "bagging, sums of kernels": lambda: BaggingRegressor(_sum_of_kernels(), 3, random_state=0).fit(X, VALUES),
    "voting": lambda: VotingRegressor(_regressors()).fit(X, VALUES),
    "voting, weights": lambda: VotingRegressor(_regressors(), weights=[0.5, 2, 0]).fit(X, VALUES),
    "stacking": lambda: StackingRegressor(_regressors()).fit(X, VALUES),
    "stacking, one kernel": lambda: StackingRegressor(
        [("a", SVR(gamma=0.1)), ("b", SVR(gamma=0.1, C=9.0))], Ridge(alpha=0.1)
    ).fit(X, VALUES),
    "several targets": lambda: MultiOutputRegressor(SVR(gamma=0.1)).fit(X, TARGETS),
    "several targets, pipelines": lambda: MultiOutputRegressor(_scaled(SVR())).fit(X, TARGETS),
    "one target as a matrix": lambda: MultiOutputRegressor(SVR()).fit(X, TARGETS[:, :1]),
    "targets by log": lambda: _mapped(np.log, np.exp),
    "targets by log1p": lambda: _mapped(np.log1p, np.expm1),
    "targets by log2": lambda: _mapped(np.log2, np.exp2),
    "targets by sqrt": lambda: _mapped(np.sqrt, np.square),
    "targets by square": lambda: _mapped(np.square, np.sqrt),
    "targets by exp": lambda: _mapped(np.exp, np.log),
    "targets by negative": lambda: _mapped(np.negative, np.negative),
    "targets by StandardScaler": lambda: _mapped(transformer=StandardScaler()),
    "targets by MinMaxScaler": lambda: _mapped(transformer=MinMaxScaler((1, 3))),
    "targets by RobustScaler": lambda: _mapped(transformer=RobustScaler()),
    "targets by MaxAbsScaler": lambda: _mapped(transformer=MaxAbsScaler()),
    "targets as they are": lambda: TransformedTargetRegressor(SVR()).fit(X, VALUES),
    "targets in a matrix": lambda: TransformedTargetRegressor(
        MultiOutputRegressor(SVR()), func=np.log, inverse_func=np.exp
    ).fit(X, np.exp(TARGETS)),
    "scaled targets in a matrix": lambda: TransformedTargetRegressor(
        MultiOutputRegressor(SVR()), transformer=StandardScaler()
    ).fit(X, TARGETS),
    "one transformed target in a matrix": lambda: TransformedTargetRegressor(
        KernelRidge(kernel="rbf"), func=np.log, inverse_func=np.exp
    ).fit(X, POSITIVE[:, None]),
    "scaled targets of an ensemble": lambda: TransformedTargetRegressor(
        BaggingRegressor(_scaled(SVR()), 4), transformer=MinMaxScaler()
    ).fit(X, VALUES),
}


def _projected(model: Any) -> Any:
    return make_pipeline(PCA(3), model)


def _sum_of_kernels() -> Any:
    return GaussianProcessRegressor(RBF(1.5) + 0.1 * DotProduct(), alpha=0.1, optimizer=None)


def _different_members() -> Any:
    """Members with kernels of their own, as their gammas are set by hand."""
    model = OneVsRestClassifier(SVC()).fit(X, FOUR)
    for number, member in enumerate(model.estimators_):
        model.estimators_[number] = SVC(gamma=0.1 * (number + 1)).fit(X, (model.classes_[number] == FOUR).astype(int))
        assert member.classes_.tolist() == [0, 1]
    return model


@pytest.fixture(autouse=True)
def _no_values_out_of_range() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="invalid value encountered", category=RuntimeWarning)
        yield


def assert_same_answers(fast: Any, model: Any) -> None:
    expected, found = model.predict(NEW), fast.predict(NEW)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(found, expected)
        several = isinstance(model.classes_, list)
        for ours, theirs in zip(
            *((each.classes_ if several else [each.classes_]) for each in (fast, model)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name) and hasattr(fast, name):
            np.testing.assert_allclose(getattr(fast, name)(NEW), getattr(model, name)(NEW), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_are_those_of_scikit_learn(name: str, tmp_path: Path) -> None:
    model = CLASSIFIERS[name]()
    for fast in (dormie.compile(model, methods=[]), dormie.compile(model, effort="quick")):
        assert_same_answers(fast, model)
        fast.save(tmp_path / "plan")
        assert_same_answers(dormie.load(tmp_path / "plan"), model)


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_are_those_of_scikit_learn(name: str, tmp_path: Path) -> None:
    model = REGRESSORS[name]()
    fast = dormie.compile(model)
    assert_same_answers(fast, model)
    fast.save(tmp_path / "plan")
    assert_same_answers(dormie.load(tmp_path / "plan"), model)


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_keep_a_tolerance(name: str) -> None:
    model = REGRESSORS[name]()
    fast = dormie.compile(model, NEW[:100], tolerance=0.05)
    assert fast.plan.guarantee == dormie.Tolerance(0.05)
    expected = model.predict(NEW)
    known = np.isfinite(expected)
    assert np.abs(fast.predict(NEW) - expected)[known].max() <= 0.05


def test_plans_are_used_without_scikit_learn(tmp_path: Path) -> None:
    """One process for all plans: importing takes longer than they do."""
    models = {name: make() for name, make in (CLASSIFIERS | REGRESSORS).items()}
    for number, model in enumerate(models.values()):
        dormie.compile(model, methods=[]).save(tmp_path / f"{number}.dormie")
    np.save(tmp_path / "rows.npy", NEW)
    code = (
        "import sys\nsys.modules['sklearn'] = None\nimport numpy as np, dormie\n"
        f"folder = {str(tmp_path)!r}\nrows = np.load(folder + '/rows.npy')\n"
        f"for number in range({len(models)}):\n"
        "    answers = dormie.load(f'{folder}/{number}.dormie').predict(rows)\n"
        "    np.save(f'{folder}/{number}.npy', answers)\n"
    )
    fresh_process.printed(code)
    for number, model in enumerate(models.values()):
        found, expected = np.load(tmp_path / f"{number}.npy", allow_pickle=True), model.predict(NEW)
        if hasattr(model, "classes_"):
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_members_of_one_kernel_become_one_machine() -> None:
    for name in ("bagging, one kernel", "one-vs-one, one kernel", "several labels, one kernel"):
        assert not isinstance(dormie.read(CLASSIFIERS[name]()), MachineSum)
    assert not isinstance(dormie.read(REGRESSORS["bagging, one kernel"]()), MachineSum)
    assert isinstance(dormie.read(REGRESSORS["bagging, pipelines"]()), MachineSum)


@pytest.mark.parametrize("shape", [(40, 1, 2), (60, 2, 3), (90, 40, 2), (150, 3, 6)])
def test_rows_columns_and_classes_may_be_few_or_many(shape: tuple[int, int, int]) -> None:
    n, d, k = shape
    rng = np.random.default_rng(n)
    x, new = rng.normal(size=(n, d)), rng.normal(size=(300, d))
    labels = (np.argsort(np.argsort(x[:, 0] + 0.3 * rng.normal(size=n))) * k) // n
    several = np.c_[labels, rng.integers(0, 2, n)]
    for model, y in (
        (BaggingClassifier(SVC(), 4, random_state=0), labels),
        (VotingClassifier([("a", SVC()), ("b", LinearSVC())]), labels),
        (OneVsOneClassifier(SVC()), labels),
        (MultiOutputClassifier(SVC()), several),
        (MultiOutputClassifier(_scaled(LogisticRegression())), several),
    ):
        model.fit(x, y)
        np.testing.assert_array_equal(dormie.compile(model, methods=[]).predict(new), model.predict(new))
    for model, y in ((BaggingRegressor(SVR(), 4), labels / k), (MultiOutputRegressor(SVR()), several / k)):
        model.fit(x, y)
        np.testing.assert_allclose(dormie.compile(model).predict(new), model.predict(new), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF([1.0, 2.0, 0.5, 1.0, 3.0]),
        2.0 * Matern(nu=0.5),
        Matern([1.0, 2.0, 0.5, 1.0, 3.0], nu=1.5) + WhiteKernel(0.1),
        Matern(nu=2.5),
        RationalQuadratic(1.0, 0.7),
        DotProduct(1.5),
        2.0 * RBF() + 0.5 * Matern(nu=1.5) + ConstantKernel(0.3),
    ],
)
def test_gaussian_process_classifiers_have_the_kernels_of_regressors(kernel: Any, tmp_path: Path) -> None:
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(X, TWO)
    fast = dormie.compile(model, methods=[])
    assert_same_answers(fast, model)
    fast.save(tmp_path / "plan")
    assert_same_answers(dormie.load(tmp_path / "plan"), model)


def test_sums_of_kernels_in_columns_are_refused() -> None:
    for model in (
        MultiOutputClassifier(GaussianProcessClassifier(RBF() + DotProduct(), optimizer=None)).fit(X, np.c_[TWO, TWO]),
        MultiOutputRegressor(_sum_of_kernels()).fit(X, TARGETS),
    ):
        with pytest.raises(dormie.UnreadableModelError, match="Compile each of"):
            dormie.read(model)
        assert_same_answers(dormie.compile(model.estimators_[0], methods=[]), model.estimators_[0])


@pytest.mark.parametrize("name", ["several labels", "several labels, one kernel", "bagging, pipelines"])
def test_a_risk_is_certified_or_the_plan_says_why_not(name: str) -> None:
    model = CLASSIFIERS[name]()
    rows = np.random.default_rng(3).normal(size=(1200, 5)) * [1.0, 3.0, 0.5, 2.0, 1.0]
    fast = dormie.compile(model, rows, risk=0.05, effort="quick")
    expected = model.predict(NEW)
    differ = (fast.predict(NEW) != expected).reshape(len(NEW), -1).any(axis=1).mean()
    if isinstance(fast.plan.guarantee, dormie.Risk):
        assert differ <= 0.15
    else:
        assert differ == 0
        assert "a risk of 0.05 was allowed but not used" in fast.plan.note

"""KernelPCA, Nystroem, and linear models behind them: sums over the same kernel values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import dormie
from dormie.errors import UnreadableModelError
from tests.properties.checks import term_sizes

RNG = np.random.default_rng(29)
KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 0.7},
    {"kernel": "poly"},
    {"kernel": "sigmoid", "gamma": 0.05},
]
OF_SHARES: list[dict[str, Any]] = [{"kernel": "chi2"}, {"kernel": "chi2", "gamma": 0.3}, {"kernel": "additive_chi2"}]


def data(n: int, d: int) -> Any:
    return RNG.normal(size=(n, d)) * RNG.uniform(0.3, 3.0, d) + RNG.normal(size=d)


X, NEW = np.split(data(500, 4), [120])
TWO = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "yes", "no")
FOUR = np.array(["n", "e", "s", "w"])[2 * (X[:, 0] > 0) + (X[:, 1] > 0)]
VALUES = np.sin(X[:, 0]) + X[:, 1]


def assert_same_values(found: Any, expected: Any) -> None:
    """Equal within 1e-8 of the values' size; with more components than features, roundings are amplified 1e6 times."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max(initial=0.0))


@pytest.mark.parametrize("given", KERNELS, ids=str)
@pytest.mark.parametrize(("n", "d", "components"), [(40, 2, 3), (90, 6, 5), (20, 1, 1)])
def test_kernel_pca_projects_as_scikit_learn_does(
    given: dict[str, Any], n: int, d: int, components: int | None, tmp_path: Path
) -> None:
    rows, new = data(n, d) / 3, data(80, d) / 3
    if given["kernel"] == "sigmoid":
        rows /= 5  # further out it has negative eigenvalues, which scikit-learn refuses
    model = KernelPCA(components, remove_zero_eig=True, random_state=0, **given).fit(rows)
    fast = dormie.compile(model)
    assert_same_values(fast.predict(new), model.transform(new))
    fast.save(tmp_path / "plan")
    assert_same_values(dormie.load(tmp_path / "plan").predict(new), model.transform(new))


@pytest.mark.parametrize("given", [*KERNELS, {"kernel": "laplacian"}, {"kernel": "cosine"}, *OF_SHARES], ids=str)
@pytest.mark.parametrize(("n", "d", "components"), [(40, 2, 10), (90, 6, 50), (20, 1, 3)])
def test_nystroem_transforms_as_scikit_learn_does(given: dict[str, Any], n: int, d: int, components: int) -> None:
    rows, new = data(n, d) / 3, data(80, d) / 3
    if given in OF_SHARES:
        rows, new = np.abs(rows), np.abs(new)
    model = Nystroem(n_components=components, random_state=0, **given).fit(rows)
    found, expected = dormie.compile(model).predict(new), model.transform(new)
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= 1e-9 * np.abs(expected).max() + _rounding(dormie.read(model), new)).all()


def _rounding(machine: dormie.Machine, rows: Any) -> Any:
    """How far two float64 sums of a machine may lie apart: each is off by d + L + 8 units of its terms, or less.

    It matters where components divide by roots of tiny eigenvalues. Of 50 components of a kernel of rank 6, 44
    have none but rounding, and their weights are about 1e6.
    """
    terms = term_sizes(machine.kernel, rows, machine.points) @ np.abs(machine.weights)
    return 2 * (machine.n_features + machine.n_points + 8) * 2.0**-53 * terms


@pytest.mark.parametrize("expansion", [Nystroem(random_state=0, n_components=40), KernelPCA(10, kernel="rbf")], ids=str)
@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (LinearSVC(), TWO),
        (LinearSVC(), FOUR),
        (SGDClassifier(random_state=0), FOUR),
        (LogisticRegression(), FOUR),
        (CalibratedClassifierCV(LinearSVC(), ensemble=False), TWO),
        (Ridge(), VALUES),
        (Ridge(), np.c_[VALUES, X[:, 1]]),
        (SGDRegressor(random_state=0), VALUES),
        (SGDOneClassSVM(random_state=0), None),
        (make_pipeline(StandardScaler(), LinearSVC()), FOUR),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("scaler", [StandardScaler(), None], ids=["scaled", "plain"])
def test_linear_models_behind_an_expansion(
    expansion: Any, model: Any, targets: Any, scaler: Any, tmp_path: Path
) -> None:
    pipeline = make_pipeline(scaler, expansion, model).fit(X, targets)
    fast = dormie.compile(pipeline, effort="quick")
    expected = pipeline.predict(NEW)
    if expected.dtype == np.float64:
        assert_same_values(fast.predict(NEW), expected)
    else:
        np.testing.assert_array_equal(fast.predict(NEW), expected)
    for name in ("decision_function", "predict_proba"):
        if hasattr(pipeline, name):
            assert_same_values(getattr(fast, name)(NEW), getattr(pipeline, name)(NEW))
    fast.save(tmp_path / "plan")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(NEW), fast.predict(NEW))


def test_expansions_of_expansions_of_a_linear_kernel_and_scalers_between() -> None:
    model = make_pipeline(
        MinMaxScaler(),
        KernelPCA(4, kernel="linear"),
        StandardScaler(),
        Nystroem(random_state=0),
        StandardScaler(),
        LinearSVC(),
    ).fit(X, FOUR)
    with pytest.raises(UnreadableModelError, match="has a kernel of its own"):
        dormie.read(model)


def test_a_kernel_function_of_two_rows() -> None:
    def alike(u: Any, v: Any, width: float) -> float:
        return float(np.exp(-np.abs(u - v).sum() / width))

    for model in (
        KernelPCA(3, kernel=alike, kernel_params={"width": 5.0}),
        Nystroem(kernel=alike, kernel_params={"width": 5.0}, n_components=20, random_state=0),
    ):
        fitted = model.fit(X[:40])
        assert_same_values(dormie.compile(fitted).predict(NEW[:30]), fitted.transform(NEW[:30]))


def test_parameters_of_nystroem_may_come_as_a_dictionary() -> None:
    model = Nystroem(kernel="rbf", kernel_params={"gamma": 0.7}, n_components=20, random_state=0).fit(X)
    assert dormie.read(model).kernel == dormie.kernels.RBF(0.7)
    assert_same_values(dormie.compile(model).predict(NEW), model.transform(NEW))


def test_sparse_training_rows() -> None:
    rows = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    for model in (Nystroem(n_components=20, random_state=0).fit(rows), KernelPCA(3, kernel="rbf").fit(rows)):
        assert_same_values(dormie.compile(model).predict(NEW), model.transform(NEW))


def test_a_tolerance_is_kept_by_every_component() -> None:
    model = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    fast = dormie.compile(model, tolerance=0.01)
    assert np.abs(fast.predict(NEW) - model.transform(NEW)).max() <= 0.01


def test_the_columns_of_a_data_frame_are_known() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for model in (
        make_pipeline(Nystroem(n_components=20, random_state=0), LinearSVC()),
        make_pipeline(StandardScaler(), KernelPCA(3, kernel="rbf"), LinearSVC()),
    ):
        assert dormie.read(model.fit(frame, TWO)).feature_names == ("a", "b", "c", "d")


@pytest.mark.parametrize("final", [SVC(), SVR()])
def test_a_kernel_machine_behind_an_expansion_is_refused_and_the_advice_is_good(final: Any) -> None:
    targets = TWO if isinstance(final, SVC) else VALUES
    model = make_pipeline(Nystroem(n_components=20, random_state=0), final).fit(X, targets)
    with pytest.raises(UnreadableModelError, match=r"compile the final step \(pipeline\[-1\]\)"):
        dormie.read(model)
    answers = dormie.compile(model[-1]).predict(model[:-1].transform(NEW))
    if isinstance(final, SVC):
        np.testing.assert_array_equal(answers, model.predict(NEW))
    else:
        np.testing.assert_allclose(answers, model.predict(NEW), rtol=1e-9)


def test_random_features_are_refused_and_the_advice_is_good() -> None:
    with pytest.raises(UnreadableModelError, match="Fit a Nystroem, which has the same kernel"):
        dormie.read(RBFSampler(random_state=0).fit(X))
    for model in (make_pipeline(Nystroem(gamma=1.0, random_state=0), LinearSVC()), SVC(gamma=1.0)):
        np.testing.assert_array_equal(dormie.compile(model.fit(X, TWO)).predict(NEW), model.predict(NEW))

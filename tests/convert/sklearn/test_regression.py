"""Gaussian processes and kernel ridge regression: the values of scikit-learn, before and after saving."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import dormie
from dormie.errors import UnreadableModelError

RNG = np.random.default_rng(41)
KERNELS = [
    RBF(1.5),
    RBF([1.0, 2.0, 3.0]),
    Matern(1.5, nu=0.5),
    Matern([1.0, 2.0, 0.7], nu=0.5),
    Matern(1.5, nu=1.5),
    Matern([1.0, 2.0, 0.7], nu=2.5),
    Matern([1.0, 2.0, 0.7], nu=np.inf),
    RationalQuadratic(1.2, 0.7),
    DotProduct(1.3),
    DotProduct(0.5) ** 2,
    DotProduct(0.5) * DotProduct(0.5) * 0.1,
    2.0 * RBF(1.0) + WhiteKernel(0.1) + 1.5,
    RBF(1.0) * (2.0 + WhiteKernel(0.1)),
    RBF(1.0) + 0.5 * RBF(1.0),
    RBF(2.0) ** 3 * RBF([1.0, 2.0, 3.0]),
    Matern(2.0, nu=0.5) ** 2 + RationalQuadratic(1.0, 0.5) ** 1.5,
    3.0 * RBF(2.0) * RBF([1.0, 2.0, 3.0]) + 0.5 * Matern(1.0, nu=1.5) + DotProduct(1.0) + WhiteKernel(0.01),
    (RBF(2.0) + 1.0) ** 2,
    ConstantKernel(2.0) ** 2 * RationalQuadratic(1.0, 0.5),
]


def gaussian_process(kernel: Any, n: int, targets: int, normalize: bool = True) -> Any:
    X = RNG.normal(size=(n, 3)) if not isinstance(kernel, ExpSineSquared) else RNG.normal(size=(n, 1)) * [1, 0, 0]
    y = np.column_stack([np.sin(X[:, 0]), 7 + 3 * X[:, 1], X[:, 2] ** 2])[:, :targets]
    y = y[:, 0] if targets == 1 else y
    return GaussianProcessRegressor(kernel, alpha=1e-2, optimizer=None, normalize_y=normalize).fit(X, y)


def assert_same_values(fast: Any, model: Any, rows: Any, tmp_path: Path) -> None:
    """Within 1e-9 of the largest value; after saving, the same bits."""
    expected = model.predict(rows)
    found = fast.predict(rows)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    fast.save(tmp_path / "plan")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(rows), found)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("n", "targets", "normalize"), [(9, 1, False), (60, 1, True), (130, 3, True)])
def test_means_of_gaussian_processes(kernel: Any, n: int, targets: int, normalize: bool, tmp_path: Path) -> None:
    model = gaussian_process(kernel, n, targets, normalize)
    rows = np.vstack([RNG.normal(size=(60, 3)), model.X_train_[:5]])
    assert_same_values(dormie.compile(model), model, rows, tmp_path)


@pytest.mark.parametrize("kernel", [KERNELS[k] for k in (1, 3, 4, 5, 7, 16)], ids=str)
@pytest.mark.parametrize("methods", [None, ["fast_stopping"], ["geometry"]], ids=str)
def test_a_tolerance_is_kept(kernel: Any, methods: Any) -> None:
    model = gaussian_process(kernel, 150, 1)
    rows = np.vstack([RNG.normal(size=(60, 3)), model.X_train_[:5]])
    methods = ["parts"] if methods and isinstance(dormie.read(model), dormie.MachineSum) else methods
    fast = dormie.compile(model, tolerance=0.01, methods=methods, effort="quick")
    assert np.abs(fast.predict(rows) - model.predict(rows)).max() <= 0.01


def test_plans_are_loaded_without_scikit_learn(tmp_path: Path) -> None:
    model = gaussian_process(KERNELS[16], 50, 2)
    rows = RNG.normal(size=(20, 3))
    dormie.compile(model).save(tmp_path / "plan")
    np.save(tmp_path / "rows.npy", rows)
    script = (
        "import sys; sys.modules['sklearn'] = None; import dormie, numpy as np;"
        f"fast = dormie.load({str(tmp_path / 'plan')!r});"
        f"np.save({str(tmp_path / 'found.npy')!r}, fast.predict(np.load({str(tmp_path / 'rows.npy')!r})))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), model.predict(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (ExpSineSquared(periodicity=9.0), "is not made of RBF, Matern"),
        (Matern(nu=3.5), "takes Bessel functions"),
        (RBF() * Matern(), "the product .* is no kernel that is known"),
        (Matern() ** 2.0, "the power .* is no kernel that is known"),
        ((RBF() + 1.0) ** 0.5, "a sum of kernels to the power of 0.5"),
        (ConstantKernel(2.0) + WhiteKernel(), "is constant"),
    ],
    ids=str,
)
def test_other_kernels_are_refused_with_a_reason_and_the_advice_is_good(kernel: Any, why: str) -> None:
    model = gaussian_process(kernel, 30, 1)
    with pytest.raises(UnreadableModelError, match=why) as refused:
        dormie.read(model)
    machine = eval(str(refused.value).partition("by hand: ")[2], {"dormie": dormie, "model": model})
    rows = RNG.normal(size=(20, 3))
    np.testing.assert_allclose(dormie.compile(machine).predict(rows), model.predict(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "laplacian"},
        {"kernel": "laplacian", "gamma": 0.4},
        {"kernel": "chi2", "gamma": 0.5},
        {"kernel": "cosine"},
        {"kernel": "additive_chi2", "alpha": 1e4},
    ],
    ids=str,
)
@pytest.mark.parametrize(("n", "d", "targets"), [(20, 2, 1), (120, 7, 1), (90, 70, 3)])
def test_kernel_ridge(parameters: dict[str, Any], n: int, d: int, targets: int, tmp_path: Path) -> None:
    X = np.abs(RNG.normal(size=(n, d)))
    X[:2] = 0  # which have no direction, and nothing to divide by
    y = np.column_stack([X[:, 0], X[:, -1] ** 2, X.sum(axis=1)])[:, :targets]
    model = KernelRidge(**{"alpha": 0.1} | parameters).fit(X, y if targets > 1 else y[:, 0])
    rows = np.vstack([np.abs(RNG.normal(size=(40, d))), np.zeros(d), X[:3]])
    assert_same_values(dormie.compile(model), model, rows, tmp_path)
    kept = dormie.compile(model, tolerance=0.01, effort="quick").predict(rows)
    assert np.abs(kept - model.predict(rows)).max() <= 0.01


FUNCTIONS = [
    pairwise.laplacian_kernel,
    pairwise.chi2_kernel,
    pairwise.additive_chi2_kernel,
    pairwise.cosine_similarity,
    pairwise.rbf_kernel,
    pairwise.polynomial_kernel,
    pairwise.sigmoid_kernel,
    pairwise.linear_kernel,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_of_scikit_learns_kernel_functions(function: Any, classes: int, tmp_path: Path) -> None:
    X, new = np.split(np.abs(RNG.normal(size=(420, 4))), [120])
    y = (X[:, 0] > X[:, 1]).astype(int) + (classes - 2) * (X[:, 2] > 1)
    model = SVC(kernel=function).fit(X, y)
    assert not dormie.read(model).kernel.is_python
    fast = dormie.compile(model)
    np.testing.assert_array_equal(fast.predict(new), model.predict(new))
    np.testing.assert_allclose(fast.decision_function(new), model.decision_function(new), rtol=1e-9, atol=1e-9)
    fast.save(tmp_path / "plan")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(new), model.predict(new))
    values = SVR(kernel=function).fit(X, X[:, 0])
    np.testing.assert_allclose(dormie.compile(values).predict(new), values.predict(new), rtol=1e-9, atol=1e-9)


def test_rows_with_negative_numbers_are_named() -> None:
    X = np.abs(RNG.normal(size=(80, 3)))
    model = KernelRidge(kernel="chi2", gamma=0.5).fit(X, X[:, 0])
    rows = np.abs(RNG.normal(size=(3000, 3)))
    rows[17, 2], rows[2900, 0] = -0.25, -1.0
    for fast in (dormie.compile(model), dormie.compile(model, tolerance=0.1)):
        for given in (rows, rows.astype(np.float32), np.asfortranarray(rows)):
            with pytest.raises(ValueError, match=r"row 17, column 2 is -0.25, negative once it is scaled"):
                fast.predict(given)
        with pytest.raises(ValueError, match="row 17, column 2"):
            fast.interval(rows)
    scaled = make_pipeline(StandardScaler(with_mean=False), KernelRidge(kernel="chi2", gamma=0.5)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"row 0, column 1 is -"):
        dormie.compile(scaled).predict([[1.0, -1.0, 0.0]])
    with pytest.raises(ValueError, match="points: row 1, column 0 is -1"):
        dormie.Machine(dormie.kernels.Chi2(1.0), [[0.0], [-1.0]], [1.0, 1.0], 0.0, dormie.rules.Value())

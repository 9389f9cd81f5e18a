from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dormie
from dormie.errors import UnreadableModelError
from dormie.estimators import KernelFisherDiscriminant
from dormie.machine import Floats
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid

NORMALIZED = Normalized(Polynomial(gamma=1.0, coef0=1.0, degree=2))


@parametrize_with_checks([KernelFisherDiscriminant(), KernelFisherDiscriminant(NORMALIZED)])  # type: ignore[untyped-decorator]
def test_scikit_learn_conventions_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def _moons(n: int = 60, seed: int = 0) -> tuple[Floats, Any]:
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return X, np.array(["below", "above"])[y]


def _mika(gram: Floats, y: Any, mu: float) -> Floats:
    """The leading solution of M alpha = lambda (N + mu I) alpha, with the paper's matrices written out."""
    n = len(gram)
    classes = np.unique(y)
    means, within = [], mu * np.eye(n)
    for label in classes:
        columns = gram[:, y == label]
        size = columns.shape[1]
        means.append(np.array([sum(row) / size for row in columns]))
        within += columns @ (np.eye(size) - np.full((size, size), 1 / size)) @ columns.T
    between = np.outer(means[0] - means[1], means[0] - means[1])
    return np.asarray(eigh(between, within)[1][:, -1])


@pytest.mark.parametrize("kernel", [RBF(1.5), Linear(), Polynomial(0.5, 1.0, 3), NORMALIZED], ids=str)
@pytest.mark.parametrize("mu", [1e-2, 10.0])
def test_the_direction_solves_the_generalised_eigenproblem(kernel: Kernel, mu: float) -> None:
    X, y = _moons(30)
    model = KernelFisherDiscriminant(kernel, regularization=mu).fit(X, y)
    alpha = _mika(kernel.matrix(X, X), y, mu)
    ours = model.dual_coef_ / np.linalg.norm(model.dual_coef_)
    theirs = alpha / np.linalg.norm(alpha)
    assert np.allclose(ours, theirs * np.sign(ours @ theirs), atol=1e-8)


def _quadratic_programme(gram: Floats, y: Floats, mu: float) -> tuple[Floats, float]:
    """Mika et al. 2001: least |xi|^2 + mu |alpha|^2 with K alpha + b = y + xi, xi of sum 0 in each class (KKT)."""
    n = len(gram)
    design = np.column_stack([gram, np.ones(n)])
    hessian = design.T @ design + np.diag([mu] * n + [0.0])
    sums = np.array([y < 0, y > 0], dtype=np.float64)
    system = np.block([[hessian, (sums @ design).T], [sums @ design, np.zeros((2, 2))]])
    alpha = np.linalg.solve(system, np.concatenate([design.T @ y, sums @ y]))
    return alpha[:n], float(alpha[n])


@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_the_quadratic_programme_of_2001_gives_the_same_discriminant(mu: float) -> None:
    X, y = _moons()
    model = KernelFisherDiscriminant(RBF(2.0), regularization=mu).fit(X, y)
    alpha, b = _quadratic_programme(RBF(2.0).matrix(X, X), np.where(y == model.classes_[1], 1.0, -1.0), mu)
    scale = np.linalg.norm(alpha) / np.linalg.norm(model.dual_coef_)
    np.testing.assert_allclose(scale * model.dual_coef_, alpha, rtol=1e-5, atol=1e-7 * np.abs(alpha).max())
    assert scale * model.intercept_ == pytest.approx(b, rel=1e-5)


def test_the_threshold_is_half_way_between_the_projected_means() -> None:
    X, y = _moons()
    model = KernelFisherDiscriminant(gamma=2.0).fit(X, y)
    values = model.decision_function(X)
    first, second = values[y == model.classes_[0]].mean(), values[y == model.classes_[1]].mean()
    assert second > 0
    assert np.isclose(first, -second)


def test_it_separates_what_a_line_cannot() -> None:
    X, y = _moons(200)
    X_new, y_new = _moons(200, seed=1)
    assert KernelFisherDiscriminant(gamma=2.0).fit(X, y).score(X_new, y_new) > 0.94
    assert KernelFisherDiscriminant("linear").fit(X, y).score(X_new, y_new) < 0.92


@pytest.mark.parametrize(
    ("parameters", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.5}, RBF(0.5)),
        ({"kernel": "rbf", "gamma": "auto"}, RBF(0.5)),
        ({"kernel": "linear"}, Linear()),
        ({"kernel": "poly", "gamma": 2.0, "coef0": 1.0, "degree": 2}, Polynomial(2.0, 1.0, 2)),
        ({"kernel": "sigmoid", "gamma": 0.1, "coef0": -1.0}, Sigmoid(0.1, -1.0)),
        ({"kernel": NORMALIZED}, NORMALIZED),
    ],
)
def test_kernels_by_name_and_by_value(parameters: dict[str, Any], kernel: Kernel) -> None:
    X, y = _moons()
    assert KernelFisherDiscriminant(**parameters).fit(X, y).kernel_ == kernel


def test_gamma_scale_is_that_of_scikit_learn() -> None:
    X, y = _moons()
    assert KernelFisherDiscriminant().fit(X, y).kernel_ == RBF(1 / (2 * X.var()))
    assert KernelFisherDiscriminant().fit(np.ones((4, 2)), [0, 1, 0, 1]).kernel_ == RBF(1.0)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid", NORMALIZED], ids=str)
def test_compiled_it_predicts_the_same(kernel: str | Kernel) -> None:
    X, y = _moons()
    rows, _ = _moons(500, seed=1)
    model = KernelFisherDiscriminant(kernel).fit(X, y)
    fast = dormie.compile(model)
    assert np.array_equal(fast.predict(rows), model.predict(rows))
    assert np.allclose(fast.decision_function(rows), model.decision_function(rows), rtol=1e-9, atol=1e-9)


def test_a_value_of_zero_is_the_first_class_compiled_or_not() -> None:
    X = np.array([[-1.0], [1.0]])
    model = KernelFisherDiscriminant("linear").fit(X, ["left", "right"])
    assert model.decision_function([[0.0]]).tolist() == [0.0]
    assert model.predict([[0.0]]).tolist() == dormie.compile(model).predict(np.array([[0.0]])).tolist() == ["left"]


def test_it_is_read_inside_pipelines_and_one_vs_rest() -> None:
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), OneVsRestClassifier(KernelFisherDiscriminant(gamma=0.3))).fit(X, y)
    assert np.array_equal(dormie.compile(model).predict(X), model.predict(X))


def test_what_is_not_fitted_is_not_read() -> None:
    with pytest.raises(UnreadableModelError, match="not fitted"):
        dormie.read(KernelFisherDiscriminant())


def test_a_subclass_that_answers_otherwise_is_not_read() -> None:
    class Shifted(KernelFisherDiscriminant):
        def decision_function(self, X: Any) -> Floats:
            return super().decision_function(X) + 1

    with pytest.raises(UnreadableModelError, match="decision_function"):
        dormie.read(Shifted().fit(*_moons()))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, "kernel must be 'rbf'.*'laplacian'"),
        ({"gamma": "large"}, "gamma must be 'scale'"),
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"regularization": 0.0}, "regularization must be a number above 0, got 0.0"),
        ({"regularization": float("nan")}, "regularization must be a number above 0"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelFisherDiscriminant(**parameters).fit(*_moons())


def test_one_class_or_three_are_refused() -> None:
    X = np.eye(3)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        KernelFisherDiscriminant().fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match="only one class: 7"):
        KernelFisherDiscriminant().fit(X, [7, 7, 7])


def test_a_regularization_that_rounding_swallows_is_named() -> None:
    X, y = _moons()
    with pytest.raises(ValueError, match=r"regularization=1e-30 is lost beside kernel values"):
        KernelFisherDiscriminant("linear", regularization=1e-30).fit(1e3 * X, y)


def test_a_clone_fits_the_same() -> None:
    X, y = _moons()
    model = KernelFisherDiscriminant(NORMALIZED, regularization=0.1).fit(X, y)
    assert np.array_equal(clone(model).fit(X, y).dual_coef_, model.dual_coef_)

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import dormie
from dormie.errors import UnreadableModelError
from dormie.estimators import VirtualSVC
from dormie.estimators.invariances import Rotations, Shifts, Thickness
from dormie.machine.rules import Argmax, OneVsOneVote, Sign

ESTIMATOR = SVC(C=10, gamma=0.05)


class _Nudged:
    """Rows a little to either side: an invariance of any table."""

    def __call__(self, rows: Any) -> list[Any]:
        return [rows + 0.01, rows - 0.01]

    def __repr__(self) -> str:
        return "nudged"  # no address: the names of tests must not change from run to run


nudged = _Nudged()


@parametrize_with_checks([VirtualSVC(nudged), VirtualSVC(nudged, multi_class="ovr", keep_originals=False)])  # type: ignore[untyped-decorator]
def test_scikit_learn_conventions_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def _digits(n: int = 300, classes: int = 10) -> tuple[Any, Any]:
    """8 x 8 digits, pixels in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    few = np.flatnonzero(y < classes)[:n]
    return X[few] / 16, y[few]


def _new_digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X[1000:] / 16, y[1000:]


def test_it_is_the_estimator_fitted_on_support_vectors_and_their_moved_copies() -> None:
    X, y = _digits()
    model = VirtualSVC(Shifts(), ESTIMATOR).fit(X, y)
    support = clone(ESTIMATOR).fit(X, y).support_
    rows = np.vstack([X[support], *Shifts()(X[support])])
    by_hand = clone(ESTIMATOR).fit(rows, np.tile(y[support], 5))
    (fitted,) = model.estimators_
    assert np.array_equal(fitted.support_vectors_, by_hand.support_vectors_)
    assert np.array_equal(fitted.dual_coef_, by_hand.dual_coef_)
    new = _new_digits()[0]
    assert np.array_equal(model.predict(new), by_hand.predict(new))
    assert np.array_equal(model.decision_function(new), by_hand.decision_function(new))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_without_originals_it_is_fitted_on_moved_copies_alone(multi_class: str) -> None:
    X, y = _digits(classes=3)
    model = VirtualSVC(Shifts(), ESTIMATOR, multi_class=multi_class, keep_originals=False).fit(X, y)
    originals = {row.tobytes() for row in X}
    for first, fitted in zip(model.first_estimators_, model.estimators_, strict=True):
        moved = Shifts()(X[first.support_])
        assert fitted.shape_fit_ == (4 * len(first.support_), 64)
        assert {row.tobytes() for row in fitted.support_vectors_} <= {row.tobytes() for row in np.vstack(moved)}
        assert not {row.tobytes() for row in fitted.support_vectors_} & originals
    new, truth = _new_digits()
    few = truth < 3
    assert model.score(new[few], truth[few]) > 0.95


def test_without_originals_and_without_copies_there_is_nothing_to_train_on() -> None:
    with pytest.raises(ValueError, match="keep_originals=False and no transformed copies leave nothing to train on"):
        VirtualSVC([], ESTIMATOR, keep_originals=False).fit(*_digits(100))


def test_the_machine_before_the_moves_can_be_compared_with() -> None:
    X, y = _digits(classes=3)
    for multi_class, targets in (("ovo", [y]), ("ovr", [y == 0, y == 1, y == 2])):
        model = VirtualSVC(Shifts(), ESTIMATOR, multi_class=multi_class).fit(X, y)
        plain = [clone(ESTIMATOR).fit(X, target) for target in targets]
        for first, expected in zip(model.first_estimators_, plain, strict=True):
            assert np.array_equal(first.support_, expected.support_)
            assert np.array_equal(first.dual_coef_, expected.dual_coef_)


def test_one_vs_rest_moves_the_support_vectors_of_each_machine() -> None:
    X, y = _digits(classes=4)
    model = VirtualSVC(Shifts(), ESTIMATOR, multi_class="ovr").fit(X, y)
    new = _new_digits()[0]
    assert len(model.estimators_) == 4
    for label, fitted in enumerate(model.estimators_):
        support = clone(ESTIMATOR).fit(X, y == label).support_
        rows = np.vstack([X[support], *Shifts()(X[support])])
        by_hand = clone(ESTIMATOR).fit(rows, np.tile(y[support] == label, 5))
        assert np.array_equal(fitted.dual_coef_, by_hand.dual_coef_)
        assert np.array_equal(model.decision_function(new)[:, label], by_hand.decision_function(new))
    assert np.array_equal(model.predict(new), model.decision_function(new).argmax(axis=1))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_what_does_not_change_a_digit_teaches_the_machine(multi_class: str) -> None:
    X, y = _digits(200)
    new, truth = _new_digits()
    moved = Shifts()(new)
    plain = clone(ESTIMATOR).fit(X, y)
    model = VirtualSVC(Shifts(), ESTIMATOR, multi_class=multi_class).fit(X, y)
    assert model.score(new, truth) > plain.score(new, truth)
    assert model.score(moved[0], truth) > plain.score(moved[0], truth) + 0.1


def test_several_invariances_are_applied_each_on_its_own() -> None:
    X, y = _digits(100)
    sizes = []

    def counted(rows: Any) -> Any:
        sizes.append(len(rows))
        return rows + 0.01

    model = VirtualSVC([Shifts(), Rotations(), Thickness(), counted], SVC(C=1e-3)).fit(X, y)
    (rows,) = sizes
    assert rows == 100  # so small a C leaves every row a support vector
    assert model.estimators_[0].shape_fit_ == (100 * (1 + 4 + 2 + 2 + 1), 64)


@pytest.mark.parametrize("as_array", [list, np.stack])
def test_a_function_may_return_a_list_or_a_stack_of_moved_rows(as_array: Any) -> None:
    X, y = _digits(100)
    model = VirtualSVC(lambda rows: as_array(nudged(rows)), ESTIMATOR).fit(X, y)
    assert np.array_equal(
        model.estimators_[0].dual_coef_, VirtualSVC(nudged, ESTIMATOR).fit(X, y).estimators_[0].dual_coef_
    )


@pytest.mark.parametrize(("gamma", "expected"), [("scale", None), ("auto", 1 / 64), (0.3, 0.3)])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_gamma_is_that_of_the_training_rows(gamma: Any, expected: float | None, multi_class: str) -> None:
    X, y = _digits(100, classes=3)
    model = VirtualSVC(Shifts(), SVC(gamma=gamma), multi_class=multi_class).fit(X, y)
    expected = 1 / (64 * X.var()) if expected is None else expected
    assert [fitted.gamma for fitted in model.estimators_] == pytest.approx([expected] * len(model.estimators_))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_may_be_words(multi_class: str, classes: int) -> None:
    X, y = _digits(150, classes)
    words = np.array(["nought", "one", "couple"])[y]
    model = VirtualSVC(Shifts(), ESTIMATOR, multi_class=multi_class).fit(X, words)
    assert model.classes_.tolist() == sorted(set(words))
    assert np.mean(model.predict(X) == words) > 0.95
    assert np.array_equal(dormie.compile(model).predict(X), model.predict(X))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_order_of_the_rows_does_not_matter(multi_class: str) -> None:
    X, y = _digits(200, classes=5)
    order = np.random.default_rng(0).permutation(len(X))
    model = VirtualSVC(Shifts(), SVC(C=10, gamma=0.05, tol=1e-8), multi_class=multi_class)
    new = _new_digits()[0]
    expected = clone(model).fit(X, y).decision_function(new)
    np.testing.assert_allclose(clone(model).fit(X[order], y[order]).decision_function(new), expected, atol=1e-5)


def test_single_and_double_precision_agree() -> None:
    X, y = _digits(200)
    new = _new_digits()[0]
    double = VirtualSVC(Shifts(), ESTIMATOR).fit(X, y)
    single = VirtualSVC(Shifts(), ESTIMATOR).fit(X.astype(np.float32), y)
    assert np.array_equal(single.predict(new.astype(np.float32)), double.predict(new))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_it_comes_back_from_a_file(multi_class: str) -> None:
    X, y = _digits(150)
    model = VirtualSVC([Shifts(directions=8), Rotations()], ESTIMATOR, multi_class=multi_class).fit(X, y)
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    new = _new_digits()[0]
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file), clone(model).fit(X, y)):
        assert np.array_equal(copy.decision_function(new), model.decision_function(new))


def test_the_given_estimator_is_left_alone_and_its_parameters_can_be_searched() -> None:
    X, y = _digits(200, classes=3)
    estimator = SVC()
    search = GridSearchCV(VirtualSVC(Shifts(), estimator), {"estimator__C": [1e-4, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"estimator__C": 10.0}
    assert estimator.C == 1.0
    assert not hasattr(estimator, "support_")


@pytest.mark.parametrize(
    "estimator", [None, NuSVC(nu=0.2), SVC(kernel="poly", degree=5, coef0=1.0), SVC(kernel="linear")], ids=repr
)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_compiled_it_predicts_the_same(estimator: Any, multi_class: str) -> None:
    X, y = _digits(200, classes=4)
    new = _new_digits()[0]
    model = VirtualSVC(Shifts(), estimator, multi_class=multi_class).fit(X, y)
    fast = dormie.compile(model)
    assert np.array_equal(fast.predict(new), model.predict(new))
    np.testing.assert_allclose(fast.decision_function(new), model.decision_function(new), rtol=1e-7, atol=1e-7)


def test_one_vs_one_is_read_as_votes_and_two_classes_as_a_sign() -> None:
    assert isinstance(dormie.read(VirtualSVC(Shifts()).fit(*_digits())).rule, OneVsOneVote)
    for multi_class in ("ovo", "ovr"):
        model = VirtualSVC(Shifts(), multi_class=multi_class).fit(*_digits(classes=2))
        assert isinstance(dormie.read(model).rule, Sign)


def test_one_vs_rest_is_read_as_one_machine_whose_outputs_share_their_points() -> None:
    model = VirtualSVC(Shifts(), ESTIMATOR, multi_class="ovr").fit(*_digits())
    machine = dormie.read(model)
    assert machine.rule == Argmax(model.classes_)
    assert machine.n_outputs == 10
    assert machine.n_points == len(np.unique(machine.points, axis=0))
    assert machine.n_points < sum(len(fitted.support_) for fitted in model.estimators_)
    for weights, fitted in zip(machine.weights.T, model.estimators_, strict=True):
        assert np.count_nonzero(weights) <= len(fitted.support_)


def test_it_is_read_inside_pipelines() -> None:
    X, y = _digits(150)
    model = make_pipeline(MinMaxScaler(), VirtualSVC(Shifts(), multi_class="ovr")).fit(X, y)
    assert np.array_equal(dormie.compile(model).predict(X), model.predict(X))


def test_what_is_not_fitted_is_not_read() -> None:
    with pytest.raises(UnreadableModelError, match="not fitted"):
        dormie.read(VirtualSVC(Shifts()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Shifts(), None, "both"), "multi_class must be 'ovo' or 'ovr', got 'both'"),
        ((Shifts(), SVC(kernel="precomputed"), "ovo"), "kernel='precomputed' gives no rows to move"),
        ((Shifts(), LogisticRegression(), "ovo"), "LogisticRegression.*has no support_ when fitted"),
        (([Shifts(), 3], None, "ovo"), r"invariances\[1\] must be a function of rows, such as Shifts\(\), got 3"),
        ((Shifts, None, "ovo"), r"invariances must be a function of rows, and is a class: give Shifts\(\)"),
        (([Shifts(), Rotations], None, "ovo"), r"invariances\[1\] must be .* is a class: give Rotations\(\)"),
        ((None, None, "ovo"), "invariances must be a function of rows, .*got None"),
        (("Shifts", None, "ovo"), "invariances must be a function of rows, .*got 'Shifts'"),
        (
            (lambda _: None, None, "ovo"),
            "returned None; it must return an array of the shape of the rows, or a list",
        ),
        ((lambda _: 3.0, None, "ovo"), "returned 3.0; it must return an array"),
        ((Shifts(), SVR(), "ovo"), r"estimator must be a support vector classifier, .*got SVR\(\)"),
        ((Shifts(), OneClassSVM(), "ovo"), r"estimator must be a support vector classifier, .*got OneClassSVM\(\)"),
        ((Shifts(), SVC, "ovo"), r"such as sklearn.svm.SVC\(\), got <class 'sklearn.svm._classes.SVC'>"),
        ((Shifts(), "SVC", "ovo"), "estimator must be a support vector classifier, .*got 'SVC'"),
        ((lambda rows: rows[:, :3], None, "ovo"), r"shape \(\d+, 3\) of rows of shape \(\d+, 64\)"),
        ((Shifts(shape=(4, 4)), None, "ovo"), r"Shifts: rows of 64 features are not images of shape \(4, 4\)"),
    ],
)
def test_wrong_parameters_are_named(arguments: tuple[Any, Any, str], message: str) -> None:
    invariances, estimator, multi_class = arguments
    with pytest.raises(ValueError, match=message):
        VirtualSVC(invariances, estimator, multi_class=multi_class).fit(*_digits(100))


def test_sparse_rows_are_explained() -> None:
    X, y = _digits(100)
    with pytest.raises(TypeError, match="toarray"):
        VirtualSVC(Shifts()).fit(sparse.csr_array(X), y)

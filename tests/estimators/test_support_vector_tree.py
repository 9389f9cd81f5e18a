from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import dormie
from dormie.errors import UnreadableModelError
from dormie.estimators import SupportVectorTree
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign, Value
from dormie.methods.tree import Tree
from tests.methods.tree.trees import walked


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [SupportVectorTree(each, method="greedy") for each in (SVC(break_ties=True), SVR(), KernelRidge(kernel="rbf"))]
)
def test_scikit_learn_conventions_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SupportVectorTree(), SupportVectorTree(SVR())])  # type: ignore[untyped-decorator]
def test_scikit_learn_conventions_hold_of_fitted_trees(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def _moons(n: int = 200, seed: int = 0) -> tuple[Floats, Any]:
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.array(["above", "below"])[y]


def _greedy(estimator: Any = None, **parameters: Any) -> SupportVectorTree:
    """A tree that is grown in no time."""
    return SupportVectorTree(estimator, method="greedy", random_state=0, **parameters)


def _by_hand(points: Any, weights: Any, bias: float = 0.25) -> Machine:
    return Machine(
        RBF(0.5), points, np.asarray(weights, dtype=np.float64), np.array([bias]), Sign(np.array(["-", "+"]))
    )


@pytest.mark.parametrize("method", ["fitted", "greedy"])
def test_a_few_evaluations_answer_nearly_as_the_full_machine_does(method: str) -> None:
    X, y = _moons(400)
    new = _moons(1000, seed=1)[0]
    model = SupportVectorTree(SVC(C=0.5), method=method, evaluations=8.0, random_state=0).fit(X, y)
    full = SVC(C=0.5).fit(X, y)
    assert np.array_equal(model.estimator_.support_, full.support_)
    assert model.evaluations_ <= 8.0
    assert model.count_evaluations(X).mean() == model.evaluations_
    assert model.machine_.n_points > 80
    assert np.mean(model.predict(new) == full.predict(new)) > (0.97 if method == "fitted" else 0.93)
    assert np.corrcoef(model.decision_function(new), full.decision_function(new))[0, 1] > 0.97


def test_every_row_comes_out_as_its_walk_by_the_definition() -> None:
    X, y = _moons()
    new = _moons(50, seed=1)[0]
    model = _greedy().fit(X, y)
    values, counts, labels = model.decision_function(new), model.count_evaluations(new), model.predict(new)
    for row, value, count, label in zip(new, values, counts, labels, strict=True):
        (expected,), _, met = walked(model.tree_, model.machine_.kernel, row[None])
        assert (value, count) == (pytest.approx(expected, abs=1e-5), met)
        assert label == ("below" if value >= 0 else "above")


KINDS: dict[str, Any] = {
    "one-vs-one": SVC(),
    "pairs": SVC(decision_function_shape="ovo"),
    "nu": NuSVC(nu=0.2),
    "one-vs-rest": OneVsRestClassifier(SVC()),
    "scaled": make_pipeline(StandardScaler(), SVC()),
    "search": GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2),
    "sigmoid": SVC(kernel="sigmoid", coef0=-1.0, gamma=0.01),
    "support vector regression": SVR(),
    "kernel ridge": KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1),
    "novelties": OneClassSVM(nu=0.2),
}


@pytest.mark.parametrize("estimator", KINDS.values(), ids=KINDS.keys())
def test_it_is_what_the_estimator_is_and_answers_in_its_shape(estimator: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = _greedy(estimator, evaluations=None, leaf_rows=1).fit(X, y)
    full = clone(estimator).fit(X, y)
    assert is_classifier(model) == is_classifier(full)
    assert is_regressor(model) == is_regressor(full)
    assert is_outlier_detector(model) == is_outlier_detector(full)
    assert model.predict(X).shape == full.predict(X).shape
    assert model.predict(X).dtype == full.predict(X).dtype
    assert hasattr(model, "decision_function") == hasattr(full, "decision_function")
    assert hasattr(model, "classes_") == is_classifier(full)
    if is_regressor(full):
        assert model.score(X, full.predict(X)) > 0.9
        return
    assert np.mean(model.predict(X) == full.predict(X)) > 0.9
    assert model.decision_function(X).shape == full.decision_function(X).shape


def test_several_values_a_row_are_estimated_together() -> None:
    X, _ = load_iris(return_X_y=True)
    y = np.column_stack([X[:, 0] + X[:, 1], np.sin(X[:, 2])])
    model = _greedy(KernelRidge(kernel="rbf", alpha=0.1)).fit(X, y)
    assert model.predict(X).shape == (150, 2)
    assert model.score(X, y) > 0.9


def test_a_regressor_has_no_decision_function_and_novelties_have_no_score() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'decision_function'"):
        SupportVectorTree(SVR()).decision_function  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'score'"):
        SupportVectorTree(OneClassSVM()).score  # noqa: B018


def test_novelties_are_learned_without_labels() -> None:
    X, _ = _moons()
    model = _greedy(OneClassSVM(nu=0.2)).fit(X)
    assert set(model.predict(X)) == {-1, 1}
    assert not hasattr(model.estimator, "support_")


class TestWithoutLabels:
    def test_a_fitted_model_is_taken_as_it_is(self) -> None:
        full = SVC().fit(*_moons())
        model = _greedy(full).fit(_moons(100, seed=1)[0])
        assert model.estimator_ is full
        assert model.classes_.tolist() == ["above", "below"]

    def test_with_labels_it_is_trained_anew_and_left_alone(self) -> None:
        X, y = _moons()
        full = SVC().fit(X, y)
        before = full.dual_coef_.copy()
        model = _greedy(full).fit(X, np.where(y == "above", "over", "under"))
        assert model.classes_.tolist() == ["over", "under"]
        assert np.array_equal(full.dual_coef_, before)
        assert full.classes_.tolist() == ["above", "below"]

    @pytest.mark.parametrize("given", ["machine", "frozen"])
    @pytest.mark.parametrize("labelled", [False, True])
    def test_a_machine_or_a_frozen_model_is_never_trained(self, given: str, labelled: bool) -> None:
        X, y = _moons()
        full = SVC().fit(X, y)
        model = _greedy(FrozenEstimator(full) if given == "frozen" else dormie.read(full))
        new, other = _moons(100, seed=1)
        model = clone(model).fit(new, other[::-1] if labelled else None)
        assert model.estimator_ is model.estimator
        assert model.machine_.n_points == len(full.support_)
        assert np.mean(model.predict(X) == full.predict(X)) > 0.9

    def test_a_machine_of_values_is_a_regressor(self) -> None:
        X, _ = _moons()
        model = _greedy(dormie.read(SVR().fit(X, X[:, 0]))).fit(X)
        assert is_regressor(model)
        assert model.score(X, X[:, 0]) > 0.9

    def test_what_is_not_fitted_is_explained(self) -> None:
        for estimator in (None, SVC(), make_pipeline(StandardScaler(), SVC())):
            with pytest.raises(ValueError, match=r"is not fitted, so fit requires y .*pass fit\(X, y\)"):
                SupportVectorTree(estimator).fit(_moons()[0])
        with pytest.raises(NotFittedError):
            SupportVectorTree().predict(_moons()[0])


def _frame(X: Floats) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["left", "right"])


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X.tolist(),
        _frame,
        lambda X: pl.DataFrame({"left": X[:, 0], "right": X[:, 1]}),
        sparse.csr_array,
        sparse.coo_matrix,
    ],
    ids=["fortran", "lists", "pandas", "polars", "csr", "coo"],
)
def test_rows_come_in_any_form(form: Any) -> None:
    X, y = _moons()
    full = SVC().fit(X if sparse.issparse(form(X)) else form(X), y)  # sparse training ends elsewhere
    model, other = _greedy().fit(X, y), _greedy(full).fit(form(X))
    np.testing.assert_allclose(other.decision_function(form(X)), model.decision_function(X), atol=1e-5)
    assert np.array_equal(other.count_evaluations(form(X)), model.count_evaluations(X))


def test_it_can_be_trained_on_sparse_rows_and_asked_about_dense_ones() -> None:
    X, y = _moons()
    model = _greedy().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.decision_function(X), model.decision_function(sparse.csr_array(X)), atol=1e-12)
    assert model.score(X, y) > 0.8


def test_single_precision_rows_are_walked_as_they_are() -> None:
    X, y = _moons()
    model = _greedy().fit(X.astype(np.float32), y)
    same = model.predict(X.astype(np.float32)) == model.predict(X)
    assert same.mean() > 0.98


def test_columns_must_be_those_of_training() -> None:
    X, y = _moons()
    model = _greedy().fit(_frame(X), y)
    assert model.feature_names_in_.tolist() == ["left", "right"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(_frame(X)[["right", "left"]])
    full = SVC().fit(_frame(X), y)
    with pytest.raises(ValueError, match="feature names should match"):
        _greedy(full).fit(_frame(X)[["right", "left"]])
    with pytest.raises(ValueError, match="X has 3 features, but SupportVectorTree is expecting 2"):
        _greedy(SVC().fit(X, y)).fit(np.zeros((4, 3)))


def _shared(a: Any, b: Any) -> Any:
    """How many letters words share, of those they have."""
    return [[len(set(u) & set(v)) / len(set(u) | set(v)) for v in b] for u in a]


def _words() -> list[str]:
    letters = np.random.default_rng(0).choice(list("abcdefgh"), size=(60, 4))
    return ["".join(word) for word in letters]


def _word_machine() -> Machine:
    words = _words()[:40]
    weights = np.array([1.0 if "a" in word else -1.0 for word in words])
    return Machine(Custom(_shared), words, weights, np.zeros(1), Sign(np.array(["no", "yes"])))


@pytest.mark.parametrize("form", [list, np.array, pd.Series, tuple], ids=["list", "array", "series", "tuple"])
@pytest.mark.parametrize("method", ["fitted", "greedy"])
def test_rows_may_be_words(form: Any, method: str) -> None:
    machine, words = _word_machine(), _words()
    model = SupportVectorTree(machine, method=method, leaf_rows=1, random_state=0).fit(form(words))
    expected = machine.kernel.matrix(words, machine.points) @ machine.weights[:, 0]
    assert np.mean((model.predict(form(words)) == "yes") == (expected >= 0)) > 0.9
    assert not hasattr(model, "n_features_in_")
    assert model.count_evaluations(form(words)).max() < machine.n_points
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(form(words)), model.decision_function(form(words)))


def _product(a: Any, b: Any) -> Any:
    return a @ b.T + 1.0


@pytest.mark.parametrize("form", [list, sparse.csr_array, pd.DataFrame], ids=["list", "csr", "pandas"])
def test_a_python_kernel_of_vectors_sees_dense_vectors(form: Any) -> None:
    X, y = _moons()
    full = SVC(kernel=_product).fit(X, y)
    model = _greedy(full, leaf_rows=1).fit(form(X))
    assert np.mean(model.predict(form(X)) == full.predict(X)) > 0.9
    assert model.n_features_in_ == 2


def test_a_seed_makes_the_tree_repeatable() -> None:
    X, y = _moons()
    first, second = (_greedy().fit(X, y) for _ in range(2))
    assert np.array_equal(first.tree_.thresholds, second.tree_.thresholds)
    others = [clone(first).set_params(random_state=seed).fit(X, y).tree_ for seed in range(1, 6)]
    assert any(
        tree.n_nodes != first.tree_.n_nodes or (tree.thresholds != first.tree_.thresholds).any() for tree in others
    )


@pytest.mark.parametrize("method", ["fitted", "greedy"])
def test_it_comes_back_from_a_file(method: str) -> None:
    X, y = _moons(80)
    model = SupportVectorTree(method=method, random_state=3).fit(X, y)
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file), clone(model).fit(X, y)):
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))


def test_its_parameters_can_be_searched_and_reach_the_tree() -> None:
    X, y = _moons()
    grid = {"estimator__C": [1e-4, 1.0], "height": [1, 8]}
    search = GridSearchCV(_greedy(SVC()), grid, cv=2).fit(X, y)
    assert search.best_params_ == {"estimator__C": 1.0, "height": 8}
    for method in ("fitted", "greedy"):
        model = SupportVectorTree(method=method, height=3, leaf_rows=20, random_state=0).fit(X, y)
        assert model.count_evaluations(X).max() <= 3
        assert np.unique(model.tree_.walk(model.machine_.kernel, X).terminals).size <= 8


def test_another_fit_forgets_the_last() -> None:
    X, y = _moons()
    model = _greedy().fit(_frame(X), y)
    model.set_params(estimator=_word_machine()).fit(_words())
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("method", ["fitted", "greedy"])
class TestDegenerate:
    def test_constant_columns(self, method: str) -> None:
        X, y = _moons(60)
        X = np.column_stack([np.ones(60), X, np.zeros(60)])
        model = SupportVectorTree(method=method, random_state=0).fit(X, y)
        assert model.score(X, model.estimator_.predict(X)) > 0.9

    def test_rows_all_alike(self, method: str) -> None:
        machine = _by_hand([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], [1.0, -2.0, 0.5])
        X = np.tile([0.5, 0.5], (20, 1))
        model = SupportVectorTree(machine, method=method, random_state=0).fit(X)
        expected = dormie.compile(machine).decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)

    def test_duplicated_rows(self, method: str) -> None:
        X, y = _moons(30)
        X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
        model = SupportVectorTree(method=method, random_state=0).fit(X, y)
        assert model.score(X, model.estimator_.predict(X)) > 0.9

    def test_one_row(self, method: str) -> None:
        machine = _by_hand([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], [1.0, -2.0, 0.5])
        X = np.array([[0.4, 0.9]])
        model = SupportVectorTree(machine, method=method, random_state=0).fit(X)
        np.testing.assert_allclose(model.decision_function(X), dormie.compile(machine).decision_function(X), atol=1e-5)

    def test_all_rows_in_one_leaf(self, method: str) -> None:
        X, y = _moons(60)
        model = SupportVectorTree(method=method, leaf_rows=10**9, random_state=0).fit(X, y)
        assert model.tree_.n_terminals == 1
        assert len(set(model.count_evaluations(X))) == 1

    def test_one_support_vector(self, method: str) -> None:
        machine = _by_hand([[1.0, 1.0]], [2.0], -1.0)
        X = _moons()[0]
        model = SupportVectorTree(machine, method=method, random_state=0).fit(X)
        expected = dormie.compile(machine).decision_function(X)
        within = 0.01 if method == "fitted" else 1e-5  # fitted weights are held back by a ridge
        np.testing.assert_allclose(model.decision_function(X), expected, atol=within)
        assert model.count_evaluations(X).max() == 1

    def test_no_support_vectors(self, method: str) -> None:
        X = _moons()[0]
        model = SupportVectorTree(SVR(epsilon=100.0), method=method, random_state=0).fit(X, X[:, 0])
        assert model.machine_.n_points == 0
        assert np.array_equal(model.predict(X), model.estimator_.predict(X))
        assert model.evaluations_ == 0
        assert model.tree_.n_nodes == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "clever"}, "method must be 'fitted' or 'greedy', got 'clever'"),
        ({"leaf_rows": 0}, "leaf_rows must be .*0"),
        ({"height": 0}, "height must be .*0"),
        ({"evaluations": 0.5}, "evaluations must be .*0.5"),
        ({"estimator": SVC}, r"estimator must be a scikit-learn model, such as sklearn.svm.SVC\(\).*got <class"),
        ({"estimator": "svc.model"}, "or a dormie.Machine, which dormie.read makes of other models; got 'svc.model'"),
    ],
)
@pytest.mark.parametrize("method", ["fitted", "greedy"])
def test_wrong_parameters_are_named(method: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SupportVectorTree(**({"method": method} | parameters)).fit(*_moons())


def test_an_estimator_that_is_no_kernel_machine_is_explained() -> None:
    with pytest.raises(UnreadableModelError, match="cannot read this DecisionTreeClassifier"):
        SupportVectorTree(DecisionTreeClassifier()).fit(*_moons())


def test_no_rows_are_explained() -> None:
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        _greedy(_by_hand([[0.0, 1.0]], [1.0])).fit(np.empty((0, 2)))
    with pytest.raises(ValueError, match="rows"):
        _greedy(_word_machine()).fit([])
    model = _greedy(_word_machine()).fit(_words())
    assert model.predict([]).shape == (0,)


def test_values_that_are_not_finite_are_refused() -> None:
    X, y = _moons()
    model = _greedy().fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(X)


def test_a_tree_is_no_kernel_machine_to_read() -> None:
    with pytest.raises(UnreadableModelError, match="cannot read this SupportVectorTree"):
        dormie.compile(_greedy().fit(*_moons()))


def test_the_tree_and_the_machine_are_there_to_look_at() -> None:
    model = _greedy().fit(*_moons())
    assert isinstance(model.tree_, Tree)
    assert model.machine_.kernel == dormie.read(model.estimator_).kernel
    assert not isinstance(model.machine_.rule, Value)

"""Trees in plans with a stated risk."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import dormie
from dormie.errors import TrainingRowsWarning
from dormie.estimators import SupportVectorTree
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Custom
from dormie.machine.rules import Sign
from dormie.methods.tree.stage import TreeWalk
from dormie.plan.guarantee import Risk


def moons(n: int, seed: int) -> tuple[Floats, Any]:
    random = np.random.default_rng(seed)
    angle, of_class = random.uniform(0, np.pi, n), random.integers(2, size=n)
    x = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(of_class, 1, -1)[:, None]
    return x + np.where(of_class, 0, 1)[:, None] * [1.0, 0.5] + random.normal(scale=0.25, size=(n, 2)), of_class


@cache
def trained() -> SVC:
    return SVC(gamma=2.0, C=0.02).fit(*moons(1500, 0))  # so many support vectors that a tree clearly wins


def words(n: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return ["".join("abcd"[i] for i in random.integers(4, size=random.integers(4, 12))) for _ in range(n)]


def shared_pairs(a: Any, b: Any) -> Floats:
    """How many pairs of letters two words share, over how many they might: word by word, and slow."""
    pairs = [[{word[i : i + 2] for i in range(len(word) - 1)} for word in some] for some in (a, b)]
    return np.array([[len(u & v) / np.sqrt(len(u) * len(v)) for v in pairs[1]] for u in pairs[0]])


@cache
def of_words() -> Machine:
    points, weights = words(160, 0), np.random.default_rng(1).normal(size=160)
    middle = np.median(shared_pairs(words(500, 9), points) @ weights)  # half of the words are of either class
    return Machine(Custom(shared_pairs), points, weights, np.array([-middle]), Sign(np.array([0, 1])))


def test_a_tree_by_name_keeps_its_risk_and_survives_saving(tmp_path: Path) -> None:
    fit_rows, rows, unseen = (moons(n, seed)[0] for n, seed in ((1500, 0), (2500, 1), (4000, 2)))
    fast = dormie.compile(trained(), rows, fit_rows=fit_rows, risk=0.02, methods=["tree"])
    assert isinstance(fast.plan.guarantee, Risk)
    assert isinstance(fast.plan.stages[0], TreeWalk)
    assert np.mean(fast.predict(unseen) != trained().predict(unseen)) < 0.02
    assert np.mean(fast.trace(unseen).evaluations) < 0.5 * len(trained().support_)
    fast.save(tmp_path / "plan.dormie")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan.dormie").predict(unseen), fast.predict(unseen))
    assert "Ukkonen 2010" in fast.explain()


def test_without_a_risk_a_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="tree is calibrated, not certified, so it needs a risk"):
        dormie.compile(trained(), methods=["tree"])


@cache
def plan_for_words() -> dormie.Predictor:
    return dormie.compile(of_words(), words(900, 1), fit_rows=words(900, 2), risk=0.01)


def of_series(some: list[str]) -> Any:
    """With an index that is not 0, 1, 2, ..., as after a split into training and test rows."""
    return pd.Series(some, index=np.random.default_rng(0).permutation(len(some)))


@pytest.mark.parametrize("kind", [list, tuple, np.array, of_series, lambda some: of_series(some).to_frame()])
def test_words_get_a_plan_with_a_risk_whatever_holds_them(kind: Any) -> None:
    machine, fast, unseen = of_words(), plan_for_words(), words(600, 3)
    right = dormie.compile(machine).predict(unseen)
    assert isinstance(fast.plan.guarantee, Risk)
    assert isinstance(fast.plan.stages[0], TreeWalk)
    assert 0.3 < right.mean() < 0.7
    answers = fast.predict(kind(unseen))
    assert np.mean(answers != right) < 0.01
    np.testing.assert_array_equal(answers, fast.predict(unseen))
    trace = fast.trace(kind(unseen))
    assert 0 < np.mean(trace.stage == "dense") < 0.7  # some rows wait for the full sum
    assert np.mean(trace.evaluations) < machine.n_points


def test_words_are_audited_bounded_and_timed_too() -> None:
    fast, unseen = plan_for_words(), words(100, 4)
    watched = fast.audited(rate=1.0, seed=0)
    right = dormie.compile(of_words()).predict(unseen)
    assert watched.predict(unseen).shape == (100,)
    assert watched.status.disagreements == np.sum(fast.predict(unseen) != right)
    in_time = fast.predict(unseen, deadline=60.0)
    assert in_time.settled.all()
    assert np.sum(in_time.labels != right) <= 2
    low, high = fast.interval(unseen, budget=10**6)
    outputs = dormie.compile(of_words()).decision_function(unseen)
    assert (low.ravel() <= outputs).all()
    assert (outputs <= high.ravel()).all()
    *_, last = fast.anytime([unseen[0]])
    assert last.low <= outputs[0] <= last.high


def test_rows_of_words_that_were_trained_or_fitted_on_are_warned_of() -> None:
    machine, rows = of_words(), words(300, 5)
    with pytest.warns(TrainingRowsWarning, match="equal support vectors"):
        dormie.compile(machine, list(machine.points) + rows[:100], risk=0.1, effort="quick")
    with pytest.warns(TrainingRowsWarning, match="are among fit_rows"):
        dormie.compile(machine, rows, fit_rows=rows, risk=0.1, effort="quick")


def test_a_scaler_before_a_python_kernel_is_applied_once() -> None:
    X, y = moons(400, 0)
    X = 50 * X + 300
    model = make_pipeline(StandardScaler(), SVC(kernel=lambda a, b: np.exp(-np.square(a[:, None] - b).sum(axis=2))))
    model.fit(X, y)
    for method in ("fitted", "greedy"):
        tree = SupportVectorTree(model, method=method, random_state=0).fit(X)
        assert np.mean(tree.predict(X) == model.predict(X)) > 0.95
    np.testing.assert_array_equal(dormie.compile(model).predict(pd.DataFrame(X)), model.predict(X))


def test_graphs_can_be_told_and_compiled() -> None:
    graphs = [((0, 1), (1, 2)), ((0, 1),), ((0, 2), (1, 2), (0, 1))]

    def shared_edges(a: Any, b: Any) -> Floats:
        return np.array([[float(len(set(u) & set(v))) for v in b] for u in a])

    machine = Machine(Custom(shared_edges), graphs, np.array([1.0, -2.0, 0.5]), np.zeros(1), Sign(np.array([0, 1])))
    assert "3 points" in repr(machine)
    expected = (shared_edges(graphs, graphs) @ machine.weights[:, 0] >= 0).astype(int)
    np.testing.assert_array_equal(dormie.compile(machine).predict(graphs), expected)
    np.testing.assert_array_equal(SupportVectorTree(machine, method="greedy").fit(graphs * 5).predict(graphs), expected)


def test_numbers_of_things_stay_whole_numbers() -> None:
    gram = np.random.default_rng(0).normal(size=(20, 20))
    kernel = Custom(lambda a, b: gram[np.ix_(a, b)])
    machine = Machine(kernel, [3, 5, 8], np.array([1.0, -1.0, 0.5]), np.zeros(1), Sign(np.array([0, 1])))
    outputs = gram[:, [3, 5, 8]] @ machine.weights[:, 0]
    for rows in (list(range(20)), np.arange(20)):
        np.testing.assert_allclose(dormie.compile(machine).decision_function(rows), outputs)
        tree = SupportVectorTree(machine, method="greedy", leaf_rows=1, evaluations=None).fit(rows)
        assert np.corrcoef(tree.decision_function(rows), outputs)[0, 1] > 0.5


def test_one_string_is_not_many_rows_and_bad_values_are_said() -> None:
    tree = SupportVectorTree(of_words(), method="greedy").fit(words(100, 6))
    with pytest.raises(TypeError, match="X is one string, 'abcd'"):
        tree.predict("abcd")
    with np.errstate(invalid="ignore"):
        with pytest.raises(ValueError, match="row 1: the kernel has no finite value"):
            tree.predict(["abcd", "a"])  # a word without a pair of letters
        with pytest.raises(ValueError, match="row 2: the machine's output is"):
            tree.fit(["abcd", "dcba", "a"])


def test_stages_of_vectors_are_refused_for_words() -> None:
    with pytest.raises(ValueError, match="reduced_set makes vectors of its own"):
        dormie.compile(of_words(), methods=["reduced_set"])
    with pytest.raises(ValueError, match="linear_filter needs rows that are vectors"):
        dormie.compile(of_words(), words(300, 1), risk=0.1, methods=["linear_filter"])


def test_no_rows_of_words_are_said() -> None:
    with pytest.raises(ValueError, match="there are no rows in rows"):
        dormie.compile(of_words(), [], risk=0.1)


def test_as_few_words_as_a_risk_needs_will_do() -> None:
    fast, unseen = (
        dormie.compile(of_words(), words(29, 7), fit_rows=words(200, 8), risk=0.1, effort="quick"),
        words(300, 9),
    )
    assert np.mean(fast.predict(unseen) != dormie.compile(of_words()).predict(unseen)) < 0.1

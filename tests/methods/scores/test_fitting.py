"""Fitting scores: the gradient is the loss's own, and few vectors learn the answers of many."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.machine.rules import OneVsOneVote
from dormie.methods.scores.fitting import cross_entropy, fit, moved, usual_gap, with_more
from dormie.methods.scores.method import METHOD
from dormie.methods.scores.stage import Scores
from dormie.numerics.evaluate import FullSum
from tests.planner.risk.fittings import calibrated_fitting


def test_the_gradient_of_the_cross_entropy_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    scores, answers = 3 * rng.normal(size=(7, 4)), rng.integers(0, 4, 7)
    _, gradient = cross_entropy(scores, answers)
    for place in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[place] = 1e-6
        rise = cross_entropy(scores + step, answers)[0] - cross_entropy(scores - step, answers)[0]
        assert gradient[place] == pytest.approx(rise / 2e-6, abs=1e-8)


def test_the_cross_entropy_of_sure_and_of_undecided_scores() -> None:
    undecided, _ = cross_entropy(np.zeros((2, 5)), np.array([0, 3]))
    assert undecided == pytest.approx(np.log(5))
    sure, gradient = cross_entropy(np.array([[1000.0, 0.0, -1000.0]]), np.array([0]))
    assert sure == 0
    assert not gradient.any()
    wrong, gradient = cross_entropy(np.array([[1000.0, 0.0, -1000.0]]), np.array([2]))
    assert np.isfinite(wrong)
    np.testing.assert_array_equal(gradient, [[1, 0, -1]])


def test_moved_rows_are_moved_by_differences_of_rows_with_their_answer() -> None:
    """Answer 0 has rows along the first axis, 1 along the second, and 2 a single row, which cannot move."""
    answers = np.array([0, 1] * 20 + [2])
    rows = np.zeros((41, 2))
    rows[np.arange(40), answers[:40]] = np.random.default_rng(0).normal(size=40)
    found = moved(rows, answers, np.random.default_rng(1)) - rows
    assert not found[answers == 0, 1].any()
    assert not found[answers == 1, 0].any()
    assert not found[answers == 2].any()
    assert np.count_nonzero(found[np.arange(40), answers[:40]]) > 30
    assert np.abs(found.sum(axis=0)).max() < 1e-12  # every row is added once and taken off once


def test_more_rows_have_the_full_machines_answers() -> None:
    X, y = load_digits(return_X_y=True)
    machine = dormie.read(SVC(gamma=0.001).fit(X[:600], y[:600]))
    answers = machine.rule.answer(FullSum(machine).outputs(X[600:700]))
    rows, more = with_more(machine, X[600:700], answers, seed=0)
    assert len(rows) == len(more) == 700
    np.testing.assert_array_equal(rows[:100], X[600:700])
    np.testing.assert_array_equal(more, machine.rule.answer(FullSum(machine).outputs(rows)))


def test_the_usual_gap_is_the_mean_of_those_of_wrong_rows() -> None:
    scores = np.array([[3.0, 1.0, 0.0], [0.0, 5.0, 1.0], [2.0, 0.0, 1.0]])
    lengths = np.array([1.0, 2.0, 1.0])
    assert usual_gap(scores, np.array([1, 0, 0]), lengths) == pytest.approx(2.0)  # of 2 and 4 / 2
    assert usual_gap(scores, np.array([0, 1, 0]), lengths) == pytest.approx(1.0)  # none is wrong: the least


@pytest.mark.parametrize("options", [{"gamma": 0.001}, {"kernel": "poly", "degree": 3}])
def test_few_vectors_learn_the_answers_of_many(options: dict[str, object]) -> None:
    X, y = load_digits(return_X_y=True)
    machine = dormie.read(SVC(**options).fit(X[:900], y[:900]))
    right = machine.rule.answer(FullSum(machine).outputs(X))
    scores = fit(machine, 20, X[:900], right[:900], seed=0)
    found = Scores(machine, scores, 0.0).estimate(X[900:])
    assert np.mean(machine.rule.answer(found) == right[900:]) > 0.93


def test_the_same_seed_gives_the_same_scores() -> None:
    X, y = load_digits(return_X_y=True)
    machine = dormie.read(SVC(gamma=0.001).fit(X[:300], y[:300]))
    answers = machine.rule.answer(FullSum(machine).outputs(X[:300]))
    one, other = (fit(machine, 8, X[:300], answers, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_candidates_are_scores_where_they_save_outputs_or_are_named() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 4))
    y = np.argmax(X @ rng.normal(size=(4, 6)), axis=1)
    machine = dormie.read(SVC(gamma=0.1).fit(X[:600], y[:600]))
    assert isinstance(machine.rule, OneVsOneVote)
    found = [*METHOD.calibrated_candidates(calibrated_fitting(machine, X[600:1100], X[1100:], "quick", False))]
    assert [len(stage.scores.points) for stage in found if isinstance(stage, Scores)] == [32]
    wide = np.hstack([X, np.zeros((1600, 60))])  # 15 outputs for 64 features
    machine = dormie.read(SVC(gamma=0.1).fit(wide[:600], y[:600]))
    for named in (False, True):
        fitting = calibrated_fitting(machine, wide[600:1100], wide[1100:], "quick", named)
        assert any(METHOD.calibrated_candidates(fitting)) == named

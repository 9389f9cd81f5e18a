"""The champion: a settled answer is the vote's, whatever the guess, the ties and the rounding."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC, NuSVC

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial
from dormie.machine.rules import Argmax, OneVsOneVote
from dormie.methods.champion import Champion
from dormie.methods.champion.members import Members
from dormie.methods.dense import Dense
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.reduced_set.levels import Levels
from tests.methods.stages import on_numpy, traced
from tests.methods.votes import voting
from tests.oracles import full_sum as naive
from tests.properties import checks, strategies

KERNELS: tuple[Kernel, ...] = (RBF(0.3), Polynomial(0.5, 1.0, 3))


def _champion(machine: Machine, vectors: int = 20) -> Champion:
    """A guess of the first few points, with the best weights."""
    few = machine.points[:vectors]
    return Champion(machine, ReducedSet.project(machine, few, [len(few)]).levels)


def test_members_are_the_points_with_a_weight_in_one_of_the_pairs_of_a_class() -> None:
    machine, _ = voting(RBF(0.3), 4, 60)
    members = Members.of(machine)
    pairs = [*combinations(range(4), 2)]
    for k in range(4):
        needed = [i for i in range(60) if any(machine.weights[i, o] != 0 for o, pair in enumerate(pairs) if k in pair)]
        assert members.of_group(k).tolist() == needed
    assert len(members.members) < 4 * 60


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_settled_answers_are_those_of_the_vote_over_real_numbers(kernel: Kernel, break_ties: bool) -> None:
    machine, rows = voting(kernel, 4, 60, break_ties=break_ties)
    for stage in (_champion(machine), on_numpy(_champion(machine))):
        found = stage.decide(rows[:60])
        settled = np.flatnonzero(np.asarray(found.settled))
        assert 10 < len(settled) < 60
        for i, outputs in zip(settled, naive.exact_outputs(machine, rows[settled]), strict=True):
            with mpmath.workdps(50):
                won = naive.confidences(outputs, 4)
                assert found.answers[i] == (won.index(max(won)) if break_ties else naive.vote(outputs, 4))


@given(strategies.machines())
@settings(max_examples=60)
def test_settled_answers_are_those_of_the_full_sum(made: tuple[Machine, Floats]) -> None:
    machine, rows = made
    kernel = machine.kernel
    if not (isinstance(machine.rule, OneVsOneVote) and kernel.positive_semidefinite and kernel.has_derivative):
        with pytest.raises(ValueError, match=r"champion (needs|makes)"):
            Champion(machine, Levels.of(machine.points[:1], [machine.weights[:1]], machine.n_outputs))
        return
    if not machine.n_points:
        return
    stage, full = _champion(machine), Dense(machine).decide(rows)
    for found in (stage.decide(rows), on_numpy(stage).decide(rows)):
        settled = np.asarray(found.settled)
        np.testing.assert_array_equal(found.answers[settled], full.answers[settled])


@given(strategies.adversarial_machines())
@settings(max_examples=150)
def test_numbers_at_the_edges_of_floating_point_settle_nothing_wrongly(made: tuple[Machine, Floats]) -> None:
    machine, rows = made
    kernel = machine.kernel
    serves = isinstance(machine.rule, OneVsOneVote) and kernel.positive_semidefinite and kernel.has_derivative
    if not serves or not machine.n_points:
        return
    try:
        stage = _champion(machine)
    except (ValueError, CannotFit):  # no weights for the guess are to be had from such numbers
        return
    full = Dense(machine).decide(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        for found in (stage.decide(rows), on_numpy(stage).decide(rows)):
            settled = np.asarray(found.settled)
            np.testing.assert_array_equal(found.answers[settled], full.answers[settled])


@given(st.integers(0, 1000), st.sampled_from(KERNELS), st.booleans())
@settings(max_examples=30)
def test_native_and_numpy_agree(seed: int, kernel: Kernel, break_ties: bool) -> None:
    """But for rows so near to a boundary that float32 leaves them open."""
    machine, rows = voting(kernel, 5, 80, seed, break_ties=break_ties)
    mine, theirs = _champion(machine).decide(rows), on_numpy(_champion(machine)).decide(rows)
    settled = np.asarray(mine.settled)
    assert np.asarray(theirs.settled)[settled].all()
    assert np.mean(settled != theirs.settled) < 0.05
    np.testing.assert_array_equal(mine.answers[settled], np.asarray(theirs.answers)[settled])
    np.testing.assert_array_equal(np.asarray(mine.evaluations)[settled], np.asarray(theirs.evaluations)[settled])


def test_a_row_costs_the_guess_and_the_points_of_the_classes_guessed() -> None:
    """A second class is tried where the first is beaten."""
    machine, rows = voting(RBF(0.3), 6, 300)
    stage = _champion(machine)
    found, sizes = stage.decide(rows), np.diff(stage.members.starts)
    assert (sizes < 300).all()
    with np.errstate(over="ignore"):
        first = machine.rule.answer(stage.estimate(rows))
    settled, evaluations = np.asarray(found.settled), np.asarray(found.evaluations)
    at_once = settled & (found.answers == first)
    assert 0 < (settled & ~at_once).sum() < at_once.sum()
    np.testing.assert_array_equal(evaluations[at_once], 20 + sizes[first[at_once]])
    second = settled & ~at_once
    np.testing.assert_array_equal(evaluations[second], 20 + sizes[first[second]] + sizes[found.answers[second]])


def test_a_wrong_guess_settles_nothing() -> None:
    machine, rows = voting(RBF(0.3), 4, 100)
    right = Dense(machine).decide(rows).answers
    guess = Levels.of(machine.points[:1], [np.zeros((1, 6))], 6)
    found = Champion(machine, guess).decide(rows)  # its guess is the vote of the biases, the same for all rows
    settled = np.asarray(found.settled)
    assert 0 < settled.sum() < len(rows)
    np.testing.assert_array_equal(found.answers[settled], right[settled])


def test_a_rows_answer_does_not_depend_on_its_batch_its_form_or_threads() -> None:
    machine, rows = voting(RBF(0.3), 5, 400)
    rows[rows < 0.3] = 0
    stage = _champion(machine)
    whole = stage.decide(rows)
    single = [stage.decide(row[None]) for row in rows]
    many = traced(stage.native(1.0), np.resize(rows, (3000, 4)), 3)
    many_settled = many.answers >= 0
    for found in (
        [np.concatenate([getattr(each, name) for each in single]) for name in ("answers", "settled", "evaluations")],
        stage.decide(checks.csr(rows))[:3],
        stage.decide(checks.csr(rows, np.int64))[:3],
        stage.decide(np.asfortranarray(rows))[:3],
        [part[:200] for part in (many.answers, many_settled, many.evaluations)],
    ):
        for mine, theirs in zip(whole[:3], found, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("break_ties", [False, True])
def test_every_label_of_a_trained_model_is_its_own(break_ties: bool) -> None:
    X, y = load_digits(return_X_y=True)
    svc = SVC(gamma=0.001, break_ties=break_ties).fit(X[:800], y[:800])
    fast = dormie.compile(svc, X[:400], methods=["champion"], effort="quick")
    assert [stage.name for stage in fast.plan.stages] == ["champion", "dense"]
    np.testing.assert_array_equal(fast.predict(X), svc.predict(X))
    trace = fast.trace(X[800:])
    assert np.mean(trace.stage == "champion") > 0.9
    assert trace.evaluations.mean() < 0.75 * len(svc.support_)


def test_ties_of_whole_numbers_are_the_models_own() -> None:
    """Rows on the decision boundary: an output of 0 votes for the second class, with break_ties for the first."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 3)).astype(float)
    y = (X.sum(axis=1) + rng.integers(0, 2, 300)).astype(int) % 4
    for model in (SVC(kernel="linear"), SVC(kernel="poly", degree=2), SVC(break_ties=True), NuSVC(nu=0.05)):
        svc = model.fit(X, y)
        machine = dormie.read(svc)
        found = _champion(machine).decide(X)
        settled = np.asarray(found.settled)
        assert settled.any()
        np.testing.assert_array_equal(machine.rule.labels(found.answers[settled]), svc.predict(X)[settled])


@pytest.mark.parametrize("bias", [1.0, -1.0])
def test_a_class_without_points_wins_or_loses_by_its_biases(bias: float) -> None:
    machine, rows = voting(RBF(0.3), 4, 100)
    weights, biases = machine.weights.copy(), machine.bias.copy()
    weights[:, :3], biases[:3] = 0, bias  # the pairs of class 0
    bare = Machine(machine.kernel, machine.points, weights, biases, machine.rule)
    stage = _champion(bare)
    assert len(stage.members.of_group(0)) == 0
    found, full = stage.decide(rows), Dense(bare).decide(rows)
    settled = np.asarray(found.settled)
    assert settled.all() if bias > 0 else settled.any()
    np.testing.assert_array_equal(found.answers[settled], full.answers[settled])


def test_outputs_that_may_overflow_are_left_to_the_model_where_they_break_ties() -> None:
    """Sums of 1e307 in pairs of other classes overflow in scikit-learn, though no pair of the guess comes near that."""
    machine, rows = voting(RBF(0.3), 4, 100, break_ties=True)
    weights = machine.weights.copy()
    weights[:, 5] *= 1e307  # the pair of classes 2 and 3
    huge = Machine(machine.kernel, machine.points, weights, machine.bias, machine.rule)
    guess = ReducedSet.project(machine, machine.points[:20], [20]).levels
    assert np.asarray(Champion(machine, guess).decide(rows).settled).any()
    assert not np.asarray(Champion(huge, guess).decide(rows).settled).any()
    with np.errstate(over="ignore", invalid="ignore"):
        found, full = on_numpy(Champion(huge, guess)).decide(rows), Dense(huge).decide(rows)
    settled = np.asarray(found.settled)
    np.testing.assert_array_equal(found.answers[settled], full.answers[settled])


def test_machines_without_a_vote_of_three_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="champion needs a one-vs-one vote of three or more classes"):
        dormie.compile(SVC().fit(X, y == 1), methods=["champion"])
    with pytest.raises(ValueError, match="champion needs a kernel known to be positive semi-definite"):
        dormie.compile(SVC(kernel="sigmoid").fit(X, y), methods=["champion"])
    machine, _ = voting(RBF(0.3), 3, 30)
    rest = Machine(machine.kernel, machine.points, machine.weights, machine.bias, Argmax(np.arange(3)))
    with pytest.raises(ValueError, match="champion needs a one-vs-one vote"):
        Champion(rest, Levels.of(machine.points[:1], [machine.weights[:1]], 3))


def test_estimates_and_guesses_at_a_deadline_are_those_of_the_small_set() -> None:
    X, y = load_digits(return_X_y=True)
    fast = dormie.compile(SVC(gamma=0.001).fit(X[:800], y[:800]), methods=["champion"], effort="quick")
    stage = fast.plan.stages[0]
    assert isinstance(stage, Champion)
    assert fast.plan.guess is stage.guess is not None
    np.testing.assert_array_equal(stage.estimate(X), stage.guess.estimate(X))
    answers = fast.predict(X, deadline=10.0)
    assert answers.settled.all()
    np.testing.assert_array_equal(answers.labels, fast.predict(X))
    low, high = fast.interval(X[:5], budget=len(dormie.read(fast.plan.machine).points) - 1)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()  # partial sums serve, though the plan has a certified stage: it bounds nothing


def check_instruction_set() -> None:
    """Settled answers are right, at shapes that fill registers of all lengths."""
    for kernel in KERNELS:
        for classes, count in [(3, 1), (4, 33), (10, 300), (3, 600)]:
            machine, rows = voting(kernel, classes, count)
            found, full = _champion(machine).decide(rows), Dense(machine).decide(rows)
            settled = np.asarray(found.settled)
            np.testing.assert_array_equal(found.answers[settled], full.answers[settled])

"""Open pairs: what is believed is what half-widths leave clear, and what is open is the full sum's."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial
from dormie.machine.rules import Argmax, OneVsOneVote
from dormie.machine.typing import Integers
from dormie.methods import METHODS
from dormie.methods.champion.members import Members
from dormie.methods.dense import Dense
from dormie.methods.fitting import CannotFit
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.method import sets_of
from tests.methods.stages import on_numpy, traced
from tests.methods.votes import voting
from tests.oracles import full_sum as naive
from tests.planner.risk.fittings import calibrated_fitting
from tests.properties import checks, strategies

KERNELS: tuple[Kernel, ...] = (RBF(0.3), Polynomial(0.5, 1.0, 3))
ALL_OPEN = 1e6  # a half-width that nothing is clear of


def _stage(machine: Machine, half_width: float, vectors: int = 20) -> OpenPairs:
    """A guess of the first few points, with the best weights."""
    few = machine.points[:vectors]
    levels = ReducedSet.project(machine, few, [len(few)]).levels
    return OpenPairs(machine, levels, np.full((1, machine.n_outputs), half_width))


def _by_hand(stage: OpenPairs, rows: Floats, half_width: float) -> tuple[Integers, Integers]:
    """Answers and evaluations, row by row and pair by pair as the definition says; -1 is unsettled."""
    machine, rule = stage.machine, stage.machine.rule
    assert isinstance(rule, OneVsOneVote)
    pairs = list(zip(*rule.pairs, strict=True))
    sizes = (machine.weights != 0).sum(axis=0)
    exact = np.array([[float(output) for output in row] for row in naive.exact_outputs(machine, rows)])
    estimates = np.asarray(stage.estimate(rows))
    answers, evaluations = [], []
    lengths = np.sqrt(machine.kernel.diagonal(rows))
    for known, full, length in zip(estimates.copy(), exact, lengths, strict=True):
        is_open, spent, answer = np.abs(known) <= half_width * length, len(stage.guess.levels.points), -1
        k = naive.vote(known, len(rule.classes))
        for _ in range(3):
            own = {b if a == k else a: o for o, (a, b) in enumerate(pairs) if k in (a, b)}
            for o in own.values():
                if is_open[o]:
                    known[o], is_open[o], spent = full[o], False, spent + sizes[o]
            lead = {rival: known[o] if pairs[o][0] == k else -known[o] for rival, o in own.items()}
            worst = min(lead, key=lambda rival: lead[rival])
            if lead[worst] > 0:
                answer = k
                break
            k = worst
        answers.append(answer)
        evaluations.append(spent)
    return np.array(answers), np.array(evaluations)


def test_members_of_a_pair_are_the_points_with_a_weight_in_it() -> None:
    machine, _ = voting(RBF(0.3), 4, 60)
    members = Members.of_pairs(machine)
    for o in range(6):
        assert members.of_group(o).tolist() == [i for i in range(60) if machine.weights[i, o] != 0]


@pytest.mark.parametrize("half_width", [0.0, 0.3, ALL_OPEN])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_answers_are_those_of_the_definition(kernel: Kernel, half_width: float) -> None:
    machine, rows = voting(kernel, 5, 80)
    rows = rows[:60]
    answers, evaluations = _by_hand(_stage(machine, half_width), rows, half_width)
    assert 0.3 < (answers >= 0).mean() < 0.8
    for stage in (_stage(machine, half_width), on_numpy(_stage(machine, half_width))):
        found = stage.decide(rows)
        np.testing.assert_array_equal(found.answers, answers)
        np.testing.assert_array_equal(found.settled, answers >= 0)
        np.testing.assert_array_equal(found.evaluations, evaluations)


def test_a_caution_multiplies_half_widths() -> None:
    machine, rows = voting(RBF(0.3), 5, 80)
    once, twice = _stage(machine, 0.3), _stage(machine, 0.15)
    for mine, theirs in zip(once.decide(rows)[:3], twice.decide(rows, 2.0)[:3], strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("break_ties", [False, True])
def test_with_all_pairs_open_settled_answers_are_those_of_the_full_vote(break_ties: bool) -> None:
    machine, rows = voting(RBF(0.3), 6, 300, break_ties=break_ties)
    right = Dense(machine).decide(rows).answers
    found = _stage(machine, ALL_OPEN).decide(rows)
    settled = np.asarray(found.settled)
    assert 0.3 < settled.mean() < 0.8
    np.testing.assert_array_equal(found.answers[settled], right[settled])


@given(strategies.machines())
@settings(max_examples=60)
def test_settled_answers_are_those_of_the_full_sum_with_all_pairs_open(made: tuple[Machine, Floats]) -> None:
    """But for rows with an output so near to 0 that rounding decides."""
    machine, rows = made
    kernel = machine.kernel
    if not (isinstance(machine.rule, OneVsOneVote) and kernel.positive_semidefinite and kernel.has_derivative):
        levels = Levels.of(machine.points[:1], [machine.weights[:1]], machine.n_outputs)
        with pytest.raises(ValueError, match=r"open_pairs (needs|makes)"):
            OpenPairs(machine, levels, np.ones((1, machine.n_outputs)))
        return
    if not machine.n_points:
        return
    stage, full = _stage(machine, ALL_OPEN), Dense(machine).decide(rows)
    for found in (stage.decide(rows), on_numpy(stage).decide(rows)):
        differ = np.asarray(found.settled) & (found.answers != full.answers)
        outputs = naive.outputs(machine, rows[differ])
        assert (np.abs(outputs) <= 1e-4 * checks.sizes(machine, rows[differ])).any(axis=1).all()


@given(strategies.adversarial_machines())
@settings(max_examples=100)
def test_numbers_at_the_edges_of_floating_point_do_no_harm(made: tuple[Machine, Floats]) -> None:
    machine, rows = made
    kernel, rule = machine.kernel, machine.rule
    serves = kernel.positive_semidefinite and kernel.has_derivative and machine.n_points > 0
    if not isinstance(rule, OneVsOneVote) or not serves:
        return
    try:
        stage = _stage(machine, 1.0)
    except (ValueError, CannotFit):  # no weights for the guess are to be had from such numbers
        return
    found = stage.decide(rows)
    np.testing.assert_array_equal(found.answers >= 0, found.settled)
    assert (found.answers < len(rule.classes)).all()


@given(st.integers(0, 1000), st.sampled_from(KERNELS), st.booleans())
@settings(max_examples=30)
def test_native_and_numpy_agree(seed: int, kernel: Kernel, break_ties: bool) -> None:
    machine, rows = voting(kernel, 5, 80, seed, break_ties=break_ties)
    mine, theirs = _stage(machine, 0.3).decide(rows), on_numpy(_stage(machine, 0.3)).decide(rows)
    alike = (mine.answers == theirs.answers) & (np.asarray(mine.evaluations) == theirs.evaluations)
    assert alike.mean() > 0.98  # but for rows within rounding of a half-width or of 0


def test_a_rows_answer_does_not_depend_on_its_batch_its_form_or_threads() -> None:
    machine, rows = voting(RBF(0.3), 5, 400)
    rows[rows < 0.3] = 0
    stage = _stage(machine, 0.3)
    whole = stage.decide(rows)
    single = [stage.decide(row[None]) for row in rows]
    many = traced(stage.native(1.0), np.resize(rows, (3000, 4)), 3)
    for found in (
        [np.concatenate([getattr(each, name) for each in single]) for name in ("answers", "settled", "evaluations")],
        stage.decide(checks.csr(rows))[:3],
        stage.decide(checks.csr(rows, np.int64))[:3],
        stage.decide(np.asfortranarray(rows))[:3],
        [part[:200] for part in (many.answers, many.answers >= 0, many.evaluations)],
    ):
        for mine, theirs in zip(whole[:3], found, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_points_in_bytes_give_the_same_answers_for_one_row_and_for_many() -> None:
    rng = np.random.default_rng(0)
    machine, _ = voting(RBF(0.02), 4, 200)
    points = rng.integers(0, 256, size=(200, 150)) * (rng.random((200, 150)) < 0.2) / 255
    rows = rng.integers(0, 256, size=(300, 150)) * (rng.random((300, 150)) < 0.2) / 255
    pixels = Machine(RBF(0.02), points, machine.weights, machine.bias, machine.rule)
    stage = _stage(pixels, 0.1)
    whole = stage.decide(rows)
    single = np.concatenate([stage.decide(row[None]).answers for row in rows])
    np.testing.assert_array_equal(whole.answers, single)
    assert np.mean(whole.answers == on_numpy(stage).decide(rows).answers) > 0.98


# 11,175 pairs, of which a row has a middle and a radius each; there is room for many rows in the first call already.
MANY_CLASSES = """
import resource
import numpy as np
from dormie.machine.kernels import RBF
from dormie.methods.dense import Dense
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.reduced_set.levels import Levels
from tests.methods.votes import voting

machine, _ = voting(RBF(0.3), 150, 160)
levels = Levels.of(machine.points[:1], [machine.weights[:1]], machine.n_outputs)
stage = OpenPairs(machine, levels, np.ones((1, machine.n_outputs)))
Dense(machine).decide(machine.points[:1])
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (400 << 20), resource.RLIM_INFINITY))
stage.decide(np.random.default_rng(0).normal(size=(4000, 4)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is that of Linux")
def test_rows_of_many_classes_wait_in_little_memory() -> None:
    subprocess.run([sys.executable, "-c", MANY_CLASSES], check=True, env=os.environ | {"DORMIE_THREADS": "1"})


def test_candidates_guess_with_the_reduced_sets_that_were_fitted() -> None:
    X, y = load_digits(return_X_y=True)
    machine = dormie.read(SVC(gamma=0.002).fit(X[:1200], y[:1200]))
    fitting = calibrated_fitting(machine, X[:1200], X[1200:1500], "quick", named=True)
    sizes = [len(found.points) for found in sets_of(fitting)]
    [stage] = METHODS["open_pairs"].calibrated_candidates(fitting)
    assert sizes == [32, 128]
    assert stage.size == 32  # a guess of 128 vectors would not be cheap beside so few support vectors
    found, right = stage.decide(X[1500:], 4.0), Dense(machine).decide(X[1500:]).answers
    settled = np.asarray(found.settled)
    assert settled.mean() > 0.95
    assert np.mean(found.answers[settled] != right[settled]) < 0.01
    assert np.mean(found.evaluations) < 0.8 * machine.n_points


def test_machines_without_a_vote_of_three_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    rows: Any = np.repeat(X, 30, axis=0)
    with pytest.raises(ValueError, match="open_pairs needs a one-vs-one vote of three or more classes"):
        dormie.compile(SVC().fit(X, y == 1), rows, risk=0.01, methods=["open_pairs"])
    with pytest.raises(ValueError, match=r"open_pairs.*risk"):
        dormie.compile(SVC().fit(X, y), methods=["open_pairs"])
    machine, _ = voting(RBF(0.3), 3, 30)
    rest = Machine(machine.kernel, machine.points, machine.weights, machine.bias, Argmax(np.arange(3)))
    with pytest.raises(ValueError, match="open_pairs needs a one-vs-one vote"):
        OpenPairs(rest, Levels.of(machine.points[:1], [machine.weights[:1]], 3), np.ones((1, 3)))


def test_estimates_are_those_of_the_small_set() -> None:
    machine, rows = voting(RBF(0.3), 4, 100)
    stage = _stage(machine, 0.3)
    np.testing.assert_array_equal(stage.estimate(rows), stage.guess.estimate(rows))


def check_instruction_set() -> None:
    """With all pairs open, settled answers are right, at shapes that fill registers of all lengths."""
    for kernel in KERNELS:
        for classes, count in [(3, 1), (4, 33), (10, 300), (3, 600)]:
            machine, rows = voting(kernel, classes, count)
            found, full = _stage(machine, ALL_OPEN).decide(rows), Dense(machine).decide(rows)
            settled = np.asarray(found.settled)
            np.testing.assert_array_equal(found.answers[settled], full.answers[settled])

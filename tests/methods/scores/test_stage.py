"""Scores: a settled answer has a score ahead of all others by the gap, natively and in NumPy, however rows come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneVsOneVote, Sign
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from tests.methods.stages import on_numpy, traced
from tests.properties import checks

KERNELS: tuple[Kernel, ...] = (RBF(0.3), Polynomial(0.5, 1.0, 3))
SHAPES = [(3, 1), (4, 33), (10, 300), (15, 32), (26, 64), (40, 7)]  # classes and vectors


def _machine(kernel: Kernel, classes: int, vote: bool = True) -> Machine:
    rng = np.random.default_rng(classes)
    outputs = classes * (classes - 1) // 2 if vote else classes
    rule = OneVsOneVote(np.arange(classes)) if vote else Argmax(np.arange(classes))
    return Machine(kernel, rng.normal(size=(20, 4)), rng.normal(size=(20, outputs)), np.zeros(outputs), rule)


def _scores(classes: int, vectors: int) -> ScoreMachine:
    rng = np.random.default_rng([classes, vectors])
    shape = vectors, classes
    return ScoreMachine(rng.normal(size=(vectors, 4)), rng.normal(size=shape), rng.normal(size=classes))


def _stage(kernel: Kernel, classes: int, vectors: int, gap: float = 1.0, vote: bool = True) -> Scores:
    return Scores(_machine(kernel, classes, vote), _scores(classes, vectors), gap)


ROWS = np.random.default_rng(0).normal(size=(300, 4))


def _by_hand(stage: Scores, rows: Floats) -> tuple[Floats, Floats]:
    """The scores in extended precision, and sqrt(K(x,x)), from the kernel's formula."""
    x, z = rows.astype(np.longdouble), stage.scores.points.astype(np.longdouble)
    if isinstance(stage.machine.kernel, RBF):
        values = np.exp(-np.longdouble(0.3) * np.square(x[:, None] - z).sum(axis=2))
        own = np.ones(len(rows), dtype=np.longdouble)
    else:
        values, own = (0.5 * x @ z.T + 1) ** 3, (0.5 * np.square(x).sum(axis=1) + 1) ** 3
    return values @ stage.scores.weights + stage.scores.bias, np.sqrt(own)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("classes", "vectors"), SHAPES)
@pytest.mark.parametrize("caution", [0.0, 0.5, 2.0])
def test_rows_are_settled_where_one_score_is_ahead_by_the_gap(
    kernel: Kernel, classes: int, vectors: int, caution: float
) -> None:
    stage = _stage(kernel, classes, vectors)
    scores, lengths = _by_hand(stage, ROWS)
    largest = np.sort(scores, axis=1)
    ahead = (largest[:, -1] - largest[:, -2]) - caution * lengths
    clear = np.abs(ahead) > 1e-3 * np.abs(scores).max(axis=1)  # further from the gap than float32 rounds
    assert clear.mean() > 0.7
    for each in (stage, on_numpy(stage)):
        found = each.decide(ROWS, caution)
        np.testing.assert_array_equal(np.asarray(found.settled)[clear], (ahead > 0)[clear])
        settled = np.asarray(found.settled)
        np.testing.assert_array_equal(found.answers[settled], scores.argmax(axis=1)[settled])
        assert (np.asarray(found.evaluations) == vectors).all()


@given(classes=st.integers(3, 20), vectors=st.integers(1, 70), gap=st.floats(0, 5), vote=st.booleans(), data=st.data())
@settings(max_examples=40)
def test_native_decisions_are_those_of_the_twin(
    classes: int, vectors: int, gap: float, vote: bool, data: st.DataObject
) -> None:
    stage = _stage(data.draw(st.sampled_from(KERNELS)), classes, vectors, gap, vote)
    rows = ROWS * 10.0 ** data.draw(st.integers(-3, 2))
    mine, theirs = stage.decide(rows), on_numpy(stage).decide(rows)
    both = np.asarray(mine.settled) & np.asarray(theirs.settled)
    np.testing.assert_array_equal(mine.answers[both], theirs.answers[both])
    assert np.mean(np.asarray(mine.settled) != np.asarray(theirs.settled)) < 0.02  # by rounding


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_batches_layouts_types_and_threads_do_not_matter(kernel: Kernel) -> None:
    stage = _stage(kernel, 10, 100)
    rows = np.rint(4 * ROWS)
    whole = stage.decide(rows)
    assert 0 < np.mean(np.asarray(whole.settled)) < 1
    single = [stage.decide(row[None]) for row in rows]
    backwards = stage.decide(rows[::-1])
    many = traced(stage.native(1.0), np.resize(rows, (9000, 4)), 3)
    for found in (
        [np.concatenate([getattr(each, name) for each in single]) for name in ("answers", "settled", "evaluations")],
        [np.asarray(part)[::-1] for part in backwards[:3]],
        stage.decide(checks.csr(rows))[:3],
        stage.decide(rows.astype(np.float32))[:3],
        stage.decide(rows.astype(np.int8))[:3],
        stage.decide(np.asfortranarray(rows))[:3],
        [many.answers[:300], many.answers[:300] >= 0, many.evaluations[:300]],
    ):
        for mine, theirs in zip(whole[:3], found, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_equal_scores_settle_nothing(kernel: Kernel) -> None:
    made = _scores(3, 5)
    alike = ScoreMachine(made.points, np.repeat(made.weights[:, :1], 3, axis=1), np.zeros(3))
    stage = Scores(_machine(kernel, 3), alike, 0.0)
    for each in (stage, on_numpy(stage)):
        assert not np.asarray(each.decide(ROWS, 0.0).settled).any()


@pytest.mark.parametrize("size", [1e30, 1e200])
def test_scores_beyond_float32_settle_nothing_wrong(size: float) -> None:
    made = _scores(4, 20)
    huge = Scores(_machine(RBF(0.3), 4), ScoreMachine(made.points, made.weights * size, made.bias), 1.0)
    scores, _ = _by_hand(huge, ROWS)
    for each in (huge, on_numpy(huge)):
        with np.errstate(over="ignore", invalid="ignore"):
            found = each.decide(ROWS)
        settled = np.asarray(found.settled)
        np.testing.assert_array_equal(found.answers[settled], scores.argmax(axis=1)[settled])


def test_estimates_have_the_answers_of_the_scores() -> None:
    for vote in (True, False):
        stage = _stage(RBF(0.3), 5, 30, vote=vote)
        scores, _ = _by_hand(stage, ROWS)
        for each in (stage, on_numpy(stage)):
            estimate = each.estimate(ROWS)
            assert estimate.shape == (300, stage.machine.n_outputs)
            np.testing.assert_array_equal(stage.machine.rule.answer(estimate), scores.argmax(axis=1))
            largest = np.sort(scores, axis=1)
            np.testing.assert_allclose(stage.machine.rule.lead(estimate), largest[:, -1] - largest[:, -2], atol=1e-4)


def test_rows_before_an_input_map_are_mapped() -> None:
    plain = _stage(RBF(0.3), 4, 30)
    affine = Affine(np.arange(4.0), np.array([1.0, 2.0, 4.0, 0.5]))
    made = plain.machine
    mapping = Scores(Machine(made.kernel, made.points, made.weights, made.bias, made.rule, affine), plain.scores, 1.0)
    rows = ROWS * affine.scale + affine.center
    for each in (mapping, on_numpy(mapping)):
        found, due = each.decide(rows), plain.decide(affine(rows))
        assert np.mean(np.asarray(found.settled) != np.asarray(due.settled)) < 0.02
        both = np.asarray(found.settled) & np.asarray(due.settled)
        np.testing.assert_array_equal(found.answers[both], due.answers[both])


def test_a_plan_keeps_its_risk_and_says_what_it_does() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = np.tile(X, (4, 1)) + np.random.default_rng(0).normal(size=(4 * len(X), 64)), np.tile(y, 4)
    svc = SVC(gamma=0.001).fit(X[:1500], y[:1500])
    fast = dormie.compile(svc, X[1500:5500], risk=0.05, methods=["scores"], effort="quick")
    assert [stage.name for stage in fast.plan.stages] == ["scores", "dense"]
    assert "a score for each class" in fast.explain()
    assert np.mean(fast.predict(X[5500:]) != svc.predict(X[5500:])) < 0.05
    assert np.mean(fast.trace(X[5500:]).stage == "scores") > 0.5
    assert fast.predict(X[5500:], deadline=10.0).settled.all()


def test_machines_without_three_classes_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    rows = np.tile(X, (10, 1))
    with pytest.raises(ValueError, match="scores serves classifiers of three or more classes only"):
        dormie.compile(SVC().fit(X, y == 1), rows, risk=0.1, methods=["scores"])
    with pytest.raises(ValueError, match="scores needs a kernel known to be positive semi-definite"):
        dormie.compile(SVC(kernel="sigmoid").fit(X, y), rows, risk=0.1, methods=["scores"])
    sign = Machine(RBF(0.3), np.ones((2, 4)), np.ones(2), 0.0, Sign([0, 1]))
    with pytest.raises(ValueError, match="scores serves classifiers of three or more classes only"):
        Scores(sign, _scores(3, 2), 1.0)
    sigmoid = _machine(Sigmoid(0.3, 0.0), 3)
    with pytest.raises(ValueError, match="scores needs a kernel known to be positive semi-definite"):
        Scores(sigmoid, _scores(3, 2), 1.0)


@pytest.mark.parametrize("gap", [-1.0, np.nan, np.inf])
def test_a_gap_that_is_none_is_refused(gap: float) -> None:
    with pytest.raises(ValueError, match="scores: gap must be finite and not negative"):
        _stage(RBF(0.3), 3, 5, gap)


def check_instruction_set() -> None:
    """Settled answers are right, at shapes that fill registers of all lengths."""
    for kernel in KERNELS:
        for classes, vectors in SHAPES:
            stage: Any = _stage(kernel, classes, vectors)
            scores, _ = _by_hand(stage, ROWS)
            found = stage.decide(ROWS)
            settled = np.asarray(found.settled)
            np.testing.assert_array_equal(found.answers[settled], scores.argmax(axis=1)[settled])

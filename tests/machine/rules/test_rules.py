"""Rules: answers against the definitions and against scikit-learn; `settled` against brute force over boxes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value, one_class_sign
from dormie.methods.dense import Dense
from tests.methods.stages import traced
from tests.oracles import full_sum as naive
from tests.oracles import source_sum as naive_source
from tests.properties.checks import core
from tests.properties.strategies import by_hand

RULES: dict[str, tuple[Rule, int]] = {
    "sign, zero is second": (Sign(np.array(["no", "yes"])), 1),
    "one class": (one_class_sign(), 1),
    "vote of 2": (OneVsOneVote(np.arange(2)), 1),
    "vote of 3": (OneVsOneVote(np.arange(3)), 3),
    "vote of 4": (OneVsOneVote(np.arange(4)), 6),
    "vote of 3, ties broken": (OneVsOneVote(np.arange(3), break_ties=True), 3),
    "vote of 4, ties broken": (OneVsOneVote(np.arange(4), break_ties=True), 6),
    "first largest of 3": (Argmax(np.arange(3)), 3),
    "last largest of 4": (Argmax(np.arange(4), last_of_equal=True), 4),
}
every_rule = pytest.mark.parametrize(("rule", "outputs"), RULES.values(), ids=RULES)

# Few distinct values, so that ends meet, and zeros and ties are common.
_VALUES = st.sampled_from([-1.0, -0.5, -0.0, 0.0, 5e-324, 0.5, 1.0])


def _naive_answer(rule: Rule, outputs: Any) -> int:
    match rule:
        case Sign():
            return naive.sign(outputs, rule.zero)
        case OneVsOneVote(break_ties=True):
            values = naive.confidences(outputs, len(rule.classes))
            return values.index(max(values))
        case OneVsOneVote():
            return naive.vote(outputs, len(rule.classes))
        case Argmax():
            return naive.argmax(outputs, rule.last_of_equal)
    raise TypeError(rule)


def _judge(rule: Rule, outputs: Floats) -> Any:
    """The native core's answers at given outputs: a machine that is nothing but its bias, once a row."""
    machines = [by_hand(RBF(1.0), np.zeros((0, 1)), np.zeros((0, len(g))), g, rule) for g in outputs]
    stages = (core(machine).float32_stage(False) for machine in machines)
    return np.array([traced(stage, np.zeros((1, 1)), 1).answers[0] for stage in stages])


@every_rule
@given(data=st.data())
def test_answers_are_the_definition_in_numpy_and_in_the_native_core(
    rule: Rule, outputs: int, data: st.DataObject
) -> None:
    g = np.array(data.draw(st.lists(st.lists(_VALUES, min_size=outputs, max_size=outputs), min_size=1, max_size=4)))
    expected = [_naive_answer(rule, row) for row in g.tolist()]
    assert rule.answer(g).tolist() == expected
    assert _judge(rule, g).tolist() == expected


@every_rule
@given(data=st.data())
def test_overflowed_outputs_have_the_answer_of_the_machines_own_sum(
    rule: Rule, outputs: int, data: st.DataObject
) -> None:
    """A bias must be finite, so NaN and infinity are made by two points whose weights overflow."""
    wild = st.lists(st.sampled_from([-1e308, -1.0, 0.0, 1.0, 1e308]), min_size=outputs, max_size=outputs)
    weights, bias = np.array(data.draw(wild)), np.array(data.draw(wild)) / 1e8
    machine = by_hand(RBF(1.0), np.zeros((3, 1)), [weights, weights, -weights], bias, rule)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = rule.answer(naive_source.outputs(machine, np.zeros((1, 1))))
        assert Dense(machine).decide(np.zeros((1, 1))).answers.tolist() == expected.tolist()


def _points_of(low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Every corner of a box, and points inside it: at the middle, at zero where that is inside, and anywhere."""
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(len(low), -1).T
    inner = rng.uniform(low, high, size=(50, len(low)))
    ends = np.where(rng.random((50, len(low))) < 0.5, low, high)
    mixed = np.where(rng.random((50, len(low))) < 0.5, np.clip(0.0, low, high), ends)
    return np.vstack([corners, inner, ends, mixed, (low + high)[None] / 2])


@pytest.mark.parametrize(("classes", "rows"), [(2, 5000), (3, 5000), (10, 3000), (40, 200), (370, 2), (5, 0)])
def test_votes_and_confidences_of_any_number_of_classes_are_the_definition_to_the_bit(classes: int, rows: int) -> None:
    """More rows than are counted at once, and more outputs than that in one row; sums in the order of pairs."""
    pairs = classes * (classes - 1) // 2
    outputs = np.random.default_rng(classes).normal(size=(rows, pairs)).round(3)
    some = slice(None, None, max(1, rows // 50))
    listed = outputs[some].tolist()
    rule = OneVsOneVote(np.arange(classes))
    assert rule.answer(outputs)[some].tolist() == [naive.vote(g, classes) for g in listed]
    assert rule.decision(outputs)[some].tolist() == [naive.confidences(g, classes) for g in listed]


def test_many_classes_take_no_more_memory_than_a_few_times_their_outputs() -> None:
    classes = 300
    outputs = np.random.default_rng(0).normal(size=(2, classes * (classes - 1) // 2))
    for rule in (OneVsOneVote(np.arange(classes)), OneVsOneVote(np.arange(classes), break_ties=True)):
        for work in (rule.answer, rule.decision, lambda g, rule=rule: rule.settled(g - 1, g + 1)):
            tracemalloc.start()
            work(outputs)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 12 * outputs.nbytes


@every_rule
@given(data=st.data())
def test_settled_means_one_answer_throughout_the_box(rule: Rule, outputs: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a, b = (np.array(data.draw(st.lists(_VALUES, min_size=outputs, max_size=outputs))) for _ in range(2))
    low, high = np.minimum(a, b), np.maximum(a, b)
    if rule.settled(low[None], high[None])[0]:
        assert len(set(rule.answer(_points_of(low, high, rng)).tolist())) == 1


@every_rule
@given(seed=st.integers(0, 2**32 - 1))
def test_narrow_boxes_away_from_ties_are_settled(rule: Rule, outputs: int, seed: int) -> None:
    g = np.random.default_rng(seed).permutation(np.linspace(-1, 1, 2 * outputs))[None, :outputs]
    settled = rule.settled(g - 1e-9, g + 1e-9)[0]
    votes_tie = isinstance(rule, OneVsOneVote) and rule.break_ties and len(set(_votes(g[0], rule))) < len(rule.classes)
    assert settled or votes_tie


def _votes(g: Floats, rule: OneVsOneVote) -> list[int]:
    return [int(value) for value in rule._votes((g > 0)[None], (g <= 0)[None])[0]]


@pytest.mark.parametrize(("rule", "outputs"), [v for k, v in RULES.items() if "broken" not in k])
def test_a_box_that_is_a_single_point_is_settled_unless_largest_outputs_tie(rule: Rule, outputs: int) -> None:
    g = np.zeros((1, outputs))
    assert rule.settled(g, g)[0] == (not isinstance(rule, Argmax))


def test_a_vote_is_settled_while_outputs_that_cannot_matter_are_open() -> None:
    rule = OneVsOneVote(np.arange(3))  # pairs 01, 02, 12
    low, high = np.array([[1.0, 1.0, -9.0]]), np.array([[2.0, 2.0, 9.0]])
    assert rule.settled(low, high)[0]
    assert not rule.settled(np.array([[-1.0, 1.0, -9.0]]), high)[0]


@every_rule
def test_nothing_is_settled_by_nan_or_by_everything(rule: Rule, outputs: int) -> None:
    for low, high in ((np.nan, np.nan), (-np.inf, np.inf), (np.nan, 1.0)):
        assert not rule.settled(np.full((2, outputs), low), np.full((2, outputs), high)).any()


def test_a_value_is_settled_within_its_tolerance() -> None:
    rule = Value(tolerance=0.5, flat=False)
    low = np.array([[0.0, 0.0], [0.0, 0.0]])
    assert rule.settled(low, np.array([[1.0, 1.0], [1.0, 1.1]])).tolist() == [True, False]
    assert not Value().settled(low[:, :1], low[:, :1] + 1e-300).any()


@pytest.mark.parametrize("tolerance", [-0.1, np.inf, np.nan])
def test_a_tolerance_is_finite_and_not_negative(tolerance: float) -> None:
    with pytest.raises(ValueError, match=f"tolerance must be finite and not negative, got {tolerance}"):
        Value(tolerance)


def test_votes_of_many_classes_take_no_more_room_than_their_outputs() -> None:
    rule = OneVsOneVote(np.arange(400))
    outputs = np.random.default_rng(0).normal(size=(3, 79_800))
    tracemalloc.start()
    try:
        rule.answer(outputs)
        assert tracemalloc.get_traced_memory()[1] < 10 * outputs.nbytes
    finally:
        tracemalloc.stop()
    assert [sum(row) for row in rule._votes(outputs > 0, outputs <= 0)] == [79_800] * 3


def _tied_svc(**options: Any) -> tuple[SVC, Floats]:
    """A four-class SVC on a grid, where whole lines of rows have equal votes."""
    X, y = make_blobs(80, centers=[[-2, 0], [2, 0], [0, 2], [0, -2]], cluster_std=1.0, random_state=3)
    model = SVC(kernel="linear", C=0.05, **options).fit(np.round(X), y)
    grid = np.array(np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41))).reshape(2, -1).T
    return model, grid


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_votes_and_decision_values_are_scikit_learns(shape: str) -> None:
    model, rows = _tied_svc(decision_function_shape=shape)
    outputs = SVC.decision_function(model.set_params(decision_function_shape="ovo"), rows)
    model.set_params(decision_function_shape=shape)
    rule = OneVsOneVote(model.classes_, shape=shape)
    np.testing.assert_array_equal(rule.labels(rule.answer(outputs)), model.predict(rows))
    np.testing.assert_allclose(rule.decision(outputs), model.decision_function(rows), rtol=0, atol=1e-12)
    tied = [sorted(_votes(g, rule))[-1] == sorted(_votes(g, rule))[-2] for g in outputs]
    assert sum(tied) > 10


def test_ties_are_broken_as_scikit_learn_breaks_them() -> None:
    model, rows = _tied_svc(break_ties=True)
    outputs = model.set_params(decision_function_shape="ovo", break_ties=False).decision_function(rows)
    model.set_params(decision_function_shape="ovr", break_ties=True)
    rule = OneVsOneVote(model.classes_, break_ties=True)
    np.testing.assert_array_equal(rule.labels(rule.answer(outputs)), model.predict(rows))
    plain = OneVsOneVote(model.classes_)
    assert (plain.answer(outputs) != rule.answer(outputs)).any()


@pytest.mark.parametrize(
    ("rule", "outputs", "message"),
    [
        (Sign(np.array([0, 1])), 2, "Sign reads one output, the machine has 2"),
        (OneVsOneVote(np.arange(4)), 4, "4 classes reads 6 outputs, the machine has 4"),
        (Argmax(np.arange(3)), 2, "3 classes reads as many outputs, the machine has 2"),
        (Value(), 2, "flat answers need one output, the machine has 2; pass flat=False"),
    ],
)
def test_a_rule_refuses_outputs_it_cannot_read(rule: Rule, outputs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule.check_outputs(outputs)


@every_rule
@given(st.data())
def test_no_change_smaller_than_the_lead_changes_the_answer(rule: Rule, outputs: int, data: st.DataObject) -> None:
    """Where all pairs of a vote's winner are won; a winner that lost a pair has a negative lead."""
    values = st.floats(-10, 10, allow_nan=False)
    row = np.array([data.draw(st.lists(values, min_size=outputs, max_size=outputs))])
    [lead] = rule.lead(row)
    change = data.draw(st.lists(st.floats(-0.49, 0.49), min_size=outputs, max_size=outputs))
    moved = row + np.array([change]) * max(lead, 0.0)
    assert rule.answer(moved) == rule.answer(row)


def test_the_lead_is_the_distance_to_the_runner_up() -> None:
    assert Sign(np.array([0, 1])).lead(np.array([[-2.0], [0.5]])).tolist() == [2.0, 0.5]
    assert Argmax(np.arange(3)).lead(np.array([[1.0, 4.0, 2.5]])).tolist() == [1.5]
    vote = OneVsOneVote(np.arange(3))  # pairs 01, 02, 12
    assert vote.lead(np.array([[3.0, 1.0, -9.0], [-1.0, 5.0, 2.0]])).tolist() == [1.0, 1.0]
    assert vote.lead(np.array([[1.0, -2.0, 3.0]])).tolist() == [-2.0]  # all have one vote: 0 wins, and lost to 2
    assert Value().lead(np.array([[7.0]])).tolist() == [0.0]

"""Votes of members, against counting one by one; settled votes hold for all outputs between, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine.rules import Argmax, ClassRule, MostProbable, OneVsOneVote, Sign
from dormie.machine.rules.probability import Among, Platt, Votes
from dormie.machine.rules.probability.calibrated import Calibrated

_NUMBERS = st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0])
_WEIGHTS = st.lists(st.sampled_from([0.1, 0.2, 0.3, 1.0, 0.0, 2.5]), min_size=4, max_size=4)


@st.composite
def votes(draw: Any) -> Votes:
    """A few members that know all of four classes, or two or three of them."""
    kinds: dict[int, tuple[Any, ...]] = {2: (Sign,), 3: (Argmax, OneVsOneVote), 4: (Argmax, OneVsOneVote)}
    members: list[ClassRule] = []
    for _ in range(draw(st.integers(1, 4))):
        known = sorted(draw(st.sets(st.integers(0, 3), min_size=2, max_size=4)))
        members.append(draw(st.sampled_from(kinds[len(known)]))(np.array(known)))
    weights = draw(_WEIGHTS)[: len(members)] if draw(st.booleans()) else []
    return Votes(tuple(members), 4, tuple(weights) if sum(weights) else ())


def _counted(found: Votes, outputs: list[float]) -> list[float]:
    """The votes for each class, one member after the other."""
    totals, rest = [0.0] * found.n_classes, list(outputs)
    for number, member in enumerate(found.members):
        known = member.classes.tolist()
        pairs = len(known) * (len(known) - 1) // 2
        count = len(known) if isinstance(member, Argmax) else pairs
        mine, rest = rest[:count], rest[count:]
        totals[known[_winner(member, mine)]] += found.weights[number] if found.weights else 1.0
    return totals


def _winner(member: ClassRule, mine: list[float]) -> int:
    k = len(member.classes)
    if isinstance(member, Sign):
        return 1 if mine[0] >= 0 else 0
    if isinstance(member, Argmax):
        return mine.index(max(mine))
    wins, pair = [0] * k, iter(mine)
    for a in range(k):
        for b in range(a + 1, k):
            wins[a if next(pair) > 0 else b] += 1
    return wins.index(max(wins))


@given(found=votes(), data=st.data())
@settings(max_examples=200)
def test_votes_are_counted(found: Votes, data: Any) -> None:
    outputs = data.draw(st.lists(_NUMBERS, min_size=found.n_outputs, max_size=found.n_outputs))
    expected = _counted(found, outputs)
    row = np.array([outputs])
    assert found.ranked(row)[0].tolist() == expected
    total = sum(found.weights) if found.weights else len(found.members)
    np.testing.assert_allclose(found.values(row)[0], np.array(expected) / total, rtol=1e-15)
    assert MostProbable(np.arange(4), found).answer(row)[0] == expected.index(max(expected))


@given(found=votes(), data=st.data())
@settings(max_examples=200)
def test_a_settled_answer_is_that_of_all_outputs_between(found: Votes, data: Any) -> None:
    c = found.n_outputs
    middle = np.array([data.draw(st.lists(_NUMBERS, min_size=c, max_size=c))])
    half = np.array([data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.5, 4.0]), min_size=c, max_size=c))])
    low, high = middle - half, middle + half
    rule = MostProbable(np.arange(4), found)
    least, most = found.bounds(low, high)
    settled = rule.settled(low, high)[0]
    for share in (0.0, 0.25, 0.5, 1.0):
        inside = np.clip(low + share * (high - low), low, high)
        assert (least <= found.values(inside)).all()
        assert (found.values(inside) <= most).all()
        assert not settled or rule.answer(inside)[0] == rule.answer(middle)[0]


def test_equal_votes_are_settled_for_the_first_class() -> None:
    found = Votes((Sign(np.array([0, 1])),) * 4, 2)
    rule, outputs = MostProbable(np.array(["a", "b"]), found), np.array([[1.0, 1.0, -1.0, -1.0]])
    assert rule.settled(outputs - 0.5, outputs + 0.5).tolist() == [True]
    assert rule.labels(rule.answer(outputs)).tolist() == ["a"]


def test_sums_of_weights_are_not_rounded_to_equal_ones() -> None:
    """0.1 + 0.2 is more than 0.3, in scikit-learn too, though both are half of 0.6."""
    found = Votes((Sign(np.array([0, 1])),) * 3, 2, (0.1, 0.2, 0.3))
    assert MostProbable(np.arange(2), found).answer(np.array([[1.0, 1.0, -1.0]])).tolist() == [1]


@pytest.mark.parametrize(
    ("members", "count", "weights", "message"),
    [
        ((), 2, (), "at least one"),
        ((Sign(np.array([0, 2])),), 2, (), "positions of classes, 0 to 1"),
        ((Sign(np.array([0, 1])),), 10**9, (), "at most 1,000 classes"),
        ((Sign(np.array(["a", "b"])),), 2, (), "positions of classes"),
        ((Sign(np.array([0, 1])),), 2, (1.0, 1.0), "as many weights"),
        ((Sign(np.array([0, 1])),), 2, (0.0,), "not all 0"),
        ((Sign(np.array([0, 1])),), 2, (np.nan,), "finite"),
    ],
)
def test_what_does_not_fit_is_refused(members: Any, count: int, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Votes(members, count, weights)


def test_probabilities_of_some_classes_have_their_places() -> None:
    inner = Calibrated(Sign(np.arange(2)), (Platt(-1.0, 0.0),))
    found = Among(inner, (1, 3), 4)
    values = found.values(np.array([[0.0]]))
    np.testing.assert_array_equal(values, [[0.0, 0.5, 0.0, 0.5]])
    for places, count in (((1,), 4), ((1, 1), 4), ((1, 4), 4), ((0, 1), 10**9)):
        with pytest.raises(ValueError, match="Among"):
            Among(inner, places, count)

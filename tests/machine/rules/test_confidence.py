"""The rule of OneVsOneClassifier, against scikit-learn's own function of votes and confidences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.multiclass import _ovr_decision_function

from dormie.machine.rules import DecisionValue, OneVsOneConfidence, decision_values

_NUMBERS = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 0.0, 1.0, -1.0])


@st.composite
def cases(draw: Any) -> tuple[OneVsOneConfidence, Any, Any]:
    """A rule, outputs, and half-widths."""
    k = draw(st.integers(2, 5))
    c = k * (k - 1) // 2
    outputs = np.array(draw(st.lists(st.lists(_NUMBERS, min_size=c, max_size=c), min_size=1, max_size=4)))
    half = np.array(draw(st.lists(st.sampled_from([0.0, 1e-12, 0.3, 2.0, 1e4]), min_size=c, max_size=c)))
    return OneVsOneConfidence(np.arange(k), draw(st.integers(0, 1))), outputs, half


def _values(rule: OneVsOneConfidence, outputs: Any) -> Any:
    votes = outputs >= 0 if rule.zero else outputs > 0
    return _ovr_decision_function(votes.astype(int), outputs, len(rule.classes))


@given(case=cases())
def test_answers_and_decision_values_are_scikit_learns_to_the_bit(case: Any) -> None:
    rule, outputs, _ = case
    values = _values(rule, outputs)
    two = len(rule.classes) == 2
    np.testing.assert_array_equal(rule.decision(outputs), values[:, 1] if two else values)
    np.testing.assert_array_equal(rule.answer(outputs), values[:, 1] > 0 if two else values.argmax(axis=1))


@given(case=cases(), share=st.floats(0, 1))
def test_a_settled_answer_is_that_of_all_outputs_between(case: Any, share: float) -> None:
    rule, outputs, half = case
    low, high = outputs - half, outputs + half
    settled = rule.settled(low, high)
    least, most = rule.decision_bounds(low, high)
    for inside in (low, high, outputs, np.clip(low + share * (high - low), low, high)):
        assert (rule.answer(inside) == rule.answer(outputs))[settled].all()
        found = rule.decision(inside).reshape(len(outputs), -1)
        assert (least <= found).all()
        assert (found <= most).all()


def test_clear_answers_are_settled() -> None:
    rule = OneVsOneConfidence(["a", "b", "c"])
    outputs = np.array([[-1.0, -1.0, 1.0], [-1.0, 2.0, -3.0], [1.0, 1.0, 1.0]])
    assert rule.settled(outputs - 0.01, outputs + 0.01).tolist() == [True, True, True]
    assert rule.settled(outputs - 5, outputs + 5).tolist() == [False, False, False]
    assert (rule.lead(outputs) > 0).all()


def test_zeros_vote_as_estimators_answer() -> None:
    zeros = np.zeros((1, 1))
    assert [OneVsOneConfidence([0, 1], zero).answer(zeros)[0] for zero in (0, 1)] == [0, 1]
    assert OneVsOneConfidence([0, 1], 1).settled(zeros, zeros + 1).tolist() == [True]
    assert OneVsOneConfidence([0, 1], 0).settled(zeros, zeros + 1).tolist() == [False]


def test_its_decision_values_have_a_rule() -> None:
    rule = decision_values(OneVsOneConfidence(np.arange(3)), 3, 0.1)
    assert isinstance(rule, DecisionValue)
    assert rule.n_values(3) == 3


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="zero must be 0 or 1"):
        OneVsOneConfidence([0, 1], 2)
    with pytest.raises(ValueError, match="reads 3 outputs"):
        OneVsOneConfidence([0, 1, 2]).check_outputs(2)

"""The rules of thresholds, of scores and of decision values, against direct comparisons."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dormie.machine.rules import (
    DecisionValue,
    OneVsOneVote,
    Probability,
    Score,
    Sign,
    Threshold,
    Value,
    ValueRule,
    decision_values,
)
from dormie.machine.rules.probability import Calibrated, Coupled, Platt

_NUMBERS = st.floats(-1e3, 1e3)
_PROBABILITY = Probability(Calibrated(Sign(np.arange(2)), (Platt(-1.5, 0.25),)))
_OF: list[tuple[ValueRule, int]] = [(Value(), 0), (Score(0.1), 0), (_PROBABILITY, 0), (_PROBABILITY, 1)]


@given(
    of=st.sampled_from(_OF),
    outputs=arrays(np.float64, (5, 1), elements=_NUMBERS),
    radius=st.floats(0, 10),
    where=st.floats(0, 1),
    at_a_value=st.booleans(),
    above=st.sampled_from([0, 1]),
    equal=st.sampled_from([0, 1]),
)
def test_a_settled_threshold_has_the_answer_of_every_output_between(
    of: tuple[ValueRule, int], outputs: Any, radius: float, where: float, at_a_value: bool, above: int, equal: int
) -> None:
    values, column = of
    threshold = float(values.values(outputs)[0, column]) if at_a_value else where
    rule = Threshold(np.array(["no", "yes"]), values, threshold, column, above, equal)
    between = values.values(outputs)[:, column]
    expected = [equal if v == threshold else above if v > threshold else 1 - above for v in between]
    assert rule.answer(outputs).tolist() == expected
    settled = rule.settled(outputs - radius, outputs + radius)
    for inside in (outputs - radius, outputs, outputs + radius, outputs + radius / 3):
        assert (rule.answer(inside)[settled] == rule.answer(outputs)[settled]).all()
    if radius == 0 and isinstance(values, Value):
        assert settled.all()


@given(outputs=arrays(np.float64, (4, 3), elements=_NUMBERS), radius=st.floats(0, 10), part=st.floats(-1, 1))
def test_bounds_of_decision_values_contain_them(outputs: Any, radius: float, part: float) -> None:
    rule = decision_values(OneVsOneVote(np.arange(3)), 3, 0.1)
    assert isinstance(rule, DecisionValue)
    low, high = rule.bounds(outputs - radius, outputs + radius)
    found = rule.values(np.clip(outputs + part * radius, outputs - radius, outputs + radius))
    assert (low <= found).all()
    assert (found <= high).all()
    assert rule.n_values(3) == 3


def test_values_differ_where_they_are_further_apart_than_the_tolerance() -> None:
    found, right = np.array([[1.0, 2.0], [1.0, 2.2], [np.inf, 0.0], [np.nan, 0.0]]), np.array([[1.1, 2.0]] * 4)
    right[2] = np.inf, 0.0
    assert Value(0.15, flat=False).differ(found, right).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Threshold(np.arange(3), Value(), 0.0), "two classes"),
        (lambda: Threshold(np.arange(2), Value(), np.nan), "threshold must be finite"),
        (lambda: Threshold(np.arange(2), Value(), 0.0, column=1).check_outputs(1), "column 1 of 1"),
        (lambda: Threshold(np.arange(2), Value(), 0.0, above=2), "above and equal in"),
        (lambda: Threshold(np.arange(2), Probability(Coupled(np.ones(1), np.ones(1), (0, 1))), 0.5), "never settle"),
        (lambda: Score(np.inf), "offset and tolerance must be finite"),
        (lambda: Score(0.0).check_outputs(2), "reads one output"),
        (lambda: DecisionValue(Sign(np.arange(2)), -1.0), "not negative"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_rules_of_other_rules_need_those() -> None:
    with pytest.raises(TypeError, match="of must be a rule of values"):
        Threshold(np.arange(2), Sign(np.arange(2)), 0.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rule of a classifier"):
        DecisionValue(Value())  # type: ignore[arg-type]


def test_thresholds_are_pickled() -> None:
    rule = Threshold(np.array(["no", "yes"]), _PROBABILITY, 0.3, column=1)
    assert pickle.loads(pickle.dumps(rule)) == rule

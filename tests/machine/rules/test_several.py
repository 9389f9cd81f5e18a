"""The rule of several columns of labels, against the rules of its columns one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine.rules import Argmax, OneVsOneConfidence, OneVsOneVote, SeveralLabels, Sign, Value

_NUMBERS = st.floats(-10, 10) | st.sampled_from([0.0, 0.0, 1.0, -1.0])
_COLUMNS = st.sampled_from(
    [
        (Sign(["no", "yes"]), 1),
        (Sign([3, 5], zero=0), 1),
        (Argmax(["a", "b", "c"]), 3),
        (OneVsOneVote([0.5, 1.5, 2.5]), 3),
        (OneVsOneConfidence([7, 8, 9], 1), 3),
    ]
)


@st.composite
def cases(draw: Any) -> tuple[SeveralLabels, Any, Any]:
    """A rule, outputs, and half-widths."""
    columns = draw(st.lists(_COLUMNS, min_size=1, max_size=6))
    rule = SeveralLabels([rule for rule, _ in columns], [width for _, width in columns])
    numbers = st.lists(_NUMBERS, min_size=sum(rule.widths), max_size=sum(rule.widths))
    outputs = np.array(draw(st.lists(numbers, min_size=1, max_size=4)))
    half = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.3, 2.0]), min_size=len(outputs[0]), max_size=len(outputs[0])))
    )
    return rule, outputs, half


def _split(rule: SeveralLabels, outputs: Any) -> list[Any]:
    return np.split(outputs, np.cumsum(rule.widths)[:-1], axis=1)


@given(case=cases())
def test_each_column_has_the_labels_of_its_own_rule(case: Any) -> None:
    rule, outputs, half = case
    expected = [
        each.labels(each.answer(part)).tolist() for each, part in zip(rule.rules, _split(rule, outputs), strict=True)
    ]
    found = rule.labels(rule.answer(outputs))
    assert found.dtype == np.array([each.classes[:1] for each in rule.rules]).dtype
    np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype).T)
    assert rule.labels(rule.answer(outputs[:0])).shape == (0, len(rule.rules))
    ends = zip(rule.rules, _split(rule, outputs - half), _split(rule, outputs + half), strict=True)
    settled = np.array([each.settled(low, high) for each, low, high in ends]).all(axis=0)
    np.testing.assert_array_equal(rule.settled(outputs - half, outputs + half), settled)
    leads = [each.lead(part) for each, part in zip(rule.rules, _split(rule, outputs), strict=True)]
    np.testing.assert_array_equal(rule.lead(outputs), np.min(leads, axis=0))


@given(case=cases())
def test_a_row_differs_if_one_of_its_labels_does(case: Any) -> None:
    rule, outputs, _ = case
    answers, others = rule.answer(outputs), rule.answer(-outputs)
    differ = (rule.labels(answers) != rule.labels(others)).any(axis=1)
    np.testing.assert_array_equal(rule.differ(answers, others), differ)


def test_as_many_answers_as_fit_a_position() -> None:
    many = SeveralLabels([Sign([0, 1])] * 62, [1] * 62)
    outputs = np.where(np.random.default_rng(0).random((50, 62)) < 0.5, -1.0, 1.0)
    np.testing.assert_array_equal(many.labels(many.answer(outputs)), outputs > 0)
    with pytest.raises(ValueError, match="63 columns can be combined in more than 2\\^62 ways"):
        SeveralLabels([Sign([0, 1])] * 63, [1] * 63)


def test_impossible_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="0 rules"):
        SeveralLabels([], [])
    with pytest.raises(ValueError, match="1 rules"):
        SeveralLabels([Sign([0, 1])], [1, 1])
    with pytest.raises(TypeError, match="needs a rule of classes"):
        SeveralLabels([Value()], [1])  # type: ignore[list-item]  # what is tested
    with pytest.raises(ValueError, match="as many outputs"):
        SeveralLabels([Argmax([0, 1, 2])], [2])
    with pytest.raises(ValueError, match="read 2 outputs, the machine has 3"):
        SeveralLabels([Sign([0, 1])] * 2, [1, 1]).check_outputs(3)

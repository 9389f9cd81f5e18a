"""Guarantees in words, and the rows that carry them."""

from __future__ import annotations

import pytest

from dormie.plan.guarantee import Count, Evidence, Risk


def _risk_of_classes(*labels: str) -> Risk:
    counts = tuple(Count(label, 500, 0) for label in labels)
    return Risk(0.1, 0.9, Evidence(500 * len(labels), 0, 1e-20, 1, 1, "2024-12-31", 0, classes=counts))


def test_a_promise_for_each_class_names_the_classes() -> None:
    assert "the rows of each class (0, 1, 2, 3) get" in str(_risk_of_classes(*"0123"))
    assert "the rows of each class (0, 1, 2 and 7 more) get" in str(_risk_of_classes(*"0123456789"))


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.95, "with 95 %"), (0.07, "with 7 %"), (1 - 1e-9, "with 99.9999999 %"), (1 - 1e-14, "with 99.999999999999 %")],
)
def test_no_confidence_is_shown_as_certainty(confidence: float, words: str) -> None:
    risk = Risk(0.1, confidence, Evidence(10_000, 0, 1e-300, 1, 1, "2024-12-31", 0))
    assert f"{words} confidence" in str(risk)


def test_a_promise_needs_rows_that_carry_it() -> None:
    with pytest.raises(ValueError, match=r"p-value of 0\.1\d* does not carry a confidence of 0\.95"):
        Risk(1e-3, 0.95, Evidence(3500, 1, 0.0136, 1, 1, "2024-12-31", 0))

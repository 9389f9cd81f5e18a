"""Evaluations by margin: the margins of the decision function, the evaluations of the trace."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

from dormie.show import ProportionalityDisplay
from tests.show.plans import MODEL, X, exact, regressor, texts


def test_margins_are_those_of_the_decision_function_and_evaluations_those_of_the_trace() -> None:
    fast = exact()
    display = ProportionalityDisplay.from_predictor(fast, X[:500])
    np.testing.assert_allclose(display.margin, np.abs(MODEL.decision_function(X[:500])), atol=1e-9)
    np.testing.assert_array_equal(display.evaluations, fast.trace(X[:500]).evaluations)
    assert f"full sum: {fast.plan.machine.n_points:,}" in texts(display.ax_)


def test_of_many_rows_an_even_selection_is_shown() -> None:
    assert len(ProportionalityDisplay.from_predictor(exact(), np.tile(X, (4, 1))).margin) == 4000


def test_it_draws_on_the_axes_that_it_is_given() -> None:
    _, axes = pyplot.subplots()
    assert ProportionalityDisplay.from_predictor(exact(), X[:50], ax=axes).ax_ is axes


def test_values_have_no_margin() -> None:
    with pytest.raises(ValueError, match="gives values"):
        ProportionalityDisplay.from_predictor(regressor(), X)

"""Disagreement by work: bolder plans save work and disagree more, and the plan itself is one of them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

import dormie
from dormie.show import RiskDisplay
from tests.show.plans import MODEL, X, bold, exact


def test_bolder_plans_disagree_more_and_the_plan_itself_is_marked() -> None:
    fast = bold()
    display = RiskDisplay.from_predictor(fast, X[2000:])
    full = dormie.compile(MODEL, methods=[]).predict(X[2000:])
    here = display.factors.tolist().index(1.0)
    assert display.disagreement[here] == np.mean(fast.predict(X[2000:]) != full)
    assert (np.diff(display.disagreement) >= 0).all()
    assert display.disagreement[-1] > display.disagreement[0]
    assert (np.diff(display.evaluations) <= 0).all()
    assert (display.alpha, display.rows) == (0.1, 1000)


def test_it_draws_on_the_axes_that_it_is_given() -> None:
    _, axes = pyplot.subplots()
    assert RiskDisplay.from_predictor(bold(), X[:50], ax=axes).ax_ is axes


def test_a_plan_without_a_risk_is_refused() -> None:
    with pytest.raises(ValueError, match="promises no risk"):
        RiskDisplay.from_predictor(exact(), X)

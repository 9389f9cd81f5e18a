"""Answers at deadlines: none of them late, all of them settled in the end."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

from dormie.show import AnytimeDisplay
from tests.show.plans import X, exact, regressor


def test_a_long_deadline_settles_all_rows_and_a_full_budget_certifies_nearly_all() -> None:
    fast = exact()
    display = AnytimeDisplay.from_predictor(fast, X[:300], deadlines=[0.0, 30.0])
    assert (display.settled[-1], display.wrong[-1]) == (1, 0)
    assert display.budgets[-1] == fast.plan.machine.n_points
    assert (np.diff(display.certified) >= -1e-12).all()
    assert display.certified[-1] > 0.99


def test_it_draws_on_the_two_axes_that_it_is_given() -> None:
    figure, pair = pyplot.subplots(1, 2)
    assert AnytimeDisplay.from_predictor(exact(), X[:50], deadlines=[0.1], ax=pair).figure_ is figure
    with pytest.raises(ValueError, match="2 axes, got 1"):
        AnytimeDisplay.from_predictor(exact(), X[:50], deadlines=[0.1], ax=pair[:1])


def test_values_are_refused() -> None:
    with pytest.raises(ValueError, match="gives values"):
        AnytimeDisplay.from_predictor(regressor(), X)

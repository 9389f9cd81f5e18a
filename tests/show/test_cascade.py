"""The funnel: the shares of the trace, for every stage of its own."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

from dormie.predictor.cascade import run
from dormie.show import CascadeDisplay
from tests.show.plans import X, bold, exact, texts


def test_the_funnel_has_the_shares_of_the_trace() -> None:
    fast = exact()
    display, trace = CascadeDisplay.from_predictor(fast, X), fast.trace(X)
    early = trace.stage == "geometry"
    by_geometry = [name.startswith("geometry") for name in display.stages]
    assert display.settled[by_geometry].sum() == pytest.approx(early.mean())
    assert display.reached[0] == 1
    assert display.reached[1] == pytest.approx(1 - display.settled[0])
    assert display.settled.sum() == pytest.approx(1)
    assert display.evaluations @ display.settled == pytest.approx(trace.evaluations.mean())
    assert f"{display.settled[0]:.2%}" in texts(display.ax_)
    assert "geometry" in texts(display.ax_)


def test_stages_of_one_method_are_told_apart() -> None:
    fast = bold()
    display = CascadeDisplay.from_predictor(fast, X)
    by = run(fast.plan.cascade, X).settled_by
    np.testing.assert_allclose(display.settled, [np.mean(by == stage) for stage in range(3)])
    assert (display.settled > 0).all()


def test_it_draws_on_the_axes_that_it_is_given() -> None:
    _, axes = pyplot.subplots()
    assert CascadeDisplay.from_predictor(exact(), X[:50], ax=axes).ax_ is axes

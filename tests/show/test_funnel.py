"""The numbers of the funnel: every row is settled once, and those that reach a stage were settled by none before it."""

from __future__ import annotations

import numpy as np

from dormie.predictor.cascade import run
from dormie.show.funnel import funnel_of
from tests.show.plans import X, bold


def test_rows_are_settled_once() -> None:
    plan = bold().plan
    found = run(plan.cascade, X)
    funnel = funnel_of(plan, found)
    assert np.isclose(funnel.settled.sum(), 1)
    by = np.broadcast_to(found.settled_by, len(X))
    np.testing.assert_allclose(funnel.reached[:3], [np.mean(by >= stage) for stage in range(3)])


def test_no_rows_are_no_error() -> None:
    plan = bold().plan
    assert (funnel_of(plan, run(plan.cascade, X[:0])).settled == 0).all()

"""What is measured: the same as the predictor's own trace says."""

from __future__ import annotations

import numpy as np
import pytest

import dormie
from dormie.show.report.measured import in_full, measure
from tests.show.plans import MODEL, X, bold, exact, regressor


def test_numbers_are_those_of_the_trace() -> None:
    fast, rows = exact(), X[600:1600]
    found, trace = measure(fast, rows, against=MODEL), fast.trace(rows)
    np.testing.assert_array_equal(found.evaluations, trace.evaluations)
    costly = found.costly
    np.testing.assert_array_equal(costly.evaluations, np.sort(trace.evaluations)[::-1][: len(costly.rows)])
    np.testing.assert_array_equal(costly.evaluations, trace.evaluations[costly.rows])
    assert costly.stages == trace.stage[costly.rows].tolist()
    assert costly.answers == [str(label) for label in MODEL.predict(rows[costly.rows])]
    assert costly.leads is not None
    np.testing.assert_allclose(costly.leads, np.abs(MODEL.decision_function(rows[costly.rows])), rtol=1e-6, atol=1e-9)
    assert (found.n_rows, found.speed.differing) == (1000, 0)


def test_of_rows_that_cost_the_same_the_most_doubtful_are_shown() -> None:
    fast, rows = dormie.compile(MODEL, methods=[]), X[600:1000]
    costly = measure(fast, rows).costly
    leads = np.abs(MODEL.decision_function(rows))
    np.testing.assert_array_equal(costly.rows, np.argsort(leads)[: len(costly.rows)])


def test_the_full_sum_stops_nowhere() -> None:
    for fast in (exact(), bold()):
        whole = in_full(fast)
        assert (whole.trace(X[:50]).evaluations >= whole.plan.machine.n_points).all()
        np.testing.assert_array_equal(whole.predict(X), MODEL.predict(X))


def test_values_have_no_other_answer() -> None:
    found = measure(regressor(), X[:40])
    assert found.costly.leads is None
    assert found.speed.largest == 0


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        measure(exact(), X[:0])
    with pytest.raises(ValueError, match="2 features are no images of 28 x 28"):
        measure(exact(), X[:5], image=(28, 28))
    with pytest.raises(ValueError, match="row 1"):
        measure(exact(), [[0.0, 0.0], [np.nan, 0.0]])
    assert measure(exact(), X[:5], image=(1, 2)).costly.images is not None

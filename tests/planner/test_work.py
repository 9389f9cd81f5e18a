"""Units of work: what rows cost by a table of costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Polynomial
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from dormie.planner.work import UNITS, Features, entry_seconds, features_of, seconds_of, work_of

COSTS = {
    "dense/batch/dense": {"row": 1e-7, "value": 1e-9, "product": 2e-11},
    "geometry/batch/dense": {"row": 1e-6},
    "entry/batch/dense": {"row": 1e-8, "feature": 1e-9},
}
MACHINE = Machine(RBF(1.0), np.eye(4), np.ones((4, 1)), np.zeros(1), Sign(np.array([0, 1])))


def test_what_was_not_measured_costs_what_is_nearest_to_it() -> None:
    four = np.array([4.0])
    expected = 1e-7 + 4 * 1e-9 + 4 * 4 * 2e-11
    dense = Dense(MACHINE)
    for sparse in (False, True):
        assert seconds_of(COSTS, dense, four, Features(4.0, sparse), "batch") == pytest.approx(expected)
        assert seconds_of(COSTS, dense, four, Features(4.0, sparse), "row") == pytest.approx(expected)
    assert entry_seconds(COSTS, Features(4.0, False), "batch") == pytest.approx(1.4e-8)


def test_the_work_of_a_row_is_counted_in_units() -> None:
    [work] = work_of(Dense(MACHINE), np.array([5.0]), Features(3.0, False))
    assert dict(zip(UNITS, work, strict=True)) == {
        "row": 1, "feature": 3, "output": 1, "value": 5, "exponential": 5, "product": 15, "weight": 5, "pair": 25,
    }  # fmt: skip
    cubic = MACHINE.changed(kernel=Polynomial(1.0, degree=3))
    assert work_of(Dense(cubic), np.array([5.0]), Features(3.0, False))[0, UNITS.index("exponential")] == 0


def test_sparse_rows_have_as_many_features_as_values() -> None:
    rows = np.eye(6)[:, :4]
    assert features_of(rows) == Features(4.0, False)
    assert features_of(csr_array(rows)) == Features(4 / 6, True)

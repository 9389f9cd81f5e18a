"""The regions stage: intervals contain the outputs in extended precision, whichever region a row is taken to be in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Normalized, Polynomial
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.methods.regions import Regions
from dormie.numerics import backend
from tests.oracles import long_double
from tests.properties.strategies import machine

ROWS = np.random.default_rng(0).normal(size=(300, 3))


def regions(kernel: Kernel | None = None, outputs: int = 1) -> Regions:
    made, _ = machine(kernel or RBF(0.3), 60, 3, outputs)
    return of(made)


def of(made: Machine) -> Regions:
    """Three regions of different landmarks, and of different numbers of them."""
    order = np.random.default_rng(1).permutation(len(made.points))
    parts = (order[:30], order[20:40], order[35:60])
    return Regions(made, made.points[order[:3]].copy(), [Geometry.build(made, made.points[part]) for part in parts])


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.5, 1.0, 3), Normalized(Polynomial(1.0, 1.0, 2))], ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("budget", [1, 7, 25, 1000])
def test_intervals_contain_the_outputs(kernel: Kernel, outputs: int, budget: int) -> None:
    stage = regions(kernel, outputs)
    real = long_double.outputs(stage.machine, ROWS)
    low, high = stage.interval(ROWS, budget)
    assert ((low <= real) & (real <= high)).all()
    middle = stage.estimate(ROWS)
    low, high = stage.interval(ROWS, stage.budgets[-1])
    assert ((low <= middle) & (middle <= high)).all()


def test_every_row_takes_the_landmarks_of_the_nearest_center() -> None:
    stage = regions()
    nearest = [int(np.argmin(((stage.centers - row) ** 2).sum(axis=1))) for row in ROWS]
    assert set(nearest) == {0, 1, 2}
    for row, region in zip(ROWS, nearest, strict=True):
        expected = stage.stages[region].interval(row[None], 10)
        np.testing.assert_array_equal(stage.interval(row[None], 10), expected)
        _, low, high = list(stage.steps(row[None]))[9]
        np.testing.assert_allclose([low, high], np.array(expected)[:, 0], rtol=1e-9)


def test_distances_are_taken_in_the_coordinates_of_the_machine() -> None:
    made, _ = machine(RBF(0.3), 60, 3)
    moved = of(made.changed(input_map=Affine(np.array([5.0, -3.0, 1.0]), np.array([2.0, 0.5, 4.0]))))
    assert moved.machine.input_map is not None
    rows = moved.machine.input_map.inverse(ROWS)
    np.testing.assert_array_equal(moved.decide(rows).settled, of(made).decide(ROWS).settled)


@pytest.mark.parametrize("outputs", [1, 3])
def test_what_is_settled_is_right_row_by_row_or_together_dense_or_sparse(outputs: int) -> None:
    stage = regions(outputs=outputs)
    found = stage.decide(ROWS)
    assert found.settled is not None
    assert 0 < found.settled.mean() < 1
    assert (found.answers == Dense(stage.machine).decide(ROWS).answers)[found.settled].all()
    for rows in (scipy.sparse.csr_array(ROWS), ROWS[::-1]):
        again = stage.decide(rows)
        back = slice(None, None, 1 if scipy.sparse.issparse(rows) else -1)
        for one, other in zip(found[:3], again[:3], strict=True):
            np.testing.assert_array_equal(one, np.asarray(other)[back])
    alone = [stage.decide(row[None]) for row in ROWS]
    np.testing.assert_array_equal([each.settled[0] for each in alone if each.settled is not None], found.settled)
    assert len(stage.decide(ROWS[:0]).answers) == 0


def test_on_numpy_it_settles_the_same_rows() -> None:
    stage = regions()
    with backend.numpy_only():
        twin = of(stage.machine)
    np.testing.assert_array_equal(stage.decide(ROWS).settled, twin.decide(ROWS).settled)


def test_a_value_that_is_not_finite_is_named_by_its_place_in_the_batch() -> None:
    rows = ROWS.copy()
    rows[211, 1] = np.nan
    for call in (lambda: regions().decide(rows), lambda: regions().interval(rows, 5)):
        with pytest.raises(ValueError, match="row 211, column 1 is NaN"):
            call()


def test_with_fewer_landmarks_fewer_rows_are_settled() -> None:
    stage = regions()
    fewer = stage.limited(8)
    assert str(fewer) == "regions(3 x 8)"
    assert fewer.decide(ROWS).settled.sum() < stage.decide(ROWS).settled.sum()  # type: ignore[union-attr]


@pytest.mark.parametrize("centers", [np.zeros((2, 3)), np.zeros((3, 2)), np.full((3, 3), np.inf)])
def test_centers_that_do_not_fit_are_refused(centers: Floats) -> None:
    stage = regions()
    with pytest.raises(ValueError, match="regions: centers"):
        Regions(stage.machine, centers, stage.stages)


def check_instruction_set() -> None:
    """Intervals hold and settled answers are right."""
    for outputs in (1, 3):
        stage = regions(outputs=outputs)
        found, real = stage.decide(ROWS), long_double.outputs(stage.machine, ROWS)
        low, high = stage.interval(ROWS, 20)
        assert ((low <= real) & (real <= high)).all()
        settled = np.asarray(found.settled)
        np.testing.assert_array_equal(found.answers[settled], Dense(stage.machine).decide(ROWS).answers[settled])


def test_compiled_it_gives_the_models_labels() -> None:
    X, y = make_moons(2000, noise=0.3, random_state=0)
    svc = SVC(gamma=5.0, C=10).fit(X, y)
    rows: Any = make_moons(3000, noise=0.3, random_state=1)[0]
    fast = dormie.compile(svc, rows, methods=["regions"])
    assert fast.plan.stages[0].name == "regions"
    np.testing.assert_array_equal(fast.predict(rows), svc.predict(rows))
    assert np.mean(fast.trace(rows).stage == "regions") > 0.5


def test_regressors_are_refused_as_values_would_depend_on_the_batch() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(ValueError, match="regions serves classifiers only"):
        dormie.compile(SVR().fit(X, X[:, 0]), tolerance=0.1, methods=["regions"])

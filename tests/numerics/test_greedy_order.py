"""The orders of landmarks against orders found by working out every projection anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial
from dormie.machine.rules import Argmax
from dormie.methods.geometry import Geometry
from dormie.numerics.greedy_order import LEAST_RESIDUAL, radius_greedy, sgma, w_greedy
from tests.oracles import geometry as naive_geometry
from tests.properties.strategies import by_hand, machine

KERNELS = [RBF(0.6), Polynomial(0.4, 1.0, 3), Normalized(Polynomial(0.5, 0.3, 4)), Normalized(RBF(0.3))]
Order = Callable[[Machine, int], npt.NDArray[np.intp]]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def _by_radius(made: Machine, n: int) -> npt.NDArray[np.intp]:
    return radius_greedy(made, n, made.points)


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_w_greedy_takes_the_best_point_at_every_step(kernel: Kernel, outputs: int, seed: int) -> None:
    made, _ = machine(kernel, 30, 4, outputs, seed)
    expected = naive_geometry.w_greedy_order(made, 12, LEAST_RESIDUAL)
    assert w_greedy(made, 12).tolist() == expected
    assert len(expected) == 12


@every_kernel
@pytest.mark.parametrize("seed", range(3))
def test_sgma_with_every_point_a_candidate_takes_the_best_at_every_step(kernel: Kernel, seed: int) -> None:
    made, _ = machine(kernel, 30, 4, seed=seed)
    assert sgma(made, 12, seed, candidates=30).tolist() == naive_geometry.sgma_order(made, 12, LEAST_RESIDUAL)


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_radius_greedy_leaves_the_least_radius_at_every_step(kernel: Kernel, outputs: int, seed: int) -> None:
    made, _ = machine(kernel, 30, 4, outputs, seed)
    assert radius_greedy(made, 8, made.points).tolist() == naive_geometry.radius_order(made, 8, LEAST_RESIDUAL)


def test_radius_greedy_settles_rows_with_fewer_landmarks_than_w_greedy() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 4))
    made = by_hand(RBF(0.1), points, np.sign(points[:, 0] + 0.5 * rng.normal(size=400)))
    rows = rng.normal(size=(300, 4))
    orders = radius_greedy(made, 200, rng.normal(size=(100, 4))), w_greedy(made, 200)
    radius, w = (Geometry.build(made, points[order]).decide(rows).evaluations for order in orders)
    assert np.mean(radius) < np.mean(w)


def test_sgma_with_few_candidates_depends_on_its_seed_alone_and_is_between_the_best_and_chance() -> None:
    made, _ = machine(RBF(0.3), 200, 3)
    assert sgma(made, 20, seed=3).tolist() == sgma(made, 20, seed=3).tolist()
    assert sgma(made, 20, seed=3).tolist() != sgma(made, 20, seed=4).tolist()
    few, all_of_them = sgma(made, 20, seed=3, candidates=59), sgma(made, 20, candidates=200)
    assert _left(made, all_of_them) < _left(made, few) < _left(made, np.arange(20))


def _left(made: Machine, order: npt.NDArray[np.intp]) -> float:
    """What of the kernel matrix's trace the landmarks do not tell."""
    gram, _ = naive_geometry.outside(made, order.tolist())
    return float(np.trace(gram))


def test_w_greedy_lowers_rho_further_than_other_orders() -> None:
    made, _ = machine(RBF(0.3), 100, 3)
    stages = [Geometry.build(made, made.points[order]) for order in (w_greedy(made, 25), np.arange(25), sgma(made, 25))]
    rho = [float(stage.span.rho[-1, 0]) for stage in stages]
    assert rho[0] < min(rho[1:])


@pytest.mark.parametrize("order", [w_greedy, sgma, _by_radius], ids=["w_greedy", "sgma", "radius_greedy"])
def test_duplicates_are_taken_once(order: Order) -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 4, axis=0)
    made = by_hand(RBF(1.0), points, np.random.default_rng(1).normal(size=20))
    taken = order(made, 20)
    assert len(taken) == 5
    assert len(np.unique(points[taken], axis=0)) == 5


@pytest.mark.parametrize("order", [w_greedy, sgma, _by_radius], ids=["w_greedy", "sgma", "radius_greedy"])
def test_points_in_the_span_of_others_end_the_order(order: Order) -> None:
    made = by_hand(Linear(), np.random.default_rng(2).normal(size=(30, 3)), np.random.default_rng(3).normal(size=30))
    assert len(order(made, 30)) <= 3
    zeros = by_hand(Normalized(Linear()), np.vstack([np.zeros((3, 2)), np.eye(2)]), np.ones(5))
    assert sorted(order(zeros, 5)) == [3, 4]


def test_asking_for_nothing_or_too_much_is_no_trouble() -> None:
    made, _ = machine(RBF(0.5), 7, 2)
    assert w_greedy(made, 0).tolist() == []
    assert sorted(w_greedy(made, 100)) == list(range(7))
    assert sorted(sgma(made, 100)) == list(range(7))
    assert w_greedy(replace(made, weights=np.zeros((7, 1))), 5).tolist() == []


def test_an_output_without_weights_has_no_say_in_the_order() -> None:
    made, _ = machine(RBF(0.5), 40, 3)
    both = replace(
        made, weights=np.hstack([made.weights, np.zeros((40, 1))]), bias=np.zeros(2), rule=Argmax(np.arange(2))
    )
    assert w_greedy(both, 15).tolist() == w_greedy(made, 15).tolist()


@pytest.mark.parametrize("kernel", [Polynomial(0.4, 1.0, 3), Polynomial(0.5, 1.0, 2)], ids=str)
def test_rows_too_large_for_single_precision_have_no_say_in_the_order(kernel: Kernel) -> None:
    made, _ = machine(kernel, 30, 4)
    rows = np.random.default_rng(5).normal(size=(20, 4))
    expected = radius_greedy(made, 8, rows).tolist()
    for size in (1e16, 1e100, 1e300):
        assert radius_greedy(made, 8, np.vstack([rows, rows * size])).tolist() == expected
        assert radius_greedy(made, 8, rows * size).tolist() == w_greedy(made, 8).tolist()
    assert radius_greedy(made, 8, rows[:0]).tolist() == w_greedy(made, 8).tolist()
    assert expected != w_greedy(made, 8).tolist()


@pytest.mark.parametrize("size", [1e-3, 1e4, 1e9])
def test_the_unit_of_features_does_not_matter(size: float) -> None:
    made, _ = machine(Polynomial(0.4, 0.0, 3), 30, 4)
    rows = np.random.default_rng(5).normal(size=(20, 4))
    scaled = replace(made, points=made.points * size)
    if size > 1e5:  # too large for the rows to have a say
        assert radius_greedy(scaled, 8, rows * size).tolist() == w_greedy(made, 8).tolist()
    else:
        assert radius_greedy(scaled, 8, rows * size).tolist() == radius_greedy(made, 8, rows).tolist()

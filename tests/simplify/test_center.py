from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Polynomial
from dormie.numerics import reference
from dormie.simplify import center
from tests.simplify.machines import (
    affine,
    assert_rest_unchanged,
    assert_same_outputs,
    exact_outputs,
    machine_of,
    machines,
    scale,
    with_names,
)


def _off_center(seed: int, offset: float, input_map: bool = False) -> tuple[Machine, Floats]:
    rng = np.random.default_rng(seed)
    points, rows = rng.normal(size=(10, 4)) + offset, rng.normal(size=(6, 4)) + offset
    scaler = affine(rng.normal(size=4), rng.uniform(0.5, 2, size=4)) if input_map else None
    if scaler is not None:
        rows = rows * scaler.scale + scaler.center
    return machine_of(RBF(0.3), points, rng.normal(size=(10, 2)), [0.5, -1.0], None, scaler), rows


@given(machines(kernels=(RBF(0.3),)))
def test_outputs_stay(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    assume(center.accepts(before))
    after = center.apply(before)
    assert_same_outputs(before, after, rows)
    assert_rest_unchanged(before, after, "points", "input_map")


@given(st.integers(0, 10**6), st.floats(3.0, 1e3), st.booleans())
def test_the_function_stays_in_real_numbers_and_the_points_become_centered(
    seed: int, offset: float, mapped: bool
) -> None:
    before, rows = _off_center(seed, offset, mapped)
    assert center.accepts(before)
    after = center.apply(before)
    assert_same_outputs(before, after, rows)
    exact, moved = exact_outputs(before, rows[:2]), exact_outputs(after, rows[:2])
    change = np.array(
        [[float(abs(a - b)) for a, b in zip(*pair, strict=True)] for pair in zip(exact, moved, strict=True)]
    )
    assert (change <= 1e-12 * scale(before, rows[:2])).all()
    assert (np.abs(after.points.mean(axis=0)) <= 0.51 * after.points.std(axis=0)).all()
    assert not center.accepts(after)


@given(st.integers(0, 10**6), st.sampled_from([5.0, 1e4, 1e8]))
def test_nothing_is_rounded_where_points_are_nearer_to_the_center_than_to_zero(seed: int, offset: float) -> None:
    before, _ = _off_center(seed, offset)
    assume(np.abs(before.points - before.points.mean(axis=0)).max() < before.points.min() / 2)
    after = center.apply(before)
    assert after.input_map is not None
    high, low = after.points, after.input_map.center
    total = high + low
    assert np.array_equal(total, before.points)
    assert not ((high - (total - (total - high))) + (low - (total - high))).any()  # the sum did not round either


@given(st.integers(0, 10**6))
def test_whole_numbers_stay_exact_everywhere(seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 256, size=(9, 3)).astype(float)
    after = center.apply(machine_of(RBF(1e-4), points, np.ones(9)))
    assert after.input_map is not None
    assert np.array_equal(after.points + after.input_map.center, points)
    assert np.array_equal(after.points * 4, np.rint(after.points * 4))


def test_expanded_squares_become_accurate() -> None:
    before, rows = _off_center(1, 1e6)
    after = center.apply(before)
    assert after.input_map is not None
    assert _error_of_expanded_squares(before.points, rows) > 1e-5
    assert _error_of_expanded_squares(after.points, after.input_map(rows)) < 1e-13


def _error_of_expanded_squares(points: Floats, rows: Floats) -> float:
    expanded = (rows**2).sum(axis=1)[:, None] - 2 * rows @ points.T + (points**2).sum(axis=1)
    direct = ((rows[:, None, :] - points) ** 2).sum(axis=2)
    return float(np.abs(expanded - direct).max())


def test_a_single_point_becomes_the_origin() -> None:
    machine = machine_of(RBF(1.0), [[0.1, 0.7]], [2.0])
    after = center.apply(machine)
    assert after.points.tolist() == [[0.0, 0.0]]
    assert reference.outputs(after, np.array([[0.1, 0.7]])).tolist() == [[2.0]]


def test_a_constant_feature_becomes_zero() -> None:
    machine = machine_of(RBF(1.0), [[3.25, 1.0], [3.25, 2.0]], [1.0, 1.0])
    assert center.apply(machine).points[:, 0].tolist() == [0.0, 0.0]


def test_sparse_centered_or_empty_machines_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    sparse = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert not center.accepts(machine_of(RBF(1.0), sparse, [1.0, 1.0]))
    assert not center.accepts(machine_of(RBF(1.0), rng.normal(size=(50, 3)), np.ones(50)))
    assert not center.accepts(machine_of(RBF(1.0), np.empty((0, 3)), np.empty((0, 1))))
    assert not center.accepts(machine_of(RBF(1.0), [[1e200]], [1.0]))
    assert not center.accepts(machine_of(RBF(1.0), np.zeros((2, 3)), [1.0, 1.0]))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0), Custom(lambda a, b: a @ b.T)])
def test_kernels_that_depend_on_the_origin_are_left_alone(kernel: Kernel) -> None:
    assert not center.accepts(machine_of(kernel, np.full((3, 2), 5.0), np.ones(3)))

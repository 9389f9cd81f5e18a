from __future__ import annotations

import numpy as np
from hypothesis import given

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.simplify import merge_duplicates, simplify
from tests.simplify.machines import assert_rest_unchanged, assert_same_outputs, machine_of, machines, with_names


@given(machines(least=1))
def test_outputs_stay_and_points_are_distinct(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    after = merge_duplicates.apply(before)
    assert_same_outputs(before, after, rows)
    assert_rest_unchanged(before, after, "points", "weights")
    assert len(np.unique(after.points, axis=0)) == after.n_points
    assert merge_duplicates.accepts(before) == (after.n_points < before.n_points)
    assert not merge_duplicates.accepts(after)


def test_weights_are_added_in_the_order_of_first_occurrence() -> None:
    points = [[3.0, 1.0], [2.0, 0.0], [3.0, 1.0], [1.0, 1.0], [2.0, -0.0]]
    machine = machine_of(RBF(1.0), points, [[1, 10], [2, 20], [4, 40], [8, 80], [16, 160]])
    after = merge_duplicates.apply(machine)
    assert after.points.tolist() == [[3, 1], [2, 0], [1, 1]]
    assert after.weights.tolist() == [[5, 50], [18, 180], [8, 80]]


def test_points_a_bit_apart_are_two() -> None:
    machine = machine_of(RBF(1.0), [[1.0], [np.nextafter(1.0, 2.0)]], [1.0, 1.0])
    assert not merge_duplicates.accepts(machine)


def test_points_whose_weights_cancel_are_dropped_in_the_chain() -> None:
    machine = machine_of(RBF(1.0), [[1.0, -1.0], [1.0, -1.0], [0.5, 0.2]], [1.5, -1.5, 1.0])
    after, applied = simplify(machine)
    assert applied == ("merge_duplicates", "drop_zero_weights", "center")
    assert after.n_points == 1


def test_too_few_points_and_custom_kernels_are_left_alone() -> None:
    assert not merge_duplicates.accepts(machine_of(RBF(1.0), np.empty((0, 2)), np.empty((0, 1))))
    assert not merge_duplicates.accepts(machine_of(RBF(1.0), [[1.0]], [1.0]))
    assert not merge_duplicates.accepts(machine_of(Custom(lambda a, b: a @ b.T), np.ones((2, 2)), [1, 1]))

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign
from dormie.numerics import reference
from dormie.simplify import drop_zero_weights
from tests.simplify.machines import (
    KERNELS,
    assert_rest_unchanged,
    assert_same_outputs,
    machine_of,
    machines,
    with_names,
)


@given(machines())
def test_outputs_stay_and_only_used_points_remain(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    after = drop_zero_weights.apply(before)
    assert_same_outputs(before, after, rows, within=1e-14)
    assert_rest_unchanged(before, after, "points", "weights")
    assert after.weights.any(axis=1).all()
    assert drop_zero_weights.accepts(before) == (after.n_points < before.n_points)


def test_a_point_that_one_output_uses_is_kept() -> None:
    machine = machine_of(RBF(1.0), np.eye(3), [[0, 0], [0, 2], [0, 0]])
    after = drop_zero_weights.apply(machine)
    assert after.points.tolist() == [[0, 1, 0]]
    assert after.weights.tolist() == [[0, 2]]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_without_any_weight_the_bias_is_left(kernel: RBF) -> None:
    machine = machine_of(kernel, np.ones((4, 2)), np.zeros(4), 0.25, Sign(np.array(["no", "yes"])))
    after = drop_zero_weights.apply(machine)
    assert after.points.shape == (0, 2)
    assert reference.outputs(after, np.ones((3, 2))).tolist() == [[0.25]] * 3
    assert reference.absolute_sums(after, np.ones((3, 2))).tolist() == [[0.0]] * 3


def _common_letters(a: list[str], b: list[str]) -> list[list[int]]:
    return [[len(set(u) & set(v)) for v in b] for u in a]


def test_points_of_a_custom_kernel_may_be_any_sequence() -> None:
    machine = machine_of(Custom(_common_letters), ["abc", "xyz", "bcd"], [1.0, 0.0, 2.0], 0.5)
    assert drop_zero_weights.accepts(machine)
    after = drop_zero_weights.apply(machine)
    assert list(after.points) == ["abc", "bcd"]
    assert reference.outputs(after, ["bc"]).tolist() == [[2 + 4 + 0.5]]


def test_a_custom_kernel_is_never_left_without_points() -> None:
    assert not drop_zero_weights.accepts(machine_of(Custom(_common_letters), ["a", "b"], [0.0, 0.0]))

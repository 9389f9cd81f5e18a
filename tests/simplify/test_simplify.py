from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Linear
from dormie.machine.rules import OneVsOneVote
from dormie.simplify import REWRITES, simplify
from tests.simplify.machines import affine, assert_rest_unchanged, assert_same_outputs, machine_of, machines, with_names


@given(machines())
def test_the_chain_preserves_outputs_and_names_what_it_did(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    after, applied = simplify(before)
    assert_same_outputs(before, after, rows)
    assert_rest_unchanged(before, after, "points", "weights", "bias", "input_map")
    assert after.n_points <= before.n_points
    assert list(applied) == [name for name in REWRITES if name in applied]
    assert (after is before) == (not applied)


@given(machines())
def test_a_simplified_machine_has_nothing_left_to_simplify(drawn: tuple[Machine, Floats]) -> None:
    after, _ = simplify(drawn[0])
    assert simplify(after)[1] == ()


def test_a_linear_machine_on_scaled_input_becomes_one_vector() -> None:
    rng = np.random.default_rng(3)
    input_map = affine([1.0, 2.0, 3.0], [0.5, 2.0, 4.0])
    machine = machine_of(Linear(), rng.normal(size=(20, 3)), rng.normal(size=20), 0.5, None, input_map)
    after, applied = simplify(machine)
    assert applied == ("fold_linear", "fold_input_map")
    assert (after.n_points, after.input_map) == (1, None)


def test_the_rule_is_untouched() -> None:
    rule = OneVsOneVote(np.array(["a", "b", "c"]))
    machine = machine_of(RBF(1.0), np.full((4, 2), 3.0), np.ones((4, 3)), [0, 0, 0], rule)
    assert simplify(machine)[0].rule is rule


@pytest.mark.parametrize("weights", [[1.0, 2.0], [0.0, 0.0]])
def test_a_custom_kernel_with_nothing_to_drop_is_left_alone(weights: list[float]) -> None:
    machine = machine_of(Custom(lambda a, b: a @ b.T), np.ones((2, 2)), weights)
    assert simplify(machine) == (machine, ())

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear
from dormie.simplify import fold_input_map, simplify
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


@given(machines(kernels=(Linear(),)))
def test_outputs_stay_and_the_map_goes(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    assume(fold_input_map.accepts(before))
    after = fold_input_map.apply(before)
    assert after.input_map is None
    assert_same_outputs(before, after, rows, within=1e-12)
    assert_rest_unchanged(before, after, "points", "bias", "input_map")


@given(machines(kernels=(Linear(),)))
def test_the_function_stays_in_real_numbers(drawn: tuple[Machine, Floats]) -> None:
    before, rows = drawn[0], drawn[1][:2]
    assume(fold_input_map.accepts(before))
    exact, folded = exact_outputs(before, rows), exact_outputs(fold_input_map.apply(before), rows)
    change = np.array(
        [[float(abs(a - b)) for a, b in zip(*pair, strict=True)] for pair in zip(exact, folded, strict=True)]
    )
    sizes = np.abs(before.points).sum(axis=1) @ np.abs(before.weights)
    assert (change <= 64 * 2.0**-53 * (scale(before, rows) + sizes)).all()


def _scaled(center: float, scale: float, bias: float = 0.0) -> Machine:
    return machine_of(Linear(), [[2.0, 1.0]], [1.0], bias, None, affine([center, 0.0], [scale, 1.0]))


def test_the_folded_numbers_are_those_of_the_formula() -> None:
    after = fold_input_map.apply(_scaled(center=3.0, scale=4.0, bias=1.0))
    assert after.points.tolist() == [[0.5, 1.0]]
    assert after.bias.tolist() == [1.0 - 0.5 * 3.0]


def test_the_map_stays_where_the_center_would_dwarf_the_outputs() -> None:
    assert fold_input_map.accepts(_scaled(center=24.0, scale=1.0))  # 2 * 24 is 16 times 2 + 1
    assert not fold_input_map.accepts(_scaled(center=24.1, scale=1.0))
    assert not fold_input_map.accepts(_scaled(center=24.0, scale=-0.9))
    assert fold_input_map.accepts(_scaled(center=24.1, scale=1.0, bias=1.0))


@pytest.mark.parametrize(
    ("point", "center", "scale"),
    [(20.0, 0.0, 1e-308), (1e-5, 0.0, 1e307), (20.0, 1e-300, 5e-324), (20.0, 1e300, 1e-20)],
)
def test_the_map_stays_where_quotients_overflow_or_underflow(point: float, center: float, scale: float) -> None:
    machine = machine_of(Linear(), [[point]], [1.0], 1e300, None, affine([center], [scale]))
    assert not fold_input_map.accepts(machine)


def test_a_feature_that_no_point_has_does_no_harm() -> None:
    machine = machine_of(Linear(), [[1.0, 0.0]], [1.0], 0.0, None, affine([1.0, 1e300], [1.0, 1e-300]))
    after, applied = simplify(machine)
    assert applied == ("fold_input_map",)
    assert after.points.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("kernel", [RBF(1.0), Custom(lambda a, b: a @ b.T)])
def test_other_kernels_keep_their_map(kernel: Kernel) -> None:
    assert not fold_input_map.accepts(machine_of(kernel, [[1.0]], [1.0], 0.0, None, affine([0.5], [1.0])))
    assert not fold_input_map.accepts(machine_of(Linear(), [[1.0]], [1.0]))

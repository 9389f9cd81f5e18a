from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized
from dormie.simplify import fold_linear
from tests.simplify.machines import (
    assert_rest_unchanged,
    assert_same_outputs,
    exact_outputs,
    machine_of,
    machines,
    scale,
    with_names,
)


@given(machines(kernels=(Linear(),)))
def test_outputs_stay_and_one_vector_an_output_remains(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    assert fold_linear.accepts(before) == (before.n_points > before.n_outputs)
    assume(fold_linear.accepts(before))
    after = fold_linear.apply(before)
    assert_same_outputs(before, after, rows)
    assert_rest_unchanged(before, after, "points", "weights")
    assert after.points.shape == (before.n_outputs, before.n_features)
    assert np.array_equal(after.weights, np.eye(before.n_outputs))
    assert not fold_linear.accepts(after)


@given(machines(kernels=(Linear(),), least=5))
def test_the_function_stays_in_real_numbers(drawn: tuple[Machine, Floats]) -> None:
    before, rows = drawn
    exact, folded = exact_outputs(before, rows[:2]), exact_outputs(fold_linear.apply(before), rows[:2])
    change = np.array(
        [[float(abs(a - b)) for a, b in zip(*pair, strict=True)] for pair in zip(exact, folded, strict=True)]
    )
    assert (change <= 2.0**-52 * scale(before, rows[:2])).all()


@pytest.mark.parametrize(("count", "c", "d"), [(40, 2, 3), (700, 1, 30), (3, 2, 9000)])
def test_vectors_are_right_to_the_last_bit_though_their_terms_cancel(count: int, c: int, d: int) -> None:
    rng = np.random.default_rng(count)
    points, weights = rng.normal(size=(count, d)), rng.normal(size=(count, c)) * 10.0 ** rng.integers(-3, 6, (count, 1))
    points[1::2], weights[1::2] = points[: count // 2 * 2 : 2], -weights[: count // 2 * 2 : 2] * (1 + 1e-9)
    vectors = fold_linear.apply(machine_of(Linear(), points, weights)).points
    for k, j in np.ndindex(c, min(d, 20)):
        exact = sum((Fraction(w) * Fraction(p) for w, p in zip(weights[:, k], points[:, j], strict=True)), Fraction(0))
        assert abs(Fraction(vectors[k, j]) - exact) <= Fraction(float(np.spacing(abs(float(exact)))))


@pytest.mark.parametrize("kernel", [RBF(1.0), Normalized(Linear()), Custom(lambda a, b: a @ b.T)])
def test_other_kernels_are_left_alone(kernel: Kernel) -> None:
    assert not fold_linear.accepts(machine_of(kernel, np.ones((3, 2)), [1, 1, 1]))


def test_machines_without_points_or_already_folded_are_left_alone() -> None:
    assert not fold_linear.accepts(machine_of(Linear(), np.empty((0, 2)), np.empty((0, 1))))
    assert not fold_linear.accepts(machine_of(Linear(), np.ones((2, 3)), np.ones((2, 4))))


def test_numbers_whose_products_overflow_are_left_alone() -> None:
    assert not fold_linear.accepts(machine_of(Linear(), [[1e200], [1.0]], [1.0, 1.0]))

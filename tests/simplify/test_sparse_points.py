"""Exact rewrites of machines with sparse points: points stay sparse, outputs stay within what is stated."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Linear, Polynomial
from dormie.machine.rules import Sign
from dormie.simplify import simplify
from tests.oracles import full_sum as naive
from tests.properties.strategies import adversarial_machines, by_hand, machines, sparse_machines


def some_points(count: int, features: int, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).random((count, features))
    return scipy.sparse.csr_array(np.where(drawn < 0.1, 10 * drawn, 0.0))


def made(kernel: Any, points: Any, input_map: Affine | None = None) -> Machine:
    weights = np.random.default_rng(1).normal(size=(points.shape[0], 1))
    return Machine(kernel, points, weights, np.full(1, 0.25), Sign(np.arange(2)), input_map)


def test_a_linear_machine_is_folded_to_one_sparse_vector() -> None:
    machine = made(Linear(), some_points(30, 200))
    folded, names = simplify(machine)
    assert names == ("fold_linear",)
    assert folded.has_sparse_points
    np.testing.assert_allclose(folded.points.toarray(), machine.weights.T @ machine.points.toarray(), atol=1e-15)


def test_scaling_is_folded_too() -> None:
    scale = np.random.default_rng(2).uniform(0.5, 2, size=200)
    folded, names = simplify(made(Linear(), some_points(30, 200), Affine(np.zeros(200), scale)))
    assert names == ("fold_linear", "fold_input_map")
    assert folded.has_sparse_points
    assert folded.input_map is None


def test_equal_points_are_merged_and_points_without_weight_dropped() -> None:
    few = some_points(5, 40)
    machine = made(RBF(0.3), scipy.sparse.vstack([few, few[:2], few[4:]]))
    weights = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 0.5, -2.0, 4.0])
    merged, names = simplify(by_hand(machine.kernel, machine.points, weights))
    assert names == ("merge_duplicates", "drop_zero_weights")
    np.testing.assert_array_equal(merged.points.toarray(), few[[0, 3, 4]].toarray())
    np.testing.assert_array_equal(merged.weights[:, 0], [1.5, 3.0, 5.0])


@pytest.mark.parametrize("kernel", [Polynomial(0.5, 1.0, 2), RBF(0.3)])
def test_rewrites_that_make_dense_points_decline(kernel: Any) -> None:
    dense = 5.0 + np.random.default_rng(3).normal(size=(40, 3))  # far from the origin, and more points than dimensions
    sparse, names = simplify(made(kernel, scipy.sparse.csr_array(dense)))
    assert not names
    assert sparse.has_sparse_points
    _, names = simplify(made(kernel, dense))
    assert names


@settings(max_examples=100, deadline=None)
@given(sparse_machines(machines() | adversarial_machines()))
def test_no_output_moves_further_than_stated(case: tuple[Machine, Floats]) -> None:
    machine, rows = case
    after, _ = simplify(machine)
    assert after.has_sparse_points
    before, moved = naive.exact_outputs(machine, rows), naive.exact_outputs(after, rows)
    origin = after.origin
    for row, one, other in zip(rows, before, moved, strict=True):
        with mpmath.workdps(60):
            norm = mpmath.sqrt(sum(x * x for x in naive.mapped(after, row.tolist(), mpmath.mpf)))
            allowed = np.zeros(after.n_outputs) if origin is None else origin.deviation(np.array([float(norm)]))[0]
            for a, b, most in zip(one, other, allowed, strict=True):
                assert not np.isfinite(most) or abs(a - b) <= mpmath.mpf(float(most)) * (1 + mpmath.mpf(10) ** -9)

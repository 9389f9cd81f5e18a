"""Weights in closed form against dense least squares, well and badly conditioned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set.norm import Norm
from dormie.methods.reduced_set.weights import least_squares, positive_factor
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import KERNELS, machine, rule_for

INNER_PRODUCTS = [kernel for kernel in KERNELS if kernel.positive_semidefinite]


def _relative(found: Floats, expected: Floats) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def _solved(values: Floats, targets: Floats, sizes: list[int], ridge: float, block: int) -> list[Floats]:
    def blocks() -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, len(values), block):
            yield values[start : start + block], targets[start : start + block]

    return least_squares(blocks, sizes, ridge)


@settings(max_examples=40)
@given(
    rows=st.integers(1, 300),
    n=st.integers(1, 30),
    outputs=st.integers(1, 4),
    likeness=st.floats(-12, 0),
    block=st.sampled_from([1, 7, 64, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_weights_match_a_dense_least_squares_solve_to_1e_8(
    rows: int, n: int, outputs: int, likeness: float, block: int, seed: int
) -> None:
    """Vectors ever more alike, down to 1e-12 apart, and fewer rows than vectors."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=3) + 10**likeness * rng.normal(size=(n, 3))
    x, targets = rng.normal(size=(rows, 3)), rng.normal(size=(rows, outputs))
    values, ridge, sizes = RBF(0.5).matrix(x, vectors), 1e-6 * rows, sorted({1, (n + 1) // 2, n})
    for size, weights in zip(sizes, _solved(values, targets, sizes, ridge, block), strict=True):
        expected = naive_reduction.stacked_solution(values[:, :size], targets, ridge)
        assert _relative(weights, expected) <= 1e-8


def test_a_badly_conditioned_problem_with_little_ridge_is_refined_to_1e_8() -> None:
    rng = np.random.default_rng(0)
    left, _ = np.linalg.qr(rng.normal(size=(400, 20)))
    right, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    values = left * np.logspace(0, -6, 20) @ right.T  # the normal equations have a condition of 1e12
    targets = values @ rng.normal(size=(20, 2))
    [weights] = _solved(values, targets, [20], 1e-14, 64)
    assert _relative(weights, naive_reduction.stacked_solution(values, targets, 1e-14)) <= 1e-8


@pytest.mark.parametrize("kernel", INNER_PRODUCTS, ids=str)
def test_weights_by_distance_match_a_dense_solve_to_1e_8(kernel: Kernel) -> None:
    made, _ = machine(kernel, 60, 17, 3)
    vectors = np.random.default_rng(1).normal(size=(8, 17))
    for size, weights in zip([3, 8], Norm(made, [3, 8]).weights(vectors), strict=True):
        gram = kernel.matrix(vectors[:size], vectors[:size])
        gram += 1e-10 * np.diag(np.diagonal(gram))
        known = kernel.matrix(vectors[:size], made.points) @ made.weights
        assert _relative(weights, naive_reduction.solved(gram, known)) <= 1e-8


def test_weights_by_distance_of_vectors_nearly_alike_leave_as_little_as_a_dense_solve_with_the_same_ridge() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 2))
    made = Machine(RBF(0.5), points, rng.normal(size=30), np.zeros(1), rule_for(1))
    vectors = np.repeat(rng.normal(size=(4, 2)), 3, axis=0) + 1e-6 * rng.normal(size=(12, 2))
    [weights] = Norm(made, [12]).weights(vectors)
    gram, known = made.kernel.matrix(vectors, vectors), made.kernel.matrix(vectors, points) @ made.weights
    dense = naive_reduction.solved(gram + 1e-10 * np.eye(12), known)
    left, expected = (naive_reduction.squared_distance(made, vectors, each) for each in (weights, dense))
    np.testing.assert_allclose(left, expected, rtol=1e-4)
    assert left < naive_reduction.best_distance(made, vectors[::3])  # than one vector of each clump


def test_a_singular_matrix_is_raised_as_little_as_it_takes() -> None:
    matrix = np.ones((5, 5))
    factor = positive_factor(matrix)
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-12)


def test_a_matrix_of_no_inner_product_is_refused() -> None:
    with pytest.raises(CannotFit, match="not positive semi-definite"):
        positive_factor(np.array([[1.0, 5.0], [5.0, 1.0]]))

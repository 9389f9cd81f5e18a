"""Both objectives: their losses by definition, their gradients by finite differences, what counts for how much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value
from dormie.methods.reduced_set import outputs as outputs_objective
from dormie.methods.reduced_set.derivatives import KernelDerivatives
from dormie.methods.reduced_set.importance import importance, margins
from dormie.methods.reduced_set.norm import Norm
from dormie.methods.reduced_set.outputs import Outputs
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import KERNELS, machine

INNER_PRODUCTS = [kernel for kernel in KERNELS if kernel.positive_semidefinite]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@settings(max_examples=8)
@given(n=st.integers(1, 4), features=st.integers(1, 4), outputs=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_the_loss_on_rows_and_its_gradient(kernel: Kernel, n: int, features: int, outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, targets = rng.normal(size=(40, features)), rng.normal(size=(40, outputs))
    z = rng.normal(size=(n, features))
    z += np.sign(z) * 0.3
    sizes = sorted({1, n})

    def loss(at: Floats) -> float:
        return naive_reduction.output_loss(kernel.matrix(x, at), targets, sizes, 1e-6 * len(x))

    derivatives = KernelDerivatives.of(kernel, x, z)
    value, by_values = outputs_objective.loss(derivatives.values, targets, sizes)
    assert value == pytest.approx(loss(z), rel=1e-8, abs=1e-8)
    expected = naive_reduction.slope(loss, z)
    np.testing.assert_allclose(
        derivatives.gradient(by_values), expected, rtol=1e-3, atol=1e-5 * max(1, np.abs(expected).max())
    )


@pytest.mark.parametrize("kernel", INNER_PRODUCTS, ids=str)
@settings(max_examples=6)
@given(n=st.integers(1, 3), features=st.integers(5, 7), outputs=st.sampled_from([1, 3]), seed=st.integers(0, 1000))
def test_the_distance_and_its_gradient(kernel: Kernel, n: int, features: int, outputs: int, seed: int) -> None:
    made, _ = machine(kernel, 30, features, outputs, seed)
    z = np.random.default_rng(seed).normal(size=(n, features))
    z += np.sign(z) * 0.3
    sizes = sorted({1, n})
    objective = Norm(made, sizes)
    norms = naive_reduction.squared_distance(made, z[:0], np.zeros((0, outputs)))
    expected = sum(np.log((naive_reduction.best_distance(made, z[:size]) / norms).sum()) for size in sizes)
    value, gradient = objective.loss(z)
    assert value == pytest.approx(expected, abs=1e-4)
    slope = naive_reduction.slope(lambda at: objective.loss(at)[0], z, 1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=2e-3, atol=2e-4 * max(1, np.abs(slope).max()))


RULES: list[tuple[Rule, int]] = [
    (Sign(np.array([0, 1])), 1),
    (Argmax(np.arange(3)), 3),
    (OneVsOneVote(np.arange(3)), 3),
    (Argmax(np.arange(5)), 5),
]


@pytest.mark.parametrize(("rule", "outputs"), RULES, ids=str)
def test_a_margin_is_how_far_all_outputs_may_move(rule: Rule, outputs: int) -> None:
    rows = np.random.default_rng(0).normal(size=(60, outputs))
    for row, margin in zip(rows, margins(rule, rows), strict=True):
        assert naive_reduction.same_answer_throughout(rule, row, 0.999 * margin)
        beyond = 1.001 * margin + np.abs(row).max() / 4096
        assert not naive_reduction.same_answer_throughout(rule, row, beyond)


def test_rows_count_by_their_margin_and_one_on_average() -> None:
    outputs = np.array([[0.0], [0.25], [1.0], [-1.0], [1.5]])
    counts = importance(Sign(np.array([0, 1])), outputs)
    assert counts.mean() == pytest.approx(1)
    np.testing.assert_allclose(counts / counts[0], [1, 0.5, 1 / 17, 1 / 17, 1 / 37], rtol=5e-3)


def test_values_count_the_same_wherever_they_lie() -> None:
    assert importance(Value(), np.array([[0.0], [5.0], [-100.0]])).tolist() == [1.0, 1.0, 1.0]


def test_rows_that_all_lie_on_the_border_count_the_same() -> None:
    assert importance(Sign(np.array([0, 1])), np.zeros((4, 1))).tolist() == [1.0] * 4


def test_final_weights_are_those_of_all_rows_by_their_importance() -> None:
    rng = np.random.default_rng(3)
    made = Machine(RBF(0.5), rng.normal(size=(50, 2)), rng.normal(size=(50, 3)), rng.normal(size=3), RULES[2][0])
    rows, vectors = rng.normal(size=(9000, 2)), rng.normal(size=(6, 2))  # three blocks
    found = Outputs(made, rows, [2, 6], seed=0).weights(vectors)
    sums = made.kernel.matrix(rows, made.points) @ made.weights
    root = np.sqrt(importance(made.rule, sums + made.bias))[:, None]
    for size, weights in zip([2, 6], found, strict=True):
        values = root * made.kernel.matrix(rows, vectors[:size])
        expected = naive_reduction.stacked_solution(values, root * sums, 1e-6 * len(rows))
        assert np.linalg.norm(weights - expected) <= 1e-8 * np.linalg.norm(expected)

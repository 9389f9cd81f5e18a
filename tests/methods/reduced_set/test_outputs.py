"""The outputs on rows as the objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.machine.rules import OneVsOneVote
from dormie.methods.reduced_set import outputs as outputs_objective
from dormie.methods.reduced_set.derivatives import KernelDerivatives
from dormie.methods.reduced_set.importance import importance
from dormie.methods.reduced_set.outputs import Outputs
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import KERNELS


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


def test_final_weights_are_those_of_all_rows_by_their_importance() -> None:
    rng = np.random.default_rng(3)
    made = Machine(
        RBF(0.5), rng.normal(size=(50, 2)), rng.normal(size=(50, 3)), rng.normal(size=3), OneVsOneVote(np.arange(3))
    )
    rows, vectors = rng.normal(size=(9000, 2)), rng.normal(size=(6, 2))  # three blocks
    found = Outputs(made, rows, [2, 6], seed=0).weights(vectors)
    sums = made.kernel.matrix(rows, made.points) @ made.weights
    root = np.sqrt(importance(made.rule, sums + made.bias))[:, None]
    for size, weights in zip([2, 6], found, strict=True):
        values = root * made.kernel.matrix(rows, vectors[:size])
        expected = naive_reduction.stacked_solution(values, root * sums, 1e-6 * len(rows))
        assert np.linalg.norm(weights - expected) <= 1e-8 * np.linalg.norm(expected)

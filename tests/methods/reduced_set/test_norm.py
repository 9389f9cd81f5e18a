"""The distance in feature space as the objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine.kernels import Kernel
from dormie.methods.reduced_set.norm import Norm
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import KERNELS, machine

INNER_PRODUCTS = [kernel for kernel in KERNELS if kernel.positive_semidefinite]


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

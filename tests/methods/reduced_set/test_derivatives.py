"""Kernel values and their derivatives against definitions and finite differences, for every kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial
from dormie.machine.rules import Value
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set.derivatives import KernelDerivatives, require_derivative, unit_kernel
from dormie.methods.reduced_set.products_with_w import MatrixProducts, TileProducts
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import KERNELS

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@every_kernel
@settings(max_examples=15)
@given(rows=st.integers(1, 6), vectors=st.integers(1, 5), features=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_values_and_gradients_are_those_of_the_kernel(
    kernel: Kernel, rows: int, vectors: int, features: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, z, b = rng.normal(size=(rows, features)), rng.normal(size=(vectors, features)), rng.normal(size=(rows, vectors))
    # A normalised kernel of a vector near the origin turns as fast as you like: no difference quotient follows.
    z += np.sign(z) * 0.3
    derivatives = KernelDerivatives.of(kernel, x, z)
    values = naive_reduction.kernel_matrix(kernel, x, z)
    np.testing.assert_allclose(derivatives.values, values, rtol=1e-11, atol=1e-12)
    expected = naive_reduction.slope(lambda at: float((b * kernel.matrix(x, at)).sum()), z)
    np.testing.assert_allclose(derivatives.gradient(b), expected, rtol=1e-5, atol=1e-6)


@every_kernel
def test_single_precision_stays_single_and_close(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    x, z, b = rng.normal(size=(20, 4)), rng.normal(size=(3, 4)), rng.normal(size=(20, 3))
    single = KernelDerivatives.of(kernel, x.astype(np.float32), z.astype(np.float32))
    double = KernelDerivatives.of(kernel, x, z)
    gradient = single.gradient(b.astype(np.float32))
    assert single.values.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(single.values, double.values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gradient, double.gradient(b), rtol=1e-3, atol=1e-3)


def test_a_vector_at_the_origin_of_a_normalised_kernel_has_no_slope() -> None:
    derivatives = KernelDerivatives.of(Normalized(Linear()), np.ones((2, 3)), np.zeros((1, 3)))
    assert derivatives.values.tolist() == [[0.0], [0.0]]
    assert derivatives.gradient(np.ones((2, 1))).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("size", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.5, 1.0, 3), Polynomial(2.0, 0.0, 5)], ids=str)
def test_a_unit_kernel_is_a_multiple_of_size_one(kernel: Kernel, size: float) -> None:
    points = np.random.default_rng(0).normal(size=(50, 3)) * size
    multiple, unit = unit_kernel(kernel, points)
    np.testing.assert_allclose(multiple.matrix(points, points) * unit, kernel.matrix(points, points), rtol=1e-10)
    assert 0.1 < np.median(multiple.diagonal(points)) < 10


def test_kernel_values_beyond_floating_point_are_refused_by_name() -> None:
    points = np.full((2, 3), 1e60)
    with pytest.raises(CannotFit, match=r"values of Polynomial.*are about inf: too large or small"):
        unit_kernel(Polynomial(1.0, 0.0, 5), points)


def test_a_python_function_has_no_slope() -> None:
    with pytest.raises(ValueError, match="needs the kernel's derivative, which a Python function does not have"):
        require_derivative(Custom(lambda a, b: a @ b.T))


@settings(max_examples=20)
@given(outputs=st.integers(1, 3), features=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_the_native_sums_of_what_vectors_see_are_the_matrix_products(outputs: int, features: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights, kernel = rng.normal(size=(40, features)), rng.normal(size=(40, outputs)), RBF(0.4)
    machine = Machine(kernel, points, weights, np.zeros(outputs), Value(flat=False))
    vectors, by_g = rng.normal(size=(5, features)), rng.normal(size=(5, outputs))
    one, other = TileProducts(machine, kernel, weights), MatrixProducts(kernel, points, weights)
    np.testing.assert_allclose(one.values(vectors), other.values(vectors), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.gradient(by_g), other.gradient(by_g), rtol=1e-9, atol=1e-11)

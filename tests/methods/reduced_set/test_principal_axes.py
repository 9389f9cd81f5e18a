"""The principal axes of points: kernel values are kept, of vectors within the axes."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine import Floats
from dormie.machine.kernels import RBF, Kernel, Normalized, Polynomial, Sigmoid
from dormie.methods.reduced_set.principal_axes import PrincipalAxes


def _flat(n: int, d: int, k: int, noise: float = 0.0) -> Floats:
    """Points near a k-dimensional subspace."""
    random = np.random.default_rng(0)
    return random.normal(size=(n, k)) @ random.normal(size=(k, d)) + noise * random.normal(size=(n, d))


@pytest.mark.parametrize(
    "kernel", [RBF(0.01), Polynomial(0.1, 1.0, 3), Normalized(Polynomial(0.1, 1.0, 2)), Sigmoid(0.01)]
)
def test_kernel_values_of_vectors_within_the_axes_are_kept(kernel: Kernel) -> None:
    axes = PrincipalAxes.of(_flat(300, 80, 10, noise=0.1))
    assert axes is not None
    random = np.random.default_rng(1)
    rows = random.normal(size=(50, 80))  # far from the subspace: the rest counts
    coordinates = np.column_stack([random.normal(size=(7, axes.axes.shape[1])), np.zeros(7)])
    vectors = axes.vectors(coordinates)
    np.testing.assert_allclose(kernel.matrix(axes.of_rows(rows), coordinates), kernel.matrix(rows, vectors), rtol=1e-9)
    np.testing.assert_allclose(axes.of_vectors(vectors), coordinates, atol=1e-12)


def test_as_few_axes_are_taken_as_hold_nearly_all_of_the_points() -> None:
    points = _flat(300, 80, 10)
    axes = PrincipalAxes.of(points)
    assert axes is not None
    assert axes.axes.shape[1] <= 10
    np.testing.assert_allclose(axes.axes.T @ axes.axes, np.eye(axes.axes.shape[1]), atol=1e-12)
    assert np.sum((points @ axes.axes) ** 2) >= 0.98 * np.sum(points**2)
    fewer = points @ axes.axes[:, :-1]
    assert np.sum(fewer**2) < 0.98 * np.sum(points**2)


def test_there_are_none_where_they_save_little() -> None:
    assert PrincipalAxes.of(_flat(300, 40, 5)) is None
    assert PrincipalAxes.of(np.random.default_rng(0).normal(size=(2000, 80))) is None
    assert PrincipalAxes.of(np.ones((3, 3000))) is None
    whole = PrincipalAxes.of(np.zeros((5, 80)))
    assert whole is None or whole.axes.shape[1] <= 1

"""Composite points: means by the sign of the weights, among the candidates for landmarks where they are of use."""

from __future__ import annotations

import numpy as np

from dormie.machine.kernels import RBF, Linear, Normalized, Polynomial
from dormie.methods.fitting import EFFORTS, CertifiedFitting
from dormie.methods.reduced_set.vectors import SharedVectors, composite_points
from dormie.progress import Progress
from tests.properties.strategies import by_hand, machine


def test_they_are_the_weighted_means_of_the_points_of_either_sign() -> None:
    made = by_hand(RBF(1.0), [[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]], [1.0, 3.0, -2.0])
    np.testing.assert_allclose(composite_points(made), [[2.5, 1.5], [5.0, 5.0]])


def test_means_that_are_no_vectors_are_left_out() -> None:
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [5.0, 5.0]])
    assert len(composite_points(by_hand(Normalized(Linear()), points, [1.0, 1.0, -1.0]))) == 1  # one is the origin
    assert len(composite_points(by_hand(RBF(1.0), points, [1.0, 1.0, 1.0]))) == 1  # one sign
    huge = by_hand(RBF(1.0), 1e308 * np.ones((2, 2)), [1e308, 1e308])
    assert np.isfinite(composite_points(huge)).all()
    several, _ = machine(RBF(1.0), 10, 2, 3)
    assert len(composite_points(several)) == 0


def test_where_they_narrow_intervals_most_they_come_first() -> None:
    """A normalised quadratic kernel with the rows away from the origin, as DeCoste's Sonar has."""
    rng = np.random.default_rng(0)
    side = np.repeat([1.0, -1.0], 40)
    points = 1 + 0.5 * rng.standard_normal((80, 6)) + 0.3 * side[:, None] * (np.arange(6) < 2)
    made = by_hand(Normalized(Polynomial(1.0, 1.0, 2)), points, side)
    fitting = CertifiedFitting(made, points, EFFORTS["quick"], True, Progress())
    first = SharedVectors(fitting).first_points(2)
    own = composite_points(made)
    assert {tuple(point) for point in first} == {tuple(point) for point in own}

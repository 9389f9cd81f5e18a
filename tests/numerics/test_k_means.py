"""Clusters, and the center that a row is nearest to."""

from __future__ import annotations

import numpy as np

from dormie.numerics.k_means import k_means, nearest_center


def test_the_nearest_center_is_that_of_the_least_distance() -> None:
    rng = np.random.default_rng(0)
    rows, centers = rng.normal(size=(200, 5)), rng.normal(size=(7, 5))
    distances = np.linalg.norm(rows[:, None] - centers, axis=2)
    assert nearest_center(centers, rows).tolist() == distances.argmin(axis=1).tolist()
    assert nearest_center(np.vstack([centers[:1], centers]), centers[:1]).tolist() == [0]  # of equal ones the first


def test_the_means_of_separate_clusters_are_found() -> None:
    rng = np.random.default_rng(1)
    middles = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    points = np.repeat(middles, 40, axis=0) + rng.normal(size=(120, 2))
    sizes = rng.uniform(1, 2, size=120)
    means = k_means(points, sizes, 3, np.random.default_rng(2))
    expected = [np.average(points[k : k + 40], axis=0, weights=sizes[k : k + 40]) for k in (0, 40, 80)]
    found = nearest_center(means, middles)
    assert sorted(found.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(means[found], expected)

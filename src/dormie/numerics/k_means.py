"""Weighted k-means: initial vectors of reduced sets, cells and regions of rows, and centers to tell unlike rows by."""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats
from dormie.machine.typing import Positions

_ROUNDS = 15
_MOST_POINTS = 20_000  # of more points a sample is clustered, drawn by weight, which gives clusters as good


def k_means(points: Floats, sizes: Floats, n: int, random: np.random.Generator) -> Floats:
    """The means of n clusters of points, each point weighted by its size."""
    if n == 0:
        return points[:0]
    chances = (sizes + 1e-12 * max(sizes.max(), 1e-300)) / (sizes + 1e-12 * max(sizes.max(), 1e-300)).sum()
    if len(points) > _MOST_POINTS:
        few = random.choice(len(points), max(_MOST_POINTS, n), replace=False, p=chances)
        points, sizes, chances = points[few], sizes[few], chances[few] / chances[few].sum()
    means = points[random.choice(len(points), n, replace=False, p=chances)]
    for _ in range(_ROUNDS):
        members = np.zeros((n, len(points)))
        members[nearest_center(means, points), np.arange(len(points))] = chances
        total = members.sum(axis=1, keepdims=True)
        means = np.where(total > 0, members @ points / np.maximum(total, 1e-300), means)
    return np.asarray(means)


def nearest_center(centers: Floats, rows: Floats) -> Positions:
    """The position of the nearest center of every row: the least |c|^2 / 2 - x.c, which |x - c|^2 grows with."""
    return np.asarray(np.argmin(np.einsum("ij,ij->i", centers, centers) / 2 - rows @ centers.T, axis=1))

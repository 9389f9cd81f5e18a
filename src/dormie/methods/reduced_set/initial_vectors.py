"""Initial vectors of a reduced set: k-means centers of the support vectors, or a greedy choice among them."""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import ValueRule
from dormie.machine.typing import Positions
from dormie.numerics.evaluate import FullSum
from dormie.numerics.greedy_order import w_greedy
from dormie.numerics.k_means import k_means


def w_greedy_vectors(machine: Machine, n: int, seed: int) -> Floats:
    """Points chosen greedily to approximate w, filled up with k-means centers if the choice ends early."""
    points = machine.points[w_greedy(machine, n)]
    return points if len(points) == n else np.vstack([points, k_means_vectors(machine, n - len(points), seed)])


def k_means_vectors(machine: Machine, n: int, seed: int) -> Floats:
    """Centers of weighted k-means in each class; a class gets vectors in proportion to the weights of its points."""
    random = np.random.default_rng(seed)
    sizes = np.abs(machine.weights).sum(axis=1)
    groups = _classes(machine)
    names, group = np.unique(groups, return_inverse=True)
    counts = _shares(np.bincount(group, weights=sizes).astype(np.float64), np.bincount(group), n)
    centers = [k_means(machine.points[group == k], sizes[group == k], counts[k], random) for k in range(len(names))]
    return np.vstack(centers)


def _classes(machine: Machine) -> Positions:
    """The class that the machine predicts for every point; for a regressor, the sign of the point's first weight."""
    if isinstance(machine.rule, ValueRule):
        return np.asarray(machine.weights[:, 0] > 0, dtype=np.intp)
    return np.asarray(machine.rule.answer(FullSum(machine).outputs(machine.points)), dtype=np.intp)


def _shares(weights: Floats, most: Positions, n: int) -> Positions:
    """Split n in proportion to the weights, with at most `most` for each; n is at most the sum of `most`."""
    counts = np.zeros(len(most), dtype=np.intp)
    for _ in range(n):
        counts[np.argmax(np.where(counts < most, weights / (counts + 1), -1.0))] += 1
    return counts

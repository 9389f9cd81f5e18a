"""Where the vectors of a reduced set start from: the middles of the support vectors, or the most telling of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rules import Value
from dormie.numerics.evaluate import FullSum
from dormie.numerics.greedy_order import w_greedy
from dormie.numerics.k_means import k_means


def w_greedy_start(machine: Machine, n: int, seed: int) -> Floats:
    """The points that tell the most of w, and middles of the others where there are not enough such."""
    points = machine.points[w_greedy(machine, n)]
    return points if len(points) == n else np.vstack([points, middles_start(machine, n - len(points), seed)])


def middles_start(machine: Machine, n: int, seed: int) -> Floats:
    """Weighted k-means of the points, class by class; a class gets vectors by the weight that its points have."""
    random = np.random.default_rng(seed)
    sizes = np.abs(machine.weights).sum(axis=1)
    groups = _classes(machine)
    names, group = np.unique(groups, return_inverse=True)
    counts = _shares(np.bincount(group, weights=sizes).astype(np.float64), np.bincount(group), n)
    middles = [k_means(machine.points[group == k], sizes[group == k], counts[k], random) for k in range(len(names))]
    return np.vstack(middles)


def _classes(machine: Machine) -> npt.NDArray[np.intp]:
    """The class that the machine itself puts every point in; for values, the side that the point pulls to."""
    if isinstance(machine.rule, Value):
        return np.asarray(machine.weights[:, 0] > 0, dtype=np.intp)
    return np.asarray(machine.rule.answer(FullSum(machine).outputs(machine.points)), dtype=np.intp)


def _shares(weights: Floats, most: npt.NDArray[np.intp], n: int) -> npt.NDArray[np.intp]:
    """n split in proportion to the weights, but no more than `most` each (n is at most their sum)."""
    counts = np.zeros(len(most), dtype=np.intp)
    for _ in range(n):
        counts[np.argmax(np.where(counts < most, weights / (counts + 1), -1.0))] += 1
    return counts

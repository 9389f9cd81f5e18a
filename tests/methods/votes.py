"""Machines with a one-vs-one vote, for tests of the methods that know what a vote is."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import OneVsOneVote


def voting(kernel: Kernel, classes: int, count: int, seed: int = 0, **options: Any) -> tuple[Machine, Floats]:
    """A machine of so many classes with weights as SVC has them: a point has none in pairs of two other classes."""
    rng = np.random.default_rng([seed, classes, count])
    points, label = rng.normal(size=(count, 4)), np.sort(rng.integers(0, classes, count))
    first, second = np.triu_indices(classes, 1)
    mine = (label[:, None] == first) * 1.0 - (label[:, None] == second)
    weights = mine * rng.exponential(size=mine.shape) * (rng.random(mine.shape) < 0.7)
    rule = OneVsOneVote(np.arange(classes), **options)
    return Machine(kernel, points, weights, 0.1 * rng.normal(size=len(first)), rule), rng.normal(size=(200, 4))

"""Machines with a one-vs-one vote, for tests of the methods that know what a vote is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import OneVsOneVote
from tests.methods.files import Change, put, set_at, typed, without


def voting(kernel: Kernel, classes: int, count: int, seed: int = 0, **options: Any) -> tuple[Machine, Floats]:
    """A machine of so many classes with weights as SVC has them: a point has none in pairs of two other classes."""
    rng = np.random.default_rng([seed, classes, count])
    points, label = rng.normal(size=(count, 4)), np.sort(rng.integers(0, classes, count))
    first, second = np.triu_indices(classes, 1)
    mine = (label[:, None] == first) * 1.0 - (label[:, None] == second)
    weights = mine * rng.exponential(size=mine.shape) * (rng.random(mine.shape) < 0.7)
    rule = OneVsOneVote(np.arange(classes), **options)
    return Machine(kernel, points, weights, 0.1 * rng.normal(size=len(first)), rule), rng.normal(size=(200, 4))


def changes_of_a_guess(names: Iterable[str]) -> dict[str, Change]:
    """Damage to the arrays of a guess of 4 vectors and its members, for 60 points of 3 features and 3 classes."""
    return {
        **{f"{name} missing": without(name) for name in names},
        **{f"{name} empty": put(name, np.empty(0)) for name in names},
        **{f"{name} of float32": typed(name, np.float32) for name in names},
        "points NaN": set_at("points", 0, np.nan),
        "two levels": lambda arrays: (
            arrays | {"sizes": np.array([3, 4]), "weights": np.vstack([arrays["weights"][:3], arrays["weights"]])}
        ),
        "a member less": lambda arrays: (
            arrays | {"members": arrays["members"][1:], "starts": np.maximum(arrays["starts"] - 1, 0)}
        ),
        "another member": set_at("members", 0, 59),
        "a member beyond the points": set_at("members", -1, 60),
        "a group that starts later": set_at("starts", 1, 0),
        "one array more": lambda arrays: arrays | {"extra": np.ones(3)},
    }

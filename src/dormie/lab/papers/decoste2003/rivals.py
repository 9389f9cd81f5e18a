"""Simpler classifiers of the same digits, as the paper compares: a linear SVM, and k nearest neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dormie.lab.papers.decoste2003.pairs import Pair, svm_filter
from dormie.machine import Machine

_NEIGHBOURS = (1, 3, 5, 7, 9)


class Rivals(NamedTuple):
    """Errors on the pair's own test digits, and the number of neighbours."""

    linear: int
    neighbours: int
    k: int


def rivals_of(machine: Machine, pair: Pair) -> Rivals:
    """The filter's linear SVM, and the number of neighbours with the fewest errors on held-out digits."""
    from sklearn.neighbors import KNeighborsClassifier  # optional

    linear = svm_filter(machine, pair).estimate(pair.test)[:, 0] > 0
    voters = [KNeighborsClassifier(k, algorithm="brute").fit(pair.train, pair.train_signs) for k in _NEIGHBOURS]
    best = min(voters, key=lambda each: np.sum(each.predict(pair.held_out) != pair.held_out_signs))
    wrong = best.predict(pair.test) != pair.test_signs
    return Rivals(int(np.sum(linear != (pair.test_signs > 0))), int(np.sum(wrong)), best.n_neighbors)

"""Conversion between LIBSVM's packed one-vs-one coefficients and weights with one column for each pair.

A support vector belongs to one of k classes and has a coefficient in each of the k - 1 pairs that include its class.
LIBSVM stores these k - 1 numbers for each vector, vectors grouped by class: for the pair a < b, the coefficient of a
vector of class a is in row b - 1, that of a vector of class b in row a.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dormie.machine import Floats
from dormie.machine.typing import Positions


def expand(packed: Floats, n_support: Any) -> Floats:
    """The weights (L x k(k-1)/2) of packed coefficients ((k - 1) x L) of vectors grouped by class."""
    k, total = len(n_support), packed.shape[1]
    if packed.shape[0] != k - 1 or sum(n_support) != total:
        raise ValueError(f"{packed.shape[0]} x {total} coefficients do not fit {list(n_support)} vectors per class")
    ends = np.cumsum(n_support)
    group = [slice(end - n, end) for end, n in zip(ends, n_support, strict=True)]
    weights = np.zeros((total, k * (k - 1) // 2))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        weights[group[a], pair] = packed[b - 1, group[a]]
        weights[group[b], pair] = packed[a, group[b]]
    return weights


@dataclass(frozen=True)
class Packed:
    """Coefficients as LIBSVM stores them, vectors grouped by class."""

    source: Positions  # the number of each vector's point; a point may occur several times
    coefficients: Floats  # (k - 1) x vectors
    n_support: Positions  # vectors of each class


def pack(weights: Floats, k: int) -> Packed:
    """Pack the weights of k(k-1)/2 pairs.

    A point whose pairs share no class (a point of a reduced set has weights for every pair) becomes several vectors:
    one for each class, with the weights of the pairs in which that class is the first.
    """
    single = owners(weights, k)
    shared = np.flatnonzero(single < 0)
    first, _ = np.triu_indices(k, 1)
    sources, classes, parts = [np.flatnonzero(single >= 0)], [single[single >= 0]], [weights[single >= 0]]
    for a in range(k - 1 if len(shared) else 0):
        part = np.where(first == a, weights[shared], 0.0)
        used = part.any(axis=1)
        sources.append(shared[used])
        classes.append(np.full(int(used.sum()), a))
        parts.append(part[used])
    source, owner = np.concatenate(sources), np.concatenate(classes)
    order = np.argsort(owner, kind="stable")
    coefficients = _coefficients(np.vstack(parts)[order], owner[order], k)
    return Packed(source[order], coefficients, np.bincount(owner, minlength=k))


def owners(weights: Floats, k: int) -> Positions:
    """The class of every vector, or -1 where its pairs share no class.

    A vector with a weight for a single pair could belong to either class. In trained machines a support vector's weight
    favours its own class, so the sign decides.
    """
    first, second = np.triu_indices(k, 1)
    side = np.zeros((len(first), k))
    side[np.arange(len(first)), first] = 1
    side[np.arange(len(first)), second] = -1
    used = (weights != 0).astype(np.float64)
    possible = used @ np.abs(side) == used.sum(axis=1, keepdims=True)
    likely = np.where(possible, np.sign(weights) @ side, -np.inf).argmax(axis=1)
    return np.asarray(np.where(possible.any(axis=1), likely, -1))


def _coefficients(weights: Floats, owner: Positions, k: int) -> Floats:
    """The (k - 1) x L coefficients of vectors, given the class of each."""
    packed = np.zeros((k - 1, len(weights)))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        packed[b - 1, owner == a] = weights[owner == a, pair]
        packed[a, owner == b] = weights[owner == b, pair]
    return packed

"""LIBSVM's packing of one-vs-one coefficients, opened and closed.

Each support vector belongs to one of k classes and takes part in the k - 1 pairs that its class is in. LIBSVM
stores just those: k - 1 numbers a vector, vectors grouped by class. In the pair a < b a vector of class a finds
its number in row b - 1, a vector of class b in row a. Opened, there is one column of weights for every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats


def expand(packed: Floats, n_support: Any) -> Floats:
    """Weights L x k(k-1)/2 from (k - 1) x L packed coefficients of vectors grouped by class."""
    k, total = len(n_support), packed.shape[1]
    if packed.shape[0] != k - 1 or sum(n_support) != total:
        raise ValueError(f"{packed.shape[0]} x {total} coefficients do not fit {list(n_support)} vectors a class")
    ends = np.cumsum(n_support)
    group = [slice(end - n, end) for end, n in zip(ends, n_support, strict=True)]
    weights = np.zeros((total, k * (k - 1) // 2))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        weights[group[a], pair] = packed[b - 1, group[a]]
        weights[group[b], pair] = packed[a, group[b]]
    return weights


@dataclass(frozen=True)
class Packed:
    """Coefficients as LIBSVM keeps them, vectors grouped by class."""

    source: npt.NDArray[np.intp]  # the point that each vector is: one with weights everywhere comes several times
    coefficients: Floats  # (k - 1) x vectors
    n_support: npt.NDArray[np.intp]  # of every class


def pack(weights: Floats, k: int) -> Packed:
    """The weights of k(k-1)/2 pairs, packed.

    A point whose pairs share no class (those of a reduced set serve every pair) is taken apart: one vector for each
    class, with the pairs that the class comes first in.
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


def owners(weights: Floats, k: int) -> npt.NDArray[np.intp]:
    """The class that every vector belongs to, or -1 where it takes part in pairs of no common class.

    A vector of a single pair could belong to either class: trained machines vote for their own, so the sign tells.
    """
    first, second = np.triu_indices(k, 1)
    side = np.zeros((len(first), k))
    side[np.arange(len(first)), first] = 1
    side[np.arange(len(first)), second] = -1
    used = (weights != 0).astype(np.float64)
    possible = used @ np.abs(side) == used.sum(axis=1, keepdims=True)
    likely = np.where(possible, np.sign(weights) @ side, -np.inf).argmax(axis=1)
    return np.asarray(np.where(possible.any(axis=1), likely, -1))


def _coefficients(weights: Floats, owner: npt.NDArray[np.intp], k: int) -> Floats:
    """The (k - 1) x L coefficients of vectors, given the class of each."""
    packed = np.zeros((k - 1, len(weights)))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        packed[b - 1, owner == a] = weights[owner == a, pair]
        packed[a, owner == b] = weights[owner == b, pair]
    return packed

"""Strings for the experiments: the normalised spectrum kernel, and the DNA strings of the splice set.

With `dormie.kernels.Custom` a kernel is any Python function of two lists of rows. This one compares strings by the
words of a few letters that they share:

    K(u, v) = c(u) . c(v) / (|c(u)| |c(v)|),      c(u)_w: how often the word w occurs in u, overlaps included.

It is an inner product of unit vectors, so it is positive semi-definite, and it lies between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.machine import Floats
from dormie.machine.kernels import Custom


@dataclass(frozen=True)
class Spectrum:
    """The kernel matrix of two lists of strings, by their words of `letters` letters.

    Products and squared lengths are sums of whole numbers and exact; a value has two roundings, of the root and of the
    quotient. So it depends on its two strings alone, not on the others in the lists.
    """

    letters: int

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Floats:
        counts = _counts([*a, *b], self.letters)
        of_a, of_b = counts[: len(a)], counts[len(a) :]
        squares = np.outer((of_a**2).sum(axis=1), (of_b**2).sum(axis=1))
        return np.divide(of_a @ of_b.T, np.sqrt(squares), out=np.zeros(squares.shape), where=squares > 0)


def _counts(strings: list[str], letters: int) -> Floats:
    """How often each word occurs in each string: strings x words, the words in the order in which they are met."""
    columns: dict[str, int] = {}
    words = [[string[i : i + letters] for i in range(len(string) - letters + 1)] for string in strings]
    numbers = [[columns.setdefault(word, len(columns)) for word in of_string] for of_string in words]
    counted = [np.bincount(np.array(each, dtype=np.intp), minlength=len(columns)) for each in numbers]
    return np.array(counted, dtype=np.float64).reshape(len(strings), len(columns))


def spectrum_kernel(letters: int) -> Custom:
    """The normalised spectrum kernel of words of so many letters, as machines take it."""
    return Custom(Spectrum(letters), positive_semidefinite=True, nonnegative=True, self_similarity=1.0)


class Strings(NamedTuple):
    """Labelled strings to train with, and others to test with."""

    X: npt.NDArray[Any]
    y: npt.NDArray[np.int64]
    X_test: npt.NDArray[Any]
    y_test: npt.NDArray[np.int64]


def splice(training: int, seed: int = 0) -> Strings:
    """The strings of the splice set, `training` of them, drawn by seed, to train with and the others to test with."""
    data = datasets.load("splice-strings")
    order = np.random.default_rng(seed).permutation(len(data.y))
    first, others = order[:training], order[training:]
    return Strings(data.X[first], data.y[first], data.X[others], data.y[others])

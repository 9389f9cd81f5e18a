"""The rule of one-vs-one classifiers: every pair of classes has an output, and the class with most votes wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.margin import UNIT
from dormie.machine.rules.base import ClassRule, first_largest
from dormie.machine.typing import Booleans, Floats, Positions

# How many outputs and rows are counted at once, so that their votes stay in the cache.
_OUTPUTS_AT_ONCE, _ROWS_AT_ONCE = 1 << 16, 1 << 12


@dataclass(frozen=True, eq=False)
class OneVsOneVote(ClassRule):
    """
    The one-vs-one vote of k classes, as LIBSVM takes it.

    There is one output for every pair a < b of classes, pairs in lexicographic order. A positive output votes for a,
    any other for b. The class with the most votes wins, the first of them in a tie.

    Parameters
    ----------
    classes : array-like of k labels
        The labels, in the order in which the pairs count them.
    break_ties : bool, default=False
        scikit-learn's option: votes plus summed outputs decide, not votes alone.
    shape : {"ovr", "ovo"}, default="ovr"
        scikit-learn's `decision_function_shape`: one decision value for each class, or one for each pair.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or the shape is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import OneVsOneVote
    >>> rule = OneVsOneVote(["a", "b", "c"])
    >>> outputs = np.array([[1.0, -1.0, -1.0]])  # a beats b, c beats a, c beats b
    >>> rule.labels(rule.answer(outputs))
    array(['c'], dtype='<U1')
    """

    classes: npt.NDArray[Any]
    break_ties: bool = False
    shape: str = "ovr"

    if TYPE_CHECKING:  # a list becomes an array

        def __init__(self, classes: npt.ArrayLike, break_ties: bool = False, shape: str = "ovr") -> None: ...

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if self.shape not in ("ovr", "ovo"):
            raise ValueError(f"OneVsOneVote: shape must be 'ovr' or 'ovo', got {self.shape!r}")

    @cached_property
    def pairs(self) -> tuple[Positions, Positions]:
        """The positions of the classes a and b of every output."""
        first, second = np.triu_indices(len(self.classes), 1)
        return first, second

    def champion(self, low: Floats, high: Floats) -> Positions:
        """
        Find the class that wins each of its pairs, wherever between two bounds the outputs are.

        Such a class wins the vote: every other one loses at least the pair with it.

        Parameters
        ----------
        low : ndarray of shape (n_rows, c)
            Lower bounds of the outputs.
        high : ndarray of shape (n_rows, c)
            Upper bounds of the outputs.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            Positions in `classes`; -1 where there is no such class.
        """
        votes = self._votes(low > 0, high < 0)
        return np.where((votes == len(self.classes) - 1).any(axis=1), first_largest(votes), -1)

    def check_outputs(self, c: int) -> None:
        k = len(self.classes)
        if c != k * (k - 1) // 2:
            raise ValueError(f"OneVsOneVote of {k} classes reads {k * (k - 1) // 2} outputs, the machine has {c}")

    def _blocks(self, rows: int) -> Iterator[slice]:
        """Slices of a few rows each, so that their tables are small."""
        size = min(max(_OUTPUTS_AT_ONCE // len(self.pairs[0]), 1), _ROWS_AT_ONCE)
        return (slice(start, start + size) for start in range(0, rows, size))

    def _table(self, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """table[a, b, row]: the pair's entry of `first` where a < b, of `second` where a > b, and 0 where a = b."""
        k, (a, b) = len(self.classes), self.pairs
        table = np.zeros((k, k, len(first)), dtype=first.dtype)
        table[a, b], table[b, a] = first.T, second.T
        return table

    def _votes(self, first_wins: Booleans, second_wins: Booleans) -> npt.NDArray[np.int32]:
        votes = np.empty((len(first_wins), len(self.classes)), dtype=np.int32)
        for block in self._blocks(len(votes)):
            wins = self._table(first_wins[block], second_wins[block])
            votes[block] = wins.sum(axis=1, dtype=np.int32).T
        return votes

    def _sums(self, first: Floats, second: Floats) -> Floats:
        """For every class the sum of what its pairs give it, in their order.

        first, second: what each pair gives to its first and takes from its second class, and the other way round
        """
        sums = np.empty((len(first), len(self.classes)))
        for block in self._blocks(len(sums)):
            total = np.zeros((len(self.classes), len(first[block])))
            for gained in self._table(first[block], second[block]):  # by one class from each other class
                total -= gained  # one class after the other: another order would round differently
            sums[block] = total.T
        return sums

    def _confidences(self, outputs: Floats) -> Floats:
        """scikit-learn's one-vs-rest values: votes, plus the summed outputs scaled to lie within (-1/3, 1/3).

        scikit-learn negates the outputs first, so here an output of exactly 0 votes for the first class.
        """
        return self.values_of_classes(outputs, outputs >= 0, outputs < 0)

    def values_of_classes(self, outputs: Floats, first_wins: Booleans, second_wins: Booleans) -> Floats:
        """
        Work out scikit-learn's value of every class: its votes, and its summed outputs scaled to less than a third.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, c)
            The outputs of the pairs, positive for the first class.
        first_wins : ndarray of bool of shape (n_rows, c)
            Whether the first class of each pair has its vote.
        second_wins : ndarray of bool of shape (n_rows, c)
            Whether the second class has it.

        Returns
        -------
        ndarray of shape (n_rows, k)
            The values.
        """
        return _votes_and_sums(self._votes(first_wins, second_wins), self._sums(outputs, -outputs))

    def decision_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return (low, high) if self.shape == "ovo" else self.bounds_of_classes(low, high)

    def bounds_of_classes(self, low: Floats, high: Floats, zero: int = 0) -> tuple[Floats, Floats]:
        """
        Bound the value of every class, for all outputs between two bounds.

        Parameters
        ----------
        low : ndarray of shape (n_rows, c)
            Lower bounds of the outputs.
        high : ndarray of shape (n_rows, c)
            Upper bounds of the outputs.
        zero : int, default=0
            Which class of its pair an output of exactly 0 votes for: 0 for the first, 1 for the second.

        Returns
        -------
        low, high : ndarray of shape (n_rows, k)
            Bounds of the values.
        """
        first_sure, second_sure = (low > 0, high <= 0) if zero else (low >= 0, high < 0)
        first_may, second_may = (high > 0, low <= 0) if zero else (high >= 0, low < 0)
        with np.errstate(over="ignore", invalid="ignore"):
            # A class's value grows with what it gains in each of its own pairs, and depends on no other pair.
            least = _votes_and_sums(self._votes(first_sure, second_sure), self._sums(high, -low))
            most = _votes_and_sums(self._votes(first_may, second_may), self._sums(low, -high))
            # A sum of k outputs has k - 1 roundings of at most the sum of their sizes, and counts with a factor of at
            # most 1/3; the division and the additions add five roundings of numbers of at most k.
            k, sizes = len(self.classes), np.maximum(np.abs(low), np.abs(high))
            lost = UNIT * (k * self._sums(-sizes, -sizes) + 5 * k)
        unknown = ~np.isfinite(lost)
        return np.where(unknown, -1.0, least - lost), np.where(unknown, float(k), most + lost)

    def answer(self, outputs: Floats) -> Positions:
        if self.break_ties:
            return first_largest(self._confidences(outputs))
        positive = outputs > 0
        return first_largest(self._votes(positive, ~positive))

    def settled(self, low: Floats, high: Floats) -> Booleans:
        # A class wins if its certain votes exceed the possible votes of every other class; a tie is enough against
        # later classes. With break_ties a tie is not enough, and the summed outputs never outweigh a whole vote.
        first_sure, second_sure = low > 0, high < 0 if self.break_ties else high <= 0
        least = self._votes(first_sure, second_sure)
        most = self._votes(~second_sure, ~first_sure)
        winner = least.argmax(axis=1)
        rows = np.arange(len(low))
        needed = most + 1
        if not self.break_ties:
            later = np.arange(len(self.classes)) > winner[:, None]
            needed = most + ~later
        needed[rows, winner] = 0
        return np.asarray(least[rows, winner] >= needed.max(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        winner, (first, second) = self.answer(outputs)[:, None], self.pairs
        lead = np.empty(len(outputs))
        for block in self._blocks(len(lead)):
            mine, theirs = winner[block] == first, winner[block] == second
            lead[block] = np.where(mine, outputs[block], np.where(theirs, -outputs[block], np.inf)).min(axis=1)
        return lead

    def decision(self, outputs: Floats) -> Floats:
        """
        Return the decision values of rows, as scikit-learn's `decision_function` gives them.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, k (k - 1) / 2)
            The outputs of rows.

        Returns
        -------
        ndarray of shape (n_rows, k) or (n_rows, k (k - 1) / 2)
            With the shape "ovr", one value for each class: its votes, plus a fraction that grows with the sum of its
            outputs. With "ovo", the outputs themselves, one for each pair of classes.
        """
        return self._confidences(outputs) if self.shape == "ovr" else outputs


def _votes_and_sums(votes: npt.NDArray[np.int32], sums: Floats) -> Floats:
    """scikit-learn's one-vs-rest values."""
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

"""Rules: how outputs become an answer, and when a box of intervals already settles it.

`answer` maps outputs (n x c) to answers; `settled` says, given the low and high end of every output, for which
rows every point of the box has the same answer. NaN ends settle nothing. Answers of a classifier are positions
in `classes`; `labels` turns them into what the user trained with.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Argmax", "ClassRule", "OneVsOneVote", "Rule", "Sign", "Value", "one_class_sign"]

Outputs = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

# Whose votes are counted at once, so that they stay in the cache: a single row may have more outputs.
_OUTPUTS_AT_ONCE, _ROWS_AT_ONCE = 1 << 16, 1 << 12


def _first_largest(values: npt.NDArray[Any]) -> Indices:
    """The position of the largest value of every row, the first of equal ones."""
    return np.asarray(values.argmax(axis=1), dtype=np.intp)


class Rule(ABC):
    """Outputs to answers."""

    @abstractmethod
    def check_outputs(self, c: int) -> None:
        """Raise ValueError unless the rule can read c outputs."""

    @abstractmethod
    def answer(self, outputs: Outputs) -> Any:
        """The answer of every row of outputs."""

    @abstractmethod
    def settled(self, low: Outputs, high: Outputs) -> Booleans:
        """For which rows every point between low and high has the same answer."""

    @abstractmethod
    def labels(self, answers: Any) -> npt.NDArray[Any]:
        """Answers in the user's own terms."""

    def decision(self, outputs: Outputs) -> Outputs:
        """What `decision_function` returns; a single output comes back as a vector."""
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs


class ClassRule(Rule):
    """A rule whose answer is a position in `classes`."""

    classes: npt.NDArray[Any]

    def _freeze_classes(self, at_least: int) -> None:
        classes = np.array(self.classes)
        if classes.ndim != 1 or len(classes) < at_least:
            raise ValueError(f"{type(self).__name__}: classes must be a list of at least {at_least} labels")
        classes.setflags(write=False)
        object.__setattr__(self, "classes", classes)

    def labels(self, answers: Indices) -> npt.NDArray[Any]:
        return np.asarray(self.classes[answers])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[f], theirs[f]) for f in self.__dataclass_fields__)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Sign(ClassRule):
    """classes[1] where the one output is positive, classes[0] where it is negative; `zero` is the answer at 0."""

    classes: npt.NDArray[Any]
    zero: int = 1

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if len(self.classes) != 2 or self.zero not in (0, 1):
            raise ValueError(f"Sign: two classes, and zero in (0, 1); got {self.classes!r}, {self.zero!r}")

    def check_outputs(self, c: int) -> None:
        if c != 1:
            raise ValueError(f"Sign reads one output, the machine has {c}")

    def answer(self, outputs: Outputs) -> Indices:
        g = outputs[:, 0]
        return np.asarray((g > 0) | ((g == 0) & bool(self.zero)), dtype=np.intp)

    def settled(self, low: Outputs, high: Outputs) -> Booleans:
        lo, hi = low[:, 0], high[:, 0]
        return np.asarray((lo >= 0) | (hi < 0) if self.zero else (lo > 0) | (hi <= 0))


def one_class_sign() -> Sign:
    """The rule of a one-class machine: +1 inside, -1 outside and on the border."""
    return Sign(np.array([-1, 1]), zero=0)


@dataclass(frozen=True, eq=False)
class OneVsOneVote(ClassRule):
    """One output for every pair a < b of classes, in lexicographic order: positive votes for a, else for b.

    Most votes win and the first class wins a tie, as LIBSVM has it. With `break_ties`, scikit-learn's option of
    that name, the sums of confidences decide instead. `shape` is scikit-learn's `decision_function_shape`.
    """

    classes: npt.NDArray[Any]
    break_ties: bool = False
    shape: str = "ovr"

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if self.shape not in ("ovr", "ovo"):
            raise ValueError(f"OneVsOneVote: shape must be 'ovr' or 'ovo', got {self.shape!r}")

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """The classes a and b of every output."""
        first, second = np.triu_indices(len(self.classes), 1)
        return first, second

    def check_outputs(self, c: int) -> None:
        k = len(self.classes)
        if c != k * (k - 1) // 2:
            raise ValueError(f"OneVsOneVote of {k} classes reads {k * (k - 1) // 2} outputs, the machine has {c}")

    def _blocks(self, rows: int) -> Iterator[slice]:
        """A few rows at a time, so that their tables are small."""
        size = min(max(_OUTPUTS_AT_ONCE // len(self.pairs[0]), 1), _ROWS_AT_ONCE)
        return (slice(start, start + size) for start in range(0, rows, size))

    def _table(self, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """table[a, b, row]: of the pair of a and b, what `first` has where a < b, and `second` where a > b; else 0."""
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

    def _sums(self, outputs: Outputs) -> Outputs:
        """Of every class the outputs of its pairs, turned round where it is the second, added in the order of pairs."""
        sums = np.empty((len(outputs), len(self.classes)))
        for block in self._blocks(len(sums)):
            total = np.zeros((len(self.classes), len(outputs[block])))
            for gained in self._table(outputs[block], -outputs[block]):  # by one class, from each other
                total -= gained  # one class after the other: sums in another order have other bits
            sums[block] = total.T
        return sums

    def _confidences(self, outputs: Outputs) -> Outputs:
        """scikit-learn's one-vs-rest values: votes, plus summed outputs squeezed into (-1/3, 1/3).

        scikit-learn turns the outputs round first, so that here an output of exactly 0 votes for the first class.
        """
        sums = self._sums(outputs)
        votes = self._votes(outputs >= 0, outputs < 0)
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def answer(self, outputs: Outputs) -> Indices:
        if self.break_ties:
            return _first_largest(self._confidences(outputs))
        positive = outputs > 0
        return _first_largest(self._votes(positive, ~positive))

    def settled(self, low: Outputs, high: Outputs) -> Booleans:
        """A class that surely has more votes than any other can get wins; so does the first of those tied.

        Without its tie-breaking clause this also settles `break_ties`, whose confidences never outweigh a vote.
        """
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

    def decision(self, outputs: Outputs) -> Outputs:
        return self._confidences(outputs) if self.shape == "ovr" else outputs


@dataclass(frozen=True, eq=False)
class Argmax(ClassRule):
    """The class of the largest output; of equal ones the first, or the last with `last_of_equal`."""

    classes: npt.NDArray[Any]
    last_of_equal: bool = False

    def __post_init__(self) -> None:
        self._freeze_classes(2)

    def check_outputs(self, c: int) -> None:
        if c != len(self.classes):
            raise ValueError(f"Argmax of {len(self.classes)} classes reads as many outputs, the machine has {c}")

    def answer(self, outputs: Outputs) -> Indices:
        if self.last_of_equal:
            return np.asarray(outputs.shape[1] - 1 - _first_largest(outputs[:, ::-1]))
        return _first_largest(outputs)

    def settled(self, low: Outputs, high: Outputs) -> Booleans:
        winner = self.answer(low)
        rows = np.arange(len(low))
        others = high.copy()
        others[rows, winner] = -np.inf
        return np.asarray(low[rows, winner] > others.max(axis=1))


@dataclass(frozen=True)
class Value(Rule):
    """The outputs are the answer, settled once each is known to within `tolerance`."""

    tolerance: float = 0.0
    flat: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"Value: tolerance must be finite and not negative, got {self.tolerance}")

    def check_outputs(self, c: int) -> None:
        if self.flat and c != 1:
            raise ValueError(f"Value: flat answers need one output, the machine has {c}; pass flat=False")

    def answer(self, outputs: Outputs) -> Outputs:
        return outputs

    def settled(self, low: Outputs, high: Outputs) -> Booleans:
        return np.asarray((high - low <= 2 * self.tolerance).all(axis=1))

    def labels(self, answers: Outputs) -> Outputs:
        return answers[:, 0] if self.flat else answers

    def decision(self, outputs: Outputs) -> Outputs:
        return self.labels(outputs)

"""Rules: how outputs become an answer, and when intervals of the outputs already settle it.

`answer` maps outputs (n x c) to answers. `settled` takes the lower and upper ends of every output's interval and says
for which rows all values between them give the same answer; a NaN end settles nothing. The answer of a classifier is a
position in `classes`; `labels` turns it into the label that the user trained with.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Booleans, Floats, Positions

__all__ = ["Argmax", "ClassRule", "OneClassSign", "OneVsOneVote", "Rule", "Sign", "Value", "one_class_sign"]


# How many outputs and rows are counted at once, so that their votes stay in the cache.
_OUTPUTS_AT_ONCE, _ROWS_AT_ONCE = 1 << 16, 1 << 12


def _first_largest(values: npt.NDArray[Any]) -> Positions:
    """The position of the largest value of every row, the first of equal ones."""
    return np.asarray(values.argmax(axis=1), dtype=np.intp)


class Rule(ABC):
    """
    How the outputs of a machine become answers: the base class of all rules.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Rule, Sign
    >>> rule = Sign(["no", "yes"])
    >>> isinstance(rule, Rule)
    True
    >>> rule.labels(rule.answer(np.array([[-0.3], [1.2]])))
    array(['no', 'yes'], dtype='<U3')
    """

    @abstractmethod
    def check_outputs(self, c: int) -> None:
        """
        Check that the rule can read that many outputs.

        Parameters
        ----------
        c : int
            The number of outputs of a machine.

        Raises
        ------
        ValueError
            If the rule needs another number of outputs.
        """

    @abstractmethod
    def answer(self, outputs: Floats) -> Any:
        """
        Give the answer of every row.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, c)
            The outputs of a machine.

        Returns
        -------
        ndarray
            One answer for each row: positions in `classes` for a classifier, the outputs themselves for values.
        """

    @abstractmethod
    def settled(self, low: Floats, high: Floats) -> Booleans:
        """
        Say which rows have the same answer for all outputs between two bounds.

        Parameters
        ----------
        low : ndarray of shape (n_rows, c)
            Lower bounds of the outputs.
        high : ndarray of shape (n_rows, c)
            Upper bounds of the outputs.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            True only where the bounds leave one possible answer.
        """

    @abstractmethod
    def lead(self, outputs: Floats) -> Floats:
        """
        Say how far the outputs of every row are from another answer.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, c)
            The outputs of a machine, or estimates of them.

        Returns
        -------
        ndarray of shape (n_rows,)
            The smaller, the more doubtful the answer is if the outputs are estimates: the size of the output for a
            sign, the distance to the runner-up for the largest output, and for a vote the smallest lead of the winner
            over another class. For values, which have no other answer, it is 0.
        """

    @abstractmethod
    def labels(self, answers: Any) -> npt.NDArray[Any]:
        """
        Turn answers into what `predict` returns.

        Parameters
        ----------
        answers : ndarray
            What `answer` returned.

        Returns
        -------
        ndarray
            The user's class labels for a classifier, the values otherwise.
        """

    def decision(self, outputs: Floats) -> Floats:
        """
        Turn outputs into what `decision_function` returns.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, c)
            The outputs of a machine.

        Returns
        -------
        ndarray
            The outputs; a vector where there is only one output.
        """
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs


class ClassRule(Rule):
    """
    The base class of classifiers' rules: an answer is a position in `classes`.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Argmax, ClassRule
    >>> rule = Argmax(["a", "b", "c"])
    >>> isinstance(rule, ClassRule)
    True
    >>> rule.labels(np.array([2, 0]))
    array(['c', 'a'], dtype='<U1')
    """

    classes: npt.NDArray[Any]

    def _freeze_classes(self, at_least: int) -> None:
        classes = np.array(self.classes)
        if classes.ndim != 1 or len(classes) < at_least:
            raise ValueError(f"{type(self).__name__}: classes must be a list of at least {at_least} labels")
        classes.setflags(write=False)
        object.__setattr__(self, "classes", classes)

    def labels(self, answers: Positions) -> npt.NDArray[Any]:
        return np.asarray(self.classes[answers])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[f], theirs[f]) for f in self.__dataclass_fields__)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Sign(ClassRule):
    """
    The rule of two classes: the sign of one output.

    The answer is `classes[1]` where the output is positive and `classes[0]` where it is negative.

    Parameters
    ----------
    classes : array-like of 2 labels
        The label of negative and the label of positive outputs.
    zero : int, default=1
        The position in `classes` that answers an output of exactly 0.

    Raises
    ------
    ValueError
        If there are not two classes, or zero is neither 0 nor 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Sign
    >>> rule = Sign(["no", "yes"])
    >>> rule.answer(np.array([[-0.3], [0.0], [1.2]]))
    array([0, 1, 1])
    >>> rule.settled(low=np.array([[0.1], [-0.1]]), high=np.array([[0.4], [0.2]]))
    array([ True, False])
    """

    classes: npt.NDArray[Any]
    zero: int = 1

    if TYPE_CHECKING:  # a list becomes an array

        def __init__(self, classes: npt.ArrayLike, zero: int = 1) -> None: ...

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if len(self.classes) != 2 or self.zero not in (0, 1):
            raise ValueError(f"Sign: two classes, and zero in (0, 1); got {self.classes!r}, {self.zero!r}")

    def check_outputs(self, c: int) -> None:
        if c != 1:
            raise ValueError(f"Sign reads one output, the machine has {c}")

    def answer(self, outputs: Floats) -> Positions:
        g = outputs[:, 0]
        # A sum that overflows to NaN gets the answer of 0, as in LIBSVM, which asks for one side alone.
        return np.asarray(~(g < 0) if self.zero else g > 0, dtype=np.intp)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        lo, hi = low[:, 0], high[:, 0]
        return np.asarray((lo >= 0) | (hi < 0) if self.zero else (lo > 0) | (hi <= 0))

    def lead(self, outputs: Floats) -> Floats:
        return np.abs(outputs[:, 0])


class OneClassSign(Sign):
    """
    The rule of a one-class machine: 1 inside, -1 outside and on the decision boundary.

    A type of its own, because classifiers may have the classes -1 and 1, too, and outliers are no classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import OneClassSign
    >>> rule = OneClassSign()
    >>> rule.labels(rule.answer(np.array([[0.2], [0.0], [-0.1]])))
    array([ 1, -1, -1])
    """

    def __init__(self) -> None:
        super().__init__(np.array([-1, 1]), zero=0)


def one_class_sign() -> Sign:
    """
    Make the rule of a one-class machine: 1 inside, -1 outside and on the decision boundary.

    Returns
    -------
    Sign
        A `OneClassSign`.

    Examples
    --------
    >>> from dormie.rules import OneClassSign, one_class_sign
    >>> one_class_sign() == OneClassSign()
    True
    """
    return OneClassSign()


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
        return np.where((votes == len(self.classes) - 1).any(axis=1), _first_largest(votes), -1)

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

    def _sums(self, outputs: Floats) -> Floats:
        """For every class the sum of its pairs' outputs, negated where it is the second, in the order of pairs."""
        sums = np.empty((len(outputs), len(self.classes)))
        for block in self._blocks(len(sums)):
            total = np.zeros((len(self.classes), len(outputs[block])))
            for gained in self._table(outputs[block], -outputs[block]):  # by one class against each other class
                total -= gained  # one class after the other: another order would round differently
            sums[block] = total.T
        return sums

    def _confidences(self, outputs: Floats) -> Floats:
        """scikit-learn's one-vs-rest values: votes, plus the summed outputs scaled to lie within (-1/3, 1/3).

        scikit-learn negates the outputs first, so here an output of exactly 0 votes for the first class.
        """
        sums = self._sums(outputs)
        votes = self._votes(outputs >= 0, outputs < 0)
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def answer(self, outputs: Floats) -> Positions:
        if self.break_ties:
            return _first_largest(self._confidences(outputs))
        positive = outputs > 0
        return _first_largest(self._votes(positive, ~positive))

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


@dataclass(frozen=True, eq=False)
class Argmax(ClassRule):
    """
    The class with the largest output, as one-vs-rest classifiers answer.

    Parameters
    ----------
    classes : array-like of k labels
        The label of each output.
    last_of_equal : bool, default=False
        Whether the last of equal largest outputs wins, not the first.

    Raises
    ------
    ValueError
        If there are fewer than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Argmax
    >>> rule = Argmax(["a", "b", "c"])
    >>> rule.labels(rule.answer(np.array([[0.1, 0.7, -0.2]])))
    array(['b'], dtype='<U1')
    """

    classes: npt.NDArray[Any]
    last_of_equal: bool = False

    if TYPE_CHECKING:  # a list becomes an array

        def __init__(self, classes: npt.ArrayLike, last_of_equal: bool = False) -> None: ...

    def __post_init__(self) -> None:
        self._freeze_classes(2)

    def check_outputs(self, c: int) -> None:
        if c != len(self.classes):
            raise ValueError(f"Argmax of {len(self.classes)} classes reads as many outputs, the machine has {c}")

    def answer(self, outputs: Floats) -> Positions:
        if self.last_of_equal:
            return np.asarray(outputs.shape[1] - 1 - _first_largest(outputs[:, ::-1]))
        return _first_largest(outputs)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        winner = self.answer(low)
        rows = np.arange(len(low))
        others = high.copy()
        others[rows, winner] = -np.inf
        return np.asarray(low[rows, winner] > others.max(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        runner_up, largest = np.partition(outputs, -2, axis=1)[:, -2:].T
        return np.asarray(largest - runner_up)


@dataclass(frozen=True)
class Value(Rule):
    """
    The rule of regression: the outputs are the answer.

    A row is settled once the interval of every output is at most twice the tolerance wide, so that its middle is within
    the tolerance of the true value.

    Parameters
    ----------
    tolerance : float, default=0.0
        The largest error allowed in a value.
    flat : bool, default=True
        Whether a single output is returned as a vector, not as a matrix with one column.

    Raises
    ------
    ValueError
        If the tolerance is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Value
    >>> rule = Value(tolerance=0.1)
    >>> rule.settled(low=np.array([[1.0], [1.0]]), high=np.array([[1.1], [1.5]]))
    array([ True, False])
    """

    tolerance: float = 0.0
    flat: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"Value: tolerance must be finite and not negative, got {self.tolerance}")

    def check_outputs(self, c: int) -> None:
        if self.flat and c != 1:
            raise ValueError(f"Value: flat answers need one output, the machine has {c}; pass flat=False")

    def answer(self, outputs: Floats) -> Floats:
        return outputs

    def settled(self, low: Floats, high: Floats) -> Booleans:
        return np.asarray((high - low <= 2 * self.tolerance).all(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        return np.zeros(len(outputs))

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0] if self.flat else answers

    def decision(self, outputs: Floats) -> Floats:
        return self.labels(outputs)

"""What all rules have in common: outputs to an answer, and when intervals of the outputs already settle it.

`answer` maps outputs (n x c) to answers. `settled` takes the lower and upper ends of every output's interval and says
for which rows all values between them give the same answer; a NaN end settles nothing. The answer of a classifier is a
position in `classes`; `labels` turns it into the label that the user trained with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Booleans, Floats, Positions

_UP = 1 + 2.0**-50  # covers the rounding of a difference of two values


def first_largest(values: npt.NDArray[Any]) -> Positions:
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
    def differ(self, answers: Any, right: Any) -> Booleans:
        """
        Say which answers disagree with others.

        Parameters
        ----------
        answers : ndarray
            Answers of rows.
        right : ndarray
            What they are compared with, such as the answers of the full machine.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            True where classes are different, or values further apart than the tolerance.
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

    def decision_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """
        Bound the decision values of all outputs between two bounds.

        Parameters
        ----------
        low : ndarray of shape (n_rows, c)
            Lower bounds of the outputs.
        high : ndarray of shape (n_rows, c)
            Upper bounds of the outputs.

        Returns
        -------
        low, high : ndarray of shape (n_rows, k)
            Bounds of `decision`, one column for each of its values. They contain the real-number decision values of
            all outputs between, and what `decision` makes of them.
        """
        return low, high


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

    def differ(self, answers: Positions, right: Positions) -> Booleans:
        return np.asarray(answers != right)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[f], theirs[f]) for f in self.__dataclass_fields__)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


class ValueRule(Rule):
    """
    The base class of rules whose answers are numbers.

    A row is settled once every value that its outputs allow lies within the tolerance of the value that is returned:
    that of the outputs in the middle of their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Value, ValueRule
    >>> rule = Value(tolerance=0.1)
    >>> isinstance(rule, ValueRule)
    True
    >>> rule.values(np.array([[0.5]]))
    array([[0.5]])
    """

    tolerance: float

    def within(self, tolerance: float) -> Self:
        """
        Copy the rule with another tolerance.

        Parameters
        ----------
        tolerance : float
            The largest error allowed in a value.

        Returns
        -------
        ValueRule
            The same rule with this tolerance.
        """
        copy: Self = replace(self, tolerance=tolerance)  # type: ignore[type-var]  # all of them are dataclasses
        return copy

    @property
    def certifiable(self) -> bool:
        """Whether narrow intervals of the outputs give narrow ones of the values."""
        return True

    def n_values(self, c: int) -> int:
        """
        Count the values of a row.

        Parameters
        ----------
        c : int
            The number of outputs of the machine.

        Returns
        -------
        int
            The number of columns of `values`.
        """
        return c

    @abstractmethod
    def values(self, outputs: Floats) -> Floats:
        """
        Work out the values of outputs.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, c)
            The outputs of a machine.

        Returns
        -------
        ndarray of shape (n_rows, k)
            The values, as the model itself works them out from the same outputs.
        """

    @abstractmethod
    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """
        Bound the values of all outputs between two bounds.

        Parameters
        ----------
        low : ndarray of shape (n_rows, c)
            Lower bounds of the outputs.
        high : ndarray of shape (n_rows, c)
            Upper bounds of the outputs.

        Returns
        -------
        low, high : ndarray of shape (n_rows, k)
            Bounds that contain the real-number values of all outputs between, and what `values` makes of them.
        """

    def answer(self, outputs: Floats) -> Floats:
        return self.values(outputs)

    def differ(self, answers: Floats, right: Floats) -> Booleans:
        with np.errstate(invalid="ignore"):
            near = np.abs(answers - right) <= self.tolerance
        return np.asarray(~(near | (answers == right)).all(axis=1))

    def settled(self, low: Floats, high: Floats) -> Booleans:
        least, most = self.bounds(low, high)
        middle = self.values(low / 2 + high / 2)
        with np.errstate(invalid="ignore"):  # of values beyond the range nothing is settled
            error = np.maximum(most - middle, middle - least)
        return np.asarray((error * _UP <= self.tolerance).all(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        return np.zeros(len(outputs))

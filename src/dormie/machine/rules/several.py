"""The rule of several columns of labels: each target has a rule of its own, which reads outputs of its own.

A row has one answer all the same: a number that stands for the positions of all its classes, as digits make a number.
So rows with several labels pass through cascades, audits and risks as all others do, and a row agrees only if all of
its labels do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule, Rule
from dormie.machine.typing import Booleans, Floats, Positions

MOST_ANSWERS = 2**62  # those that fit a position


@dataclass(frozen=True)
class SeveralLabels(Rule):
    """
    A label in each of several columns, as scikit-learn's MultiOutputClassifier answers.

    Parameters
    ----------
    rules : sequence of ClassRule
        The rule of each column.
    widths : sequence of int
        How many outputs each of them reads; these lie side by side.

    Raises
    ------
    TypeError
        If one of the rules has no classes.
    ValueError
        If there is no rule, if a rule cannot read so many outputs, or if the labels of a row can be combined in more
        than 2^62 ways.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Argmax, SeveralLabels, Sign
    >>> rule = SeveralLabels([Sign(["no", "yes"]), Argmax(["a", "b", "c"])], widths=[1, 3])
    >>> rule.labels(rule.answer(np.array([[0.5, 0.1, 0.7, -0.2]])))
    array([['yes', 'b']], dtype='<U3')
    """

    rules: tuple[ClassRule, ...]
    widths: tuple[int, ...]

    if TYPE_CHECKING:  # lists become tuples

        def __init__(self, rules: Sequence[ClassRule], widths: Sequence[int]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "widths", tuple(map(int, self.widths)))
        if not self.rules or len(self.rules) != len(self.widths) or min(self.widths) < 1:
            raise ValueError(f"SeveralLabels: {len(self.rules)} rules, and {list(self.widths)} outputs for them")
        for rule, width in zip(self.rules, self.widths, strict=True):
            if not isinstance(rule, ClassRule):
                raise TypeError(f"SeveralLabels: each column needs a rule of classes, got {rule!r}")
            rule.check_outputs(width)
        ways = math.prod(len(rule.classes) for rule in self.rules)
        if ways > MOST_ANSWERS:
            raise ValueError(
                f"SeveralLabels: the labels of {len(self.rules)} columns can be combined in more than 2^62 ways. Use "
                "a machine for some of the columns each"
            )

    @property
    def classes(self) -> list[npt.NDArray[Any]]:
        """The labels of each column."""
        return [rule.classes for rule in self.rules]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that holds the labels of all columns, as NumPy joins them."""
        return self.labels(np.empty(0, dtype=np.intp)).dtype

    def _parts(self) -> Iterator[tuple[ClassRule, slice]]:
        """The rule of each column, and the outputs that it reads."""
        start = 0
        for rule, width in zip(self.rules, self.widths, strict=True):
            yield rule, slice(start, start + width)
            start += width

    def check_outputs(self, c: int) -> None:
        if c != sum(self.widths):
            raise ValueError(f"SeveralLabels: the rules read {sum(self.widths)} outputs, the machine has {c}")

    def answer(self, outputs: Floats) -> Positions:
        answers = np.zeros(len(outputs), dtype=np.intp)
        for rule, part in self._parts():
            answers = answers * len(rule.classes) + rule.answer(outputs[:, part])
        return answers

    def differ(self, answers: Positions, right: Positions) -> Booleans:
        return np.asarray(answers != right)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        return np.asarray(np.all([rule.settled(low[:, part], high[:, part]) for rule, part in self._parts()], axis=0))

    def lead(self, outputs: Floats) -> Floats:
        return np.asarray(np.min([rule.lead(outputs[:, part]) for rule, part in self._parts()], axis=0))

    def labels(self, answers: Positions) -> npt.NDArray[Any]:
        """
        Turn answers into what `predict` returns.

        Parameters
        ----------
        answers : ndarray of int of shape (n_rows,)
            What `answer` returned.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The labels of each row, in a type that holds those of all columns, as NumPy joins them.
        """
        columns, rest = [], np.asarray(answers)
        for rule in reversed(self.rules):
            rest, positions = np.divmod(rest, len(rule.classes))
            columns.append(rule.labels(positions))
        return np.ascontiguousarray(np.asarray(columns[::-1]).T)

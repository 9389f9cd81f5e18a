"""The rule of two classes: the sign of one output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule
from dormie.machine.typing import Booleans, Floats, Positions


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

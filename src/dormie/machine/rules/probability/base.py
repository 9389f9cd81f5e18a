"""What every map from outputs to probabilities offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dormie.machine.typing import Floats


class ProbabilityMap(ABC):
    """A map from the outputs of a machine (n x c) to probabilities of classes (n x k).

    first_of_equal: whether `ranks` are exact, so that of two classes with equal ones the first is the answer
    """

    first_of_equal = False

    @property
    def certifiable(self) -> bool:
        """Whether narrow intervals of the outputs give narrow ones of the probabilities."""
        return True

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number k of classes."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The number c of outputs that the map reads."""

    @abstractmethod
    def values(self, outputs: Floats) -> Floats:
        """The probabilities, by the operations of the library that fitted the map, in its order."""

    @abstractmethod
    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Low and high ends of the probabilities of all outputs between: in real numbers, and as `values` rounds."""

    def ranked(self, outputs: Floats) -> Floats:
        """Numbers for each class, the first largest of which is the answer."""
        return self.values(outputs)

    def ranks(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Low and high ends of numbers for each class; a class above another one's has the larger value too.

        They may be narrower than `bounds`, as they need no common denominator.
        """
        return self.bounds(low, high)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

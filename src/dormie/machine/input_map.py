"""The input map: what a model does to every row before its kernel is applied, such as the scaler of a pipeline.

The points of a machine are already in mapped coordinates. The map is affine, with one center and one scale for each
feature. It also keeps the steps that the model itself takes, because their rounding decides ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Floats, frozen_floats

MAP_STEPS = ("subtract", "divide", "multiply", "add")  # in the order of MapStep (native/methods/source_sum.hpp)


@dataclass(frozen=True, eq=False)
class Affine:
    """
    The affine input map x -> (x - center) / scale.

    Parameters
    ----------
    center : array-like of shape (d,)
        What is subtracted from each feature.
    scale : array-like of shape (d,)
        What each feature is divided by, then. No entry may be 0.
    steps : tuple of (str, array-like of shape (d,)) pairs, default=()
        How the model itself computes the map, where that differs from one subtraction and one division: a sequence of
        "subtract", "divide", "multiply" and "add", each with a number for each feature. The result differs from that
        of center and scale only in its rounding.

    Raises
    ------
    ValueError
        If shapes differ, a number is not finite, a scale is 0, or a step is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import dormie
    >>> scaler = dormie.Affine(center=[1.0, 0.0], scale=[2.0, 4.0])
    >>> scaler(np.array([[3.0, 4.0]]))
    array([[1., 1.]])
    >>> scaler.inverse(np.array([[1.0, 1.0]]))
    array([[3., 4.]])
    """

    center: Floats
    scale: Floats
    steps: tuple[tuple[str, Floats], ...] = ()

    if TYPE_CHECKING:  # lists become arrays

        def __init__(
            self, center: npt.ArrayLike, scale: npt.ArrayLike, steps: Sequence[tuple[str, npt.ArrayLike]] = ()
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("center", "scale"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name), f"Machine: the input map's {name}"))
        if self.center.ndim != 1 or self.center.shape != self.scale.shape:
            raise ValueError(f"Affine: center {self.center.shape} and scale {self.scale.shape} must be equal vectors")
        if not self.scale.all():
            raise ValueError(f"Affine: scale of feature {int(np.argmin(np.abs(self.scale)))} is 0")
        steps = tuple((name, frozen_floats(values, f"Machine: the input map's {name}")) for name, values in self.steps)
        object.__setattr__(self, "steps", steps)
        for name, values in steps:
            if name not in MAP_STEPS or values.shape != self.center.shape:
                raise ValueError(f"Affine: no step {name!r} with {values.shape} numbers; steps are {MAP_STEPS}")

    def __call__(self, rows: Any) -> Floats:
        """Map rows, in one subtraction and one division."""
        return np.asarray((rows - self.center) / self.scale, dtype=np.float64)

    def inverse(self, rows: Any) -> Floats:
        """
        Map rows back.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, d)
            Rows in mapped coordinates.

        Returns
        -------
        ndarray of shape (n_rows, d)
            The rows that the map takes to `rows`, up to rounding.
        """
        return np.asarray(rows * self.scale + self.center, dtype=np.float64)

    def then(self, other: Affine) -> Affine:
        """
        Compose two maps into one.

        Parameters
        ----------
        other : Affine
            The map to apply after this one.

        Returns
        -------
        Affine
            One map with the same result, up to rounding.
        """
        return Affine(self.center + self.scale * other.center, self.scale * other.scale)

    @property
    def keeps_zeros(self) -> bool:
        """Whether every feature of 0 stays 0, at each step."""
        shifts = [values for name, values in self.all_steps if name in ("subtract", "add")]
        return not any(values.any() for values in (self.center, *shifts))

    @property
    def all_steps(self) -> tuple[tuple[str, Floats], ...]:
        """The model's own steps, in order: one subtraction and one division where `steps` is empty."""
        return self.steps or (("subtract", self.center), ("divide", self.scale))

"""Transformations of images that keep their class: `VirtualSVC` applies them to its support vectors.

An invariance is any function from rows to transformed rows, or to a list of such arrays, one for each transformation.
Those here treat every row as an image. Pixels that come in at the border repeat the border, so any background will do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

__all__ = ["Rotations", "Shifts", "Thickness"]

Rows = npt.NDArray[Any]
Shape = tuple[int, ...]

_STRAIGHT = ((-1, 0), (1, 0), (0, -1), (0, 1))
_DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class Shifts:
    """Shift every image by some pixels in each of 4 or 8 directions.

    Call it with rows of shape (n_rows, n_features); it returns a list with one array of that shape for each direction.

    Parameters
    ----------
    pixels : int, default=1
        How many pixels to shift by.
    directions : {4, 8}, default=4
        4 for up, down, left and right; 8 for the diagonals as well.
    shape : tuple of int, default=None
        (height, width) or (height, width, channels) of an image (default: square, with one channel).

    Raises
    ------
    TypeError
        If a parameter is of the wrong type.
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.estimators.invariances import Shifts
    >>> image = np.array([[1, 2, 3, 4]])
    >>> [shifted.tolist() for shifted in Shifts(shape=(2, 2))(image)]
    [[[3, 4, 3, 4]], [[1, 2, 1, 2]], [[2, 2, 4, 4]], [[1, 1, 3, 3]]]
    """

    pixels: int = 1
    directions: int = 4
    shape: Shape | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pixels, Integral):
            raise TypeError(f"Shifts: pixels must be a whole number such as 1, got {self.pixels!r}")
        if self.pixels < 1:
            raise ValueError(f"Shifts: pixels must be a whole number of at least 1, got {self.pixels!r}")
        if self.directions not in (4, 8):
            raise ValueError(f"Shifts: directions must be 4 or 8, got {self.directions!r}")
        _require_shape(self, self.shape)

    def __call__(self, rows: Rows) -> list[Rows]:
        images = _images(self, self.shape, rows)
        steps = _STRAIGHT if self.directions == 4 else _STRAIGHT + _DIAGONAL
        return [_shifted(images, self.pixels * down, self.pixels * right).reshape(rows.shape) for down, right in steps]


@dataclass(frozen=True)
class Rotations:
    """Rotate every image about its middle, clockwise and counterclockwise.

    Call it with rows of shape (n_rows, n_features); it returns a list of two arrays of that shape.

    Parameters
    ----------
    degrees : float, default=10.0
        The angle.
    shape : tuple of int, default=None
        (height, width) or (height, width, channels) of an image (default: square, with one channel).

    Raises
    ------
    TypeError
        If a parameter is of the wrong type.
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from dormie.estimators.invariances import Rotations
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits().data[:5]
    >>> [rotated.shape for rotated in Rotations(degrees=5)(digits)]
    [(5, 64), (5, 64)]
    """

    degrees: float = 10.0
    shape: Shape | None = None

    def __post_init__(self) -> None:
        _require_real(self, degrees=self.degrees)
        if not (math.isfinite(self.degrees) and self.degrees > 0):
            raise ValueError(f"Rotations: degrees must be a number above 0, got {self.degrees!r}")
        _require_shape(self, self.shape)

    def __call__(self, rows: Rows) -> list[Rows]:
        images = _images(self, self.shape, rows)
        return [_rotated(images, angle).reshape(rows.shape) for angle in (self.degrees, -self.degrees)]


@dataclass(frozen=True)
class Thickness:
    """Make the bright lines of every image thicker, and thinner.

    Call it with rows of shape (n_rows, n_features); it returns a list of two arrays of that shape.

    Parameters
    ----------
    amount : float, default=0.5
        How far every pixel moves towards the largest value (thicker) or the smallest value (thinner) among itself and
        its four neighbours; above 0 and at most 1.
    shape : tuple of int, default=None
        (height, width) or (height, width, channels) of an image (default: square, with one channel).

    Raises
    ------
    TypeError
        If a parameter is of the wrong type.
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.estimators.invariances import Thickness
    >>> image = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    >>> thicker, thinner = Thickness(amount=0.5)(image)
    >>> thicker.reshape(3, 3)
    array([[0. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 0. ]])
    """

    amount: float = 0.5
    shape: Shape | None = None

    def __post_init__(self) -> None:
        _require_real(self, amount=self.amount)
        if not 0 < self.amount <= 1:
            raise ValueError(f"Thickness: amount must be above 0 and at most 1, got {self.amount!r}")
        _require_shape(self, self.shape)

    def __call__(self, rows: Rows) -> list[Rows]:
        images = _images(self, self.shape, rows)
        cross = ndimage.generate_binary_structure(2, 1).reshape(1, 3, 3, *(1,) * (images.ndim - 3))
        extremes = (f(images, footprint=cross, mode="nearest") for f in (ndimage.grey_dilation, ndimage.grey_erosion))
        return [(images + self.amount * (extreme - images)).reshape(rows.shape) for extreme in extremes]


def _shifted(images: Rows, down: int, right: int) -> Rows:
    height, width = images.shape[1:3]
    from_row = np.clip(np.arange(height) - down, 0, height - 1)
    from_column = np.clip(np.arange(width) - right, 0, width - 1)
    return images[:, from_row[:, None], from_column]


def _rotated(images: Rows, degrees: float) -> Rows:
    # Bilinear: splines of a higher order ring at the edges of strokes.
    return np.asarray(ndimage.rotate(images, degrees, axes=(2, 1), reshape=False, order=1, mode="nearest"))


def _require_real(invariance: object, **parameters: object) -> None:
    for name, value in parameters.items():
        if not isinstance(value, Real):
            raise TypeError(f"{type(invariance).__name__}: {name} must be a number, got {value!r}")


def _require_shape(invariance: object, shape: Shape | None) -> None:
    if shape is None:
        return
    message = f"{type(invariance).__name__}: shape must be (height, width) or (height, width, channels), got {shape!r}"
    if not isinstance(shape, Sequence) or not all(isinstance(side, Integral) for side in shape):
        raise TypeError(f"{message}: give whole numbers, such as (28, 28)")
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise ValueError(message)


def _images(invariance: object, shape: Shape | None, rows: Rows) -> Rows:
    """The rows as an array of shape (n_rows, height, width) or (n_rows, height, width, channels)."""
    features = rows.shape[1]
    if shape is None:
        side = math.isqrt(features)
        shape = (side, side)
        advice = "are not square images: give the shape=(height, width) that they have"
    else:
        advice = f"are not images of shape {shape}, which have {math.prod(shape)} values"
    if math.prod(shape) != features:
        raise ValueError(f"{type(invariance).__name__}: rows of {features} features {advice}")
    return rows.reshape(len(rows), *shape)

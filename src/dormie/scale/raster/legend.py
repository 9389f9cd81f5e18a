"""What the pixels of a class map stand for: numbers of small types for classes, one that means no data, colours."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine
from dormie.machine.rules import ClassRule, ValueRule

Colour = tuple[int, int, int]

_TYPES = tuple(np.dtype(name) for name in ("uint8", "uint16", "int16", "int32"))  # the smallest that fits is taken
_MOST_COLOURS = 2**16  # that a colour table has room for
# The colours of Okabe and Ito, which people with colour-blindness can tell apart; further ones differ in hue alone.
_PALETTE: tuple[Colour, ...] = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
    (60, 60, 60),
)
_GOLDEN = 0.618034  # of a turn: hues that are so far apart never come close to each other


@dataclass(frozen=True)
class Legend:
    """
    What the pixels of a map stand for.

    Parameters
    ----------
    dtype : dtype
        The type of the pixels.
    nodata : float
        The value of pixels that have no answer.
    values : ndarray of int of shape (n_classes,) or None
        The pixel value of every class; None for the values of a regressor, which are written as they are.
    classes : ndarray of shape (n_classes,) or None
        The labels of the model, in the same order.
    colours : dict
        A colour for each pixel value: red, green and blue, of 0 to 255. Empty for regressors.
    """

    dtype: np.dtype[Any]
    nodata: float
    values: npt.NDArray[Any] | None
    classes: npt.NDArray[Any] | None
    colours: dict[int, Colour]

    @property
    def names(self) -> dict[int, str]:
        """The label of the class that each pixel value stands for, as text."""
        if self.values is None or self.classes is None:
            return {}
        return {int(value): str(label) for value, label in zip(self.values, self.classes, strict=True)}


def legend_of(machine: Machine, colours: Mapping[Any, Colour] | None = None) -> Legend:
    """The legend of a machine's answers; colours: of some classes, by label, in place of the default ones."""
    rule = machine.rule
    if isinstance(rule, ValueRule):
        if colours:
            raise ValueError("colours are for classes, and this model gives values: leave them out")
        return Legend(np.dtype(np.float32), float("nan"), None, None, {})
    if not isinstance(rule, ClassRule):
        raise ValueError("a raster of classes shows one label a pixel, and this model gives several")
    values, dtype, nodata = _numbers(rule.classes)
    return Legend(dtype, nodata, values, rule.classes, _colours(values, rule.classes, colours or {}))


def _numbers(classes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], np.dtype[Any], int]:
    """The pixel value of every class, their type, and the value for no data.

    Whole numbers stand for themselves; other labels are numbered from 1 on.
    """
    whole = _whole(classes)
    values = np.arange(1, len(classes) + 1) if whole is None else whole
    for dtype in _TYPES:
        held, taken = np.iinfo(dtype), set(values.tolist())
        free = [value for value in (0, held.max) if value not in taken]
        if free and held.min <= values.min() and values.max() <= held.max:
            return values.astype(dtype), dtype, int(free[0])
    return _numbers(classes.astype(str))  # labels beyond 32 bits


def _whole(classes: npt.NDArray[Any]) -> npt.NDArray[np.int64] | None:
    """The labels as whole numbers, if they are."""
    if classes.dtype.kind not in "biuf" or not np.all(np.abs(classes.astype(np.float64)) < 2.0**53):
        return None
    whole = classes.astype(np.int64)
    return whole if np.array_equal(whole, classes) else None


def _colours(values: npt.NDArray[Any], classes: npt.NDArray[Any], given: Mapping[Any, Colour]) -> dict[int, Colour]:
    unknown = [label for label in given if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"colours has {unknown[0]!r}, which is not a class; classes are {classes.tolist()}")
    if values.min() < 0 or values.max() >= _MOST_COLOURS:
        return {}
    chosen = [given.get(label, _colour(number)) for number, label in enumerate(classes.tolist())]
    return {int(value): _checked(colour) for value, colour in zip(values, chosen, strict=True)}


def _colour(number: int) -> Colour:
    if number < len(_PALETTE):
        return _PALETTE[number]
    red, green, blue = colorsys.hsv_to_rgb(number * _GOLDEN % 1.0, 0.65, 0.85)
    return round(255 * red), round(255 * green), round(255 * blue)


def _checked(colour: Any) -> Colour:
    parts = tuple(colour) if isinstance(colour, list | tuple | np.ndarray) else ()
    if len(parts) != 3 or not all(isinstance(part, int | np.integer) and 0 <= part <= 255 for part in parts):
        raise ValueError(f"a colour is red, green and blue, each a whole number from 0 to 255, got {colour!r}")
    return int(parts[0]), int(parts[1]), int(parts[2])

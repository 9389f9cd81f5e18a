"""How much memory stages take once they are laid out, told from shapes alone.

A plan file must not unfold into far more memory than its own size, and that has to be known before anything is built
from it. So every stage says, by `Stage.memory`, how many bytes it takes besides its arrays, at most and nearly; what
the native core lays out is counted here as it is laid out there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Shapes = Mapping[str, Sequence[int]]

_TILE = 128  # bytes of a feature in a tile (native/simd/ops.hpp)
_PANEL = 1024  # bytes of one number for each point of a panel
_PANEL_OVERHEAD = 256  # of what a panel has besides: lists, sizes and their bookkeeping


class Size(NamedTuple):
    """What a machine's arrays are made of."""

    points: int
    features: int
    outputs: int


def extent(shapes: Shapes, name: str, axis: int = 0) -> int:
    """How long an array is along an axis; 0 where there is no such array, which the stage itself will refuse."""
    shape = shapes.get(name, ())
    return shape[axis] if axis < len(shape) else 0


def packed(size: Size, itemsize: int) -> int:
    """Bytes of `Packed` (native/tiles/packed.hpp): points in tiles, and for each panel its offsets and weights."""
    tiles = parts(size.points, _TILE // itemsize)
    return tiles * _TILE * size.features + panels(size.points, itemsize) * panel(size.outputs) + 16 * size.points


def panels(points: int, itemsize: int) -> int:
    return parts(points, _PANEL // itemsize)


def panel(outputs: int) -> int:
    """Bytes of a panel besides its points."""
    return (_PANEL + 8) * (outputs + 2) + _PANEL_OVERHEAD


def parts(count: int, whole: int) -> int:
    """Into how many parts of a size so many fit."""
    return -(-count // whole)


def padded(count: int, itemsize: int) -> int:
    """Bytes of so many numbers in whole vectors of 64 bytes."""
    return parts(count * itemsize, 64) * 64

"""How much memory a stage needs, computed from the shapes of its arrays alone.

A plan file must not expand into far more memory than its own size, and this must be checked before anything is built
from it. So every stage states with `Stage.memory` a close upper bound on the bytes it needs besides its arrays. The
functions here count the layouts of the native core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Shapes = Mapping[str, Sequence[int]]

_TILE = 128  # bytes of one feature in a tile (native/simd/ops.hpp)
_ALWAYS_ALL_COLUMNS, _NUMBERS_AN_ENTRY = 4096, 8  # of native/tiles/inverted_index.hpp
_PANEL = 1024  # bytes of a panel's array with one number for each point
_PANEL_OVERHEAD = 256  # bytes of the other fields of a panel


class Size(NamedTuple):
    """The dimensions of a machine's arrays; of a sum of machines, those of all members together."""

    points: int
    features: int
    outputs: int
    nonzeros: int | None = None  # of sparse points; None if they are dense
    members: tuple[Size, ...] = ()  # of a sum of machines


def extent(shapes: Shapes, name: str, axis: int = 0) -> int:
    """Length of an array along an axis; 0 if the array is missing, which the stage itself will refuse."""
    shape = shapes.get(name, ())
    return shape[axis] if axis < len(shape) else 0


def packed(size: Size, itemsize: int) -> int:
    """Bytes of `Packed` (native/tiles/packed.hpp): points in tiles, and the offsets and weights of each panel."""
    tiles = ceil_div(size.points, _TILE // itemsize)
    return tiles * _TILE * size.features + panels(size.points, itemsize) * panel(size.outputs) + 16 * size.points


def packed_apart(size: Size, groups: int, itemsize: int) -> int:
    """The same where groups of points, so many in all, are packed each for itself: none fills its last tile."""
    filled = size.points + groups * (_TILE // itemsize - 1)
    return packed(size._replace(points=filled), itemsize) + groups * panel(size.outputs)


def inverted_index(size: Size, itemsize: int) -> int:
    """Bytes of `InvertedIndex` (native/tiles/inverted_index.hpp), while it is being built."""
    nonzeros = size.nonzeros or 0
    columns = min(size.features, nonzeros + _ALWAYS_ALL_COLUMNS)
    lists = (2 * itemsize + 4) * nonzeros + 20 * columns
    in_tiles = _NUMBERS_AN_ENTRY * itemsize * nonzeros
    return lists + in_tiles + panels(size.points, itemsize) * panel(size.outputs) + 16 * size.points


def panels(points: int, itemsize: int) -> int:
    """Number of panels for these points."""
    return ceil_div(points, _PANEL // itemsize)


def panel(outputs: int) -> int:
    """Bytes of one panel besides its points."""
    return (_PANEL + 8) * (outputs + 2) + _PANEL_OVERHEAD


def ceil_div(count: int, whole: int) -> int:
    """`count / whole`, rounded up."""
    return -(-count // whole)


def padded(count: int, itemsize: int) -> int:
    """Bytes of `count` numbers, rounded up to whole vectors of 64 bytes."""
    return ceil_div(count * itemsize, 64) * 64

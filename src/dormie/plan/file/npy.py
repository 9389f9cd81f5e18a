"""The inner layer of a plan file: arrays as `.npy` files, again with exactly one valid encoding.

The schema states the type and shape of an array. The header of its `.npy` file is there for other tools; it must be
exactly what `header` writes for that type and shape. So no header is ever parsed or evaluated.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.plan.file.document import Raw

_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,6}")
_ALIGNMENT = 64


def is_plain(dtype: str) -> bool:
    """Whether plan files can hold the type: booleans, integers, floats and text, little-endian."""
    return _DTYPE.fullmatch(dtype) is not None


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Format 1.0: magic, length, a Python literal, and spaces up to a multiple of 64 bytes."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(text) + 1) % _ALIGNMENT
    literal = (text + " " * padding + "\n").encode("ascii")
    return b"\x93NUMPY\x01\x00" + len(literal).to_bytes(2, "little") + literal


def size(dtype: str, shape: tuple[int, ...]) -> int:
    """The number of bytes of the whole `.npy` file."""
    return len(header(dtype, shape)) + math.prod(shape) * np.dtype(dtype).itemsize


def pack(array: npt.NDArray[Any]) -> tuple[str, bytes]:
    """The little-endian type and the `.npy` bytes of an array."""
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return little.dtype.str, header(little.dtype.str, little.shape) + little.tobytes()


def view(raw: Raw, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array in a `.npy` file, as a read-only view."""
    return np.ndarray(shape, dtype, buffer=memoryview(raw), offset=len(header(dtype, shape)))


def unpack(raw: Raw, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A copy of the array in a `.npy` file, aligned and in the byte order of this computer."""
    return np.array(view(raw, dtype, shape), dtype=np.dtype(dtype).newbyteorder("="), order="C")

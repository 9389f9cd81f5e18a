"""The inner layer: arrays as `.npy` files, again with one valid encoding.

The type and shape of an array stand in the schema; the header of its `.npy` file, for other people's tools, must
then be exactly what `header` writes for them. So no header is ever parsed, let alone evaluated.
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
    """Whether the type is one that plan files hold: booleans, whole numbers, floats, text; little-endian."""
    return _DTYPE.fullmatch(dtype) is not None


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Format 1.0: magic, length, a Python literal, and spaces up to a multiple of 64 bytes."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(text) + 1) % _ALIGNMENT
    literal = (text + " " * padding + "\n").encode("ascii")
    return b"\x93NUMPY\x01\x00" + len(literal).to_bytes(2, "little") + literal


def size(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of the whole `.npy` file."""
    return len(header(dtype, shape)) + math.prod(shape) * np.dtype(dtype).itemsize


def pack(array: npt.NDArray[Any]) -> tuple[str, bytes]:
    """Little-endian type and `.npy` bytes of an array of plain values."""
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return little.dtype.str, header(little.dtype.str, little.shape) + little.tobytes()


def view(raw: Raw, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array in a `.npy` file, read-only and in place."""
    return np.ndarray(shape, dtype, buffer=memoryview(raw), offset=len(header(dtype, shape)))


def unpack(raw: Raw, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array in a `.npy` file as one of its own, aligned and in the byte order of this computer."""
    return np.array(view(raw, dtype, shape), dtype=np.dtype(dtype).newbyteorder("="), order="C")

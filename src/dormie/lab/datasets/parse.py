"""Parsers of data files: each takes the contents of files and returns (X, y).

The files are identified by their sha256, so these parsers aim for speed and check no syntax.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_OPENERS = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress, b"\xfd7": lzma.decompress}


def unpacked(content: bytes) -> bytes:
    """The decompressed contents of a gzip, bzip2 or xz file."""
    return _OPENERS[content[:2]](content)


def _numbers(text: bytes) -> Floats:
    """All numbers of a text that are separated by white space."""
    return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ")


def idx(images: bytes, labels: bytes) -> tuple[Floats, Labels]:
    """MNIST's pair of files, images and labels; pixels are scaled to [0, 1]."""
    y = np.frombuffer(unpacked(labels), np.uint8, offset=8)
    pixels = np.frombuffer(unpacked(images), np.uint8, offset=16).reshape(len(y), -1)
    return pixels / 255.0, y.astype(np.int64)


def _columns(text: bytes, label: int = -1) -> tuple[Floats, Labels]:
    """Lines of numbers separated by commas or white space; the first (0) or last (-1) number of a line is the label."""
    lines = len(text.rstrip().split(b"\n"))
    columns = _numbers(text.replace(b",", b" ")).reshape(lines, -1)
    X = columns[:, 1:] if label == 0 else columns[:, :-1]
    return np.ascontiguousarray(X), columns[:, label].astype(np.int64)


def table(content: bytes, *, label: int = -1, header: bool = False) -> tuple[Floats, Labels]:
    """A table of numbers with integer labels in its first (0) or last (-1) column."""
    text = unpacked(content)
    return _columns(text.split(b"\n", 1)[1] if header else text, label)


def two_class_table(content: bytes, *, positive: int, label: int = -1, header: bool = False) -> tuple[Floats, Labels]:
    """A table whose label `positive` becomes +1 and the other -1."""
    X, y = table(content, label=label, header=header)
    return X, np.where(y == positive, 1, -1)


def sonar(content: bytes) -> tuple[Floats, Labels]:
    """A table with letters as labels: M (mine) becomes +1, R (rock) becomes -1."""
    return _columns(unpacked(content).replace(b"M", b"1").replace(b"R", b"-1"))


def strings(content: bytes, *, letters: str) -> tuple[npt.NDArray[np.object_], Labels]:
    """A table of letters written as numbers, 1 for the first of `letters`; every line becomes a string."""
    X, y = table(content)
    codes = np.frombuffer(letters.encode("ascii"), np.uint8)[X.astype(np.intp) - 1]
    return np.array([line.tobytes().decode("ascii") for line in codes], dtype=object), y


def svmlight(content: bytes, *, features: int) -> tuple[Any, Labels]:
    """LIBSVM text, `label index:value ...` with indices from 1, as a CSR array.

    A line holds one label and two numbers for each colon, so counting colons gives the offsets of the rows.
    """
    from scipy.sparse import csr_array  # here: it takes longer to import than all of dormie

    text = unpacked(content)
    characters = np.frombuffer(text, np.uint8)
    colons_before_line_end = np.cumsum(characters == ord(":"))[characters == ord("\n")]
    offsets = np.concatenate([[0], colons_before_line_end])
    numbers = _numbers(text.replace(b":", b" "))
    at_label = np.arange(len(offsets) - 1) + 2 * offsets[:-1]
    pairs = np.delete(numbers, at_label).reshape(-1, 2)
    X = csr_array(
        (pairs[:, 1].copy(), pairs[:, 0].astype(np.int32) - 1, offsets.astype(np.int32)),
        shape=(len(at_label), features),
    )
    return X, numbers[at_label].astype(np.int64)


def dense_svmlight(content: bytes, *, features: int) -> tuple[Floats, Labels]:
    """LIBSVM text of mostly non-zero data, as a dense array."""
    X, y = svmlight(content, features=features)
    return X.toarray(), y

"""Parsers of data files: each takes the bytes of files as they are served, and returns (X, y).

What they return is checked against the sha256 of the contents (`contents`), so a parser need not find every mistake in
a file. But it never guesses: text where a number belongs, or lines of different lengths, are a `ValueError`.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_OPENERS = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress, b"\xfd7": lzma.decompress}


def unpacked(content: bytes) -> bytes:
    """The contents of a gzip, bzip2 or xz file, whatever its name; other bytes as they are."""
    opener = _OPENERS.get(content[:2])
    return content if opener is None else opener(content)


def _text(content: bytes) -> bytes:
    """The unpacked text, every line ended by one newline and none empty at the end."""
    return unpacked(content).replace(b"\r\n", b"\n").rstrip() + b"\n"


def _numbers(text: bytes) -> Floats:
    """All numbers of a text that are separated by white space."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy before 2.4 reports what is no number
        try:
            return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise ValueError("there is text where a number belongs") from None


def idx(images: bytes, labels: bytes) -> tuple[npt.NDArray[np.uint8], Labels]:
    """MNIST's pair of files, images and labels; pixels are 0 to 255."""
    y = np.frombuffer(unpacked(labels), np.uint8, offset=8)
    pixels = np.frombuffer(unpacked(images), np.uint8, offset=16).reshape(len(y), -1)
    return pixels, y.astype(np.int64)


def numbers_in_lines(content: bytes) -> Floats:
    """Lines of as many numbers each, separated by commas or white space."""
    return _in_lines(_text(content))


def _in_lines(text: bytes) -> Floats:
    return _numbers(text.replace(b",", b" ")).reshape(text.count(b"\n"), -1)


def table(
    content: bytes,
    *,
    label: int = -1,
    header: bool = False,
    words: Mapping[bytes, bytes] | None = None,
    leave_out: int = 0,
    decimals: int | None = None,
) -> tuple[Floats, Labels]:
    """A table of numbers with integer labels in its first (0) or last (-1) column.

    `words` says which numbers stand for labels that are words, `leave_out` how many columns at the left are left out,
    and `decimals` how many decimals the numbers have (a copy that passed through binary numbers may have more).
    """
    text = _text(content)
    text = text.split(b"\n", 1)[1] if header else text
    for word, number in (words or {}).items():
        text = text.replace(word, number)
    columns = _in_lines(text)
    X = np.ascontiguousarray(columns[:, 1:] if label == 0 else columns[:, leave_out:-1])
    return X if decimals is None else X.round(decimals), columns[:, label].astype(np.int64)


def arff(content: bytes, **options: Any) -> tuple[Floats, Labels]:
    """An ARFF file without sparse rows or missing values; the options are those of `table`."""
    lines = _text(content).split(b"\n")
    begin = next((i for i, line in enumerate(lines) if line.strip().lower() == b"@data"), None)
    if begin is None:
        raise ValueError("an ARFF file has a line @data, and this one has not")
    rows = [line for line in lines[begin + 1 :] if line.strip() and not line.startswith(b"%")]
    return table(b"\n".join(rows), **options)


def svmlight(content: bytes, *, features: int) -> tuple[Any, Labels]:
    """LIBSVM text, `label index:value ...` with indices from 1, as a CSR array.

    A line holds one label and two numbers for each colon, so counting colons gives the offsets of the rows.
    """
    from scipy.sparse import csr_array  # here: it takes longer to import than all of dormie

    text = _text(content)
    characters = np.frombuffer(text, np.uint8)
    colons_before_line_end = np.cumsum(characters == ord(":"))[characters == ord("\n")]
    offsets = np.concatenate([[0], colons_before_line_end])
    numbers = _numbers(text.replace(b":", b" "))
    if len(numbers) != len(offsets) - 1 + 2 * offsets[-1]:
        raise ValueError("a line of LIBSVM text is a label followed by index:value pairs")
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

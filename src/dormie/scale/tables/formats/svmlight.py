"""SVMlight text, as LIBSVM writes it: `label index:value ...`, indices from 1; labels are passed over,
and so are lines of a comment alone. An empty line is an error: it might stand for a row of zeros.

Blocks are CSR arrays. A line holds one label and two numbers for each colon, so counting colons gives the offsets of
the rows, and NumPy reads all numbers of a block at once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dormie.scale.tables.block import Block
from dormie.scale.tables.rows_file import RowsFile, nameless

_BLOCK = 1 << 22  # bytes of text
_LINE = re.compile(rb"\s*[-+.\w]+(\s+\d+:[-+.\w]+)*\s*")


def open_svmlight(path: Path) -> RowsFile:
    """Open a file of SVMlight text, of which nothing is read yet."""
    return RowsFile(str(path), None, False, None, partial(_read, path))


def _read(path: Path, columns: tuple[str, ...]) -> Iterator[Block]:
    features = len(columns)
    if columns != nameless(features):
        raise ValueError(f"{path}: the columns of SVMlight text are f0, f1 and so on, all of them and in order")
    first = 0
    for numbers, lines in _blocks_of_lines(path):
        yield _block(lines, numbers, features, first, path)
        first += len(lines)


def _blocks_of_lines(path: Path) -> Iterator[tuple[npt.NDArray[np.int64], list[bytes]]]:
    """Lines without their comments, and their numbers in the file; lines of a comment alone are left out."""
    before = 0
    with path.open("rb") as file:
        while lines := file.readlines(_BLOCK):
            rows = [_without_comment(line) for line in lines]
            there = [row is line or bool(row.strip()) for row, line in zip(rows, lines, strict=True)]
            yield before + 1 + np.flatnonzero(there), list(compress(rows, there))
            before += len(lines)


def _without_comment(line: bytes) -> bytes:
    return line.split(b"#", 1)[0] if b"#" in line else line


def _block(lines: list[bytes], numbers_of_lines: npt.NDArray[np.int64], features: int, first: int, path: Path) -> Block:
    from scipy.sparse import csr_array  # here: it takes longer to import than all of dormie

    pairs = np.array([line.count(b":") for line in lines])
    offsets = np.concatenate([[0], np.cumsum(pairs)])
    numbers = _numbers(b" ".join(lines).replace(b":", b" "))
    if numbers is None or len(numbers) != len(lines) + 2 * offsets[-1] or not all(map(_has_label_and_pairs, lines)):
        raise ValueError(_first_fault(lines, numbers_of_lines, path))
    of_pairs = np.delete(numbers, np.arange(len(lines)) + 2 * offsets[:-1]).reshape(-1, 2)
    indices = of_pairs[:, 0]
    if len(indices) and not (indices.min() >= 1 and indices.max() <= features and (indices % 1 == 0).all()):
        wrong = int(np.flatnonzero((indices < 1) | (indices > features) | (indices % 1 != 0))[0])
        line = numbers_of_lines[np.searchsorted(offsets, wrong, side="right") - 1]
        raise ValueError(
            f"{path}, line {line:,}: there is a feature {indices[wrong]:g}; the model has features 1 to {features}"
        )
    places, ends = (indices - 1).astype(np.int32), offsets.astype(np.int32)  # scikit-learn's machines take no others
    values = csr_array((of_pairs[:, 1].copy(), places, ends), shape=(len(lines), features))
    return Block(values, nameless(features), first, str(path))


def _has_label_and_pairs(line: bytes) -> bool:
    """Whether a line has as many words as its colons make, and the first is none of a pair."""
    words = line.split()
    return len(words) == 1 + line.count(b":") and b":" not in words[0]


def _numbers(text: bytes) -> npt.NDArray[np.float64] | None:
    """The numbers of a text, or None where not all of it are numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy before 2.4 reports what is no number
        try:
            return np.fromstring(text.decode("latin-1"), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _first_fault(lines: list[bytes], numbers_of_lines: npt.NDArray[np.int64], path: Path) -> str:
    for number, line in zip(numbers_of_lines, lines, strict=True):
        numbers = _numbers(line.replace(b":", b" "))
        if not _LINE.fullmatch(line) or numbers is None or len(numbers) != 1 + 2 * line.count(b":"):
            text = line.decode("ascii", "replace").strip()[:60]
            return f"{path}, line {number:,}: {text!r} is not a label followed by index:value pairs"
    return f"{path}: lines {numbers_of_lines[0]:,} to {numbers_of_lines[-1]:,} cannot be read"

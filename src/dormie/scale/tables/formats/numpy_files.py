"""NumPy's files: .npy is mapped into memory, .npz (an archive with an array, or SciPy's sparse array) is read whole."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dormie.machine.csr import is_sparse
from dormie.scale.tables.block import Block, rows_in_a_block
from dormie.scale.tables.rows_file import RowsFile, nameless


def open_npy(path: Path) -> RowsFile:
    """Open a .npy file; its header is read."""
    with _naming(path):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    return _of_array(path, array)


def open_npz(path: Path) -> RowsFile:
    """Open a .npz file with one array, or one that is named X, or a sparse array."""
    with _naming(path):
        array = _from_archive(path)
    return _of_array(path, array)


class _Unclear(ValueError):
    """A whole archive that does not say which of its arrays has the rows."""


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """A context in which errors of reading name the file."""
    try:
        yield
    except _Unclear:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is not a NumPy file with numbers, or not a whole one ({error})") from None


def _from_archive(path: Path) -> Any:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            from scipy.sparse import load_npz  # here: it takes longer to import than all of dormie

            return load_npz(path).tocsr()
        if len(names) != 1 and "X" not in names:
            there = ", ".join(names)
            raise _Unclear(f"{path}: there are the arrays {there}; save one alone, or name the one with rows X")
        return archive[names[0] if len(names) == 1 else "X"]


def _of_array(path: Path, array: Any) -> RowsFile:
    if array.ndim != 2:
        raise ValueError(f"{path}: an array of shape {array.shape}; rows and columns are needed")
    names = nameless(array.shape[1])
    return RowsFile(str(path), names, False, array.shape[0], partial(_read, path, array, names))


def _read(path: Path, array: Any, names: tuple[str, ...], columns: tuple[str, ...]) -> Iterator[Block]:
    places = None if columns == names else [names.index(column) for column in columns]
    most = rows_in_a_block(array.shape[1])
    for begin in range(0, array.shape[0], most):
        part = array[begin : begin + most]
        part = part if is_sparse(part) else np.asarray(part)
        yield Block(part if places is None else part[:, places], columns, begin, str(path))

"""Writes answers to a file, block by block: beside it first, and under its name when all are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dormie.errors import OutputError
from dormie.scale.tables.needs import needs_pyarrow

Answers = npt.NDArray[Any]


class _Out(Protocol):
    """A file that is being written."""

    def write(self, block: Answers) -> None: ...
    def close(self) -> None: ...


def write_answers(
    path: str | os.PathLike[str], answers: Iterable[npt.NDArray[Any]], *, columns: Sequence[str] | None = None
) -> int:
    """
    Write answers to a file, block by block.

    Parameters
    ----------
    path : str or path-like
        The file, whose name ends in .csv, .parquet, .arrow, .feather or .npy. An existing file is replaced in one step,
        at the end.
    answers : iterable of ndarray
        Blocks of answers, all of one type and width: what `predict_batches` yields.
    columns : sequence of str, default=None
        The names of the columns; by default "answer", or "answer_0" and so on. A .npy file has none.

    Returns
    -------
    int
        How many rows were written.

    Raises
    ------
    ModuleNotFoundError
        If the format needs pyarrow, and it is not installed.
    OSError
        If the file cannot be written, such as on a full disk.
    ValueError
        If the format is not known, or if blocks do not fit together.

    Notes
    -----
    Whatever goes wrong, in writing or in the answers, nothing is left behind, and an older file of that name stays as
    it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dormie.tables import write_answers
    >>> path = Path(tempfile.mkdtemp()) / "labels.npy"
    >>> write_answers(path, (np.full(3, label) for label in (1, 2)))
    6
    >>> np.load(path)
    array([1, 1, 1, 2, 2, 2])
    """
    target = Path(path)
    require_format(target)
    writer = _WRITERS[target.suffix.lower()]
    blocks = iter(answers)
    first = next(blocks, None)
    if first is None:
        raise ValueError(f"{target}: there are no answers to write, not even an empty block")
    names = _names(first, columns)
    with _beside(target) as unfinished, needs_pyarrow(f"writing {target.suffix} files"):
        return _write(target, partial(writer, unfinished, first, names), first, blocks)


def require_format(target: Path) -> None:
    """Raise ValueError unless the name of a file tells a format in which answers are written."""
    if target.suffix.lower() not in _WRITERS:
        raise ValueError(f"{target}: unknown format; the name must end in one of {', '.join(_WRITERS)}")


def _write(target: Path, out: Callable[[], _Out], first: Answers, blocks: Iterator[Answers]) -> int:
    """Write all blocks; only errors of writing name the target, not those of making the answers."""
    rows = 0
    with _naming(target):
        opened = out()
    try:
        for block in chain([first], blocks):
            if block.dtype != first.dtype or block.shape[1:] != first.shape[1:]:
                raise ValueError(
                    f"{target}: the answers from row {rows:,} on are of type {block.dtype} and shape {block.shape}, "
                    f"those before of type {first.dtype} and shape {first.shape}"
                )
            with _naming(target):
                opened.write(block)
            rows += len(block)
    except BaseException:
        with suppress(Exception):  # on a full disk closing fails too
            opened.close()
        raise
    with _naming(target):
        opened.close()
    return rows


def _names(first: Answers, columns: Sequence[str] | None) -> Sequence[str]:
    width = 1 if first.ndim == 1 else first.shape[1]
    if columns is None:
        return ["answer"] if first.ndim == 1 else [f"answer_{number}" for number in range(width)]
    if len(columns) != width:
        raise ValueError(f"{len(columns)} names of columns for answers of {width} columns")
    return columns


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """The path of a file in the same folder, which takes the target's name if all goes well, and vanishes if not."""
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield unfinished
        with _naming(target):
            os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """A context in which errors of writing name the target."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise OutputError(error.errno, f"{target} could not be written, and nothing was left behind ({why})") from error


class _Npy:
    """A .npy file. Its header says how many rows there are, so it is written again at the end, as long as before."""

    def __init__(self, path: Path, first: Answers, names: Sequence[str]) -> None:
        del names  # which the format does not have
        if first.dtype.hasobject:
            raise TypeError(f"answers of type {first.dtype} cannot be written to .npy; write .csv or .parquet")
        self._first, self._rows = first, 0
        self._file = path.open("xb", buffering=1 << 20)
        self._write_header()

    def _write_header(self) -> None:
        shape = (self._rows, *self._first.shape[1:])
        description = np.lib.format.dtype_to_descr(self._first.dtype)
        np.lib.format.write_array_header_1_0(self._file, {"shape": shape, "fortran_order": False, "descr": description})

    def write(self, block: Answers) -> None:
        self._file.write(np.ascontiguousarray(block).data.cast("B") if block.size else b"")
        self._rows += len(block)

    def close(self) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()


class _Arrow:
    """A file that pyarrow writes, record batch by record batch."""

    def __init__(self, make: Callable[[str, Any], Any], path: Path, first: Answers, names: Sequence[str]) -> None:
        self._names = list(names)
        self._writer = make(str(path), self._batch(first).schema)

    def _batch(self, block: Answers) -> Any:
        import pyarrow as pa  # optional

        columns = [block] if block.ndim == 1 else block.T
        return pa.record_batch([pa.array(np.ascontiguousarray(column)) for column in columns], names=self._names)

    def write(self, block: Answers) -> None:
        self._writer.write_batch(self._batch(block))

    def close(self) -> None:
        self._writer.close()


def _csv(path: str, schema: Any) -> Any:
    from pyarrow import csv  # optional

    return csv.CSVWriter(path, schema)


def _parquet(path: str, schema: Any) -> Any:
    from pyarrow import parquet  # optional

    return parquet.ParquetWriter(path, schema)


def _ipc(path: str, schema: Any) -> Any:
    from pyarrow import ipc  # optional

    return ipc.new_file(path, schema)


_WRITERS: dict[str, Callable[[Path, Answers, Sequence[str]], _Out]] = {
    ".csv": partial(_Arrow, _csv),
    ".parquet": partial(_Arrow, _parquet),
    ".arrow": partial(_Arrow, _ipc),
    ".feather": partial(_Arrow, _ipc),
    ".npy": _Npy,
}

"""CSV files, through Arrow's streaming reader: while a block is predicted, a thread reads and parses the next ones.

All columns in use are read as float64. Arrow says which column holds text, but not where; then the file is read again,
line by line, for an error that names the line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from dormie.scale.tables.ahead import ahead
from dormie.scale.tables.arrow import Columns
from dormie.scale.tables.block import Block
from dormie.scale.tables.rows_file import RowsFile, nameless

# Arrow reads text in pieces of so many bytes, and many ahead: with 1 << 23, 784 columns took 240 MB more, and with
# 1 << 22 ten columns took a fifth longer. Pieces are gathered until a block has so many rows: two threads answered rows
# of 784 columns in two thirds of the time when they got 3,000 rather than 740.
_PIECE = 1 << 20
_ROWS = 3000
_LINES_IN_A_PIECE = 8  # of wide tables; Arrow refuses a line that is longer than a piece
_LONGEST_LINE = 1 << 24


@dataclass(frozen=True)
class _Layout:
    """What the first lines tell: what separates columns, their names, whether they are in the file, if any rows are."""

    delimiter: str
    names: tuple[str, ...]
    named: bool
    rows: bool  # whether there are any
    line: int  # the length of the longer one


def open_csv(path: Path) -> RowsFile:
    """Open a CSV file; its first line is read."""
    try:
        layout = _layout(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error})") from None
    return RowsFile(str(path), layout.names, layout.named, None, partial(_read, path, layout))


def _layout(path: Path) -> _Layout:
    with _text(path) as file:
        line, second = file.readline(_LONGEST_LINE).rstrip("\r\n"), file.readline(_LONGEST_LINE)
    if not line:
        raise ValueError(f"{path}: {'the first line' if second else 'the file'} is empty")
    delimiter = max(",\t;", key=line.count)
    words = tuple(word.strip() for word in next(csv.reader([line], delimiter=delimiter)))
    if words == tuple(map(str, range(len(words)))):
        raise ValueError(
            f"{path}: the first line counts from 0 to {len(words) - 1}, as pandas names columns without names. Give "
            "the columns other names (f0, f1, ...); if it is a row, put a line of names before it"
        )
    named = not all(_is_number(word) for word in words)
    names = words if named else nameless(len(words))
    return _Layout(delimiter, names, named, not named or bool(second), max(len(line), len(second)))


def _text(path: Path) -> IO[str]:
    """The text of a file, unpacked if its name says that it is packed."""
    import pyarrow as pa  # optional

    return io.TextIOWrapper(pa.input_stream(str(path)), encoding="utf-8-sig", errors="replace", newline="")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _read(path: Path, layout: _Layout, columns: tuple[str, ...]) -> Iterator[Block]:
    import pyarrow as pa  # optional

    if not layout.rows:  # which Arrow's reader takes for a fault
        return
    pieces = _Pieces(path, layout, columns)
    try:
        yield from _gathered(pieces)
    except OSError as error:
        raise ValueError(f"{path}: damaged after row {pieces.rows:,} ({error})") from None
    except pa.ArrowInvalid as error:
        fault = _first_fault(path, layout, columns, pieces.rows)
        raise ValueError(fault or f"{path}, after row {pieces.rows:,}: {error}") from None


class _Pieces:
    """What Arrow reads, piece by piece; `rows` were read well."""

    def __init__(self, path: Path, layout: _Layout, columns: tuple[str, ...]) -> None:
        self._path, self._layout, self._columns = path, layout, Columns(columns)
        self.rows = 0

    def __iter__(self) -> Iterator[Block]:
        for batch in ahead(_reader(self._path, self._layout, self._columns.names)):
            yield self._columns.block(batch, self.rows, str(self._path))
            self.rows += batch.num_rows


def _gathered(pieces: Iterable[Block]) -> Iterator[Block]:
    """Blocks of enough rows, from pieces that may be small."""
    gathered: list[Block] = []
    rows = 0
    for piece in pieces:
        gathered.append(piece)
        rows += len(piece.values)
        if rows >= _ROWS:
            yield _joined(gathered)
            gathered, rows = [], 0
    if gathered:
        yield _joined(gathered)


def _joined(pieces: list[Block]) -> Block:
    if len(pieces) == 1:
        return pieces[0]
    return replace(pieces[0], values=np.concatenate([piece.values for piece in pieces]))


def _reader(path: Path, layout: _Layout, columns: tuple[str, ...]) -> Any:
    import pyarrow as pa  # optional
    from pyarrow import csv as arrow_csv  # optional

    return arrow_csv.open_csv(
        path,
        arrow_csv.ReadOptions(
            block_size=max(_PIECE, _LINES_IN_A_PIECE * layout.line),
            column_names=layout.names,
            skip_rows=int(layout.named),
        ),
        arrow_csv.ParseOptions(delimiter=layout.delimiter),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.float64()), include_columns=columns, check_utf8=False
        ),
    )


def _first_fault(path: Path, layout: _Layout, columns: tuple[str, ...], good: int) -> str | None:
    """What is wrong with the first bad line after so many good rows."""
    places = [(column, layout.names.index(column)) for column in columns]
    with _text(path) as file:
        lines = csv.reader(file, delimiter=layout.delimiter)
        rows = (words for words in lines if words)
        if layout.named:
            next(rows)
        for row, words in enumerate(rows):
            if row < good:
                continue
            where = f"{path}, line {lines.line_num:,}"
            if len(words) != len(layout.names):
                return f"{where}: there are {len(words)} values, and the file has {len(layout.names)} columns"
            for column, place in places:
                if not _is_number(words[place]) and words[place].strip() not in _MISSING:
                    return f"{where}, column {column!r}: {words[place]!r} is not a number"
    return None


_MISSING = frozenset({"", "NA", "N/A", "NULL", "null", "n/a"})  # what Arrow reads as null: reported as such, by the row

"""Parquet: a file, or a folder of files that are read in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from dormie.scale.tables.arrow import Columns
from dormie.scale.tables.block import Block, rows_in_a_block
from dormie.scale.tables.rows_file import RowsFile


def open_parquet(path: Path) -> RowsFile:
    """Open a Parquet file, or all in a folder; the end of every file, which describes it, is read."""
    paths = _files(path)
    n_rows = 0
    names: tuple[str, ...] | None = None
    for each in paths:
        with _open(each) as file:
            names = tuple(file.schema_arrow.names) if names is None else names
            n_rows += file.metadata.num_rows
    return RowsFile(str(path), names, True, n_rows, partial(_read, paths))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*.parquet") if not file.name.startswith((".", "_")))
    if not found:
        raise ValueError(f"{path}: there is no Parquet file in this folder")
    return found


def _open(path: Path) -> Any:
    import pyarrow as pa  # optional
    from pyarrow import parquet  # optional

    try:
        # Buffered beforehand, all row groups are in memory before the first one is read.
        return parquet.ParquetFile(path, page_checksum_verification=True, pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file, or not a whole one ({error})") from None


def _read(paths: list[Path], columns: tuple[str, ...]) -> Iterator[Block]:
    chosen = Columns(columns)
    for path in paths:
        with _open(path) as file:
            chosen.check(file.schema_arrow, str(path))
            yield from _blocks(file, chosen, str(path))


def _blocks(file: Any, columns: Columns, source: str) -> Iterator[Block]:
    row = 0
    batches = file.iter_batches(batch_size=rows_in_a_block(len(columns.names)), columns=list(columns.names))
    while (batch := _next(batches, source, row)) is not None:
        yield columns.block(batch, row, source)
        row += batch.num_rows


def _next(batches: Iterator[Any], source: str, row: int) -> Any:
    """The next batch, or None; what cannot be read is an error that names the place."""
    import pyarrow as pa  # optional

    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{source}: damaged after row {row:,} ({error})") from None

"""Arrow files, which are also called Feather, and Arrow streams in a file; mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dormie.scale.tables.arrow import Columns
from dormie.scale.tables.block import Block, rows_in_a_block
from dormie.scale.tables.rows_file import RowsFile


def open_arrow(path: Path) -> RowsFile:
    """Open an Arrow file; its schema is read."""
    with _batches(path) as (schema, _):
        names = tuple(schema.names)
    return RowsFile(str(path), names, True, None, partial(_read, path))


@contextmanager
def _batches(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema of a file and its batches."""
    import pyarrow as pa  # optional
    from pyarrow import ipc  # optional

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    try:
        with pa.memory_map(str(path)) as memory:
            if is_file:
                reader = ipc.open_file(memory)
                yield reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                stream = ipc.open_stream(memory)
                yield stream.schema, iter(stream)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not an Arrow file, or not a whole one ({error})") from None


def _read(path: Path, columns: tuple[str, ...]) -> Iterator[Block]:
    most, row = rows_in_a_block(len(columns)), 0
    chosen = Columns(columns)
    with _batches(path) as (schema, batches):
        chosen.check(schema, str(path))
        for batch in batches:
            for begin in range(0, batch.num_rows, most):
                part = batch.slice(begin, most)
                yield chosen.block(part, row, str(path))
                row += part.num_rows

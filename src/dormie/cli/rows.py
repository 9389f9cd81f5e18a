"""Rows as the command line takes them: files of many formats, whole or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer

from dormie.cli.failures import Exit, Failure, blaming
from dormie.machine import Machine
from dormie.machine.csr import is_sparse
from dormie.machine.rows import check_rows, require_finite_vectors
from dormie.scale.tables import Block, RowsFile, open_rows
from dormie.scale.tables.block import naming_errors
from dormie.scale.tables.features import feature_blocks

Rows = Annotated[
    Path,
    typer.Argument(help="CSV, Parquet (file or folder), Arrow, Feather, NPY, NPZ or SVMlight text; the name tells."),
]
Columns = Annotated[
    str | None,
    typer.Option(help="The columns of rows that are the features, in their order, separated by commas."),
]


def opened(path: Path) -> RowsFile:
    """A file of rows. A file of no bytes is no table of any format, not even one without rows."""
    with blaming(Exit.ROWS, path):
        if path.is_file() and not path.stat().st_size:
            raise ValueError(f"{path}: the file is empty")
        return open_rows(path)


def names_of(columns: str | None) -> list[str] | None:
    """The names in a list of columns."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def blocks_of(path: Path, machine: Machine, columns: str | None) -> Iterator[Block]:
    """The features of a file's rows, block by block; whatever is wrong with them is blamed on the rows."""
    with blaming(Exit.ROWS, path):
        yield from feature_blocks(opened(path), machine, names_of(columns))


def read_rows(path: Path, machine: Machine, columns: str | None) -> Any:
    """The features of all rows of a file, at least one, as one matrix. Rows that the machine cannot take are blamed."""
    blocks = []
    for block in blocks_of(path, machine, columns):
        with blaming(Exit.ROWS, path), naming_errors(block):
            require_finite_vectors(check_rows(block.values, machine), machine)
        blocks.append(block.values)
    if not sum(block.shape[0] for block in blocks):
        raise Failure(Exit.ROWS, f"{path}: there are no rows")
    return scipy.sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)

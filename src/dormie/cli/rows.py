"""Rows as the command line takes them: files of many formats, whole or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer

from dormie.cli.failures import Exit, blaming
from dormie.machine import Machine
from dormie.machine.csr import is_sparse
from dormie.scale.tables import Block, open_rows
from dormie.scale.tables.features import feature_blocks

Rows = Annotated[
    Path,
    typer.Argument(help="CSV, Parquet (file or folder), Arrow, Feather, NPY, NPZ or SVMlight text; the name tells."),
]
Columns = Annotated[
    str | None,
    typer.Option(help="The columns of rows that are the features, in their order, separated by commas."),
]


def names_of(columns: str | None) -> list[str] | None:
    """The names in a list of columns."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def blocks_of(path: Path, machine: Machine, columns: str | None) -> Iterator[Block]:
    """The features of a file's rows, block by block; whatever is wrong with them is blamed on the rows."""
    with blaming(Exit.ROWS, path):
        yield from feature_blocks(open_rows(path), machine, names_of(columns))


def read_rows(path: Path, machine: Machine, columns: str | None) -> Any:
    """The features of all rows of a file, as one matrix."""
    blocks = [block.values for block in blocks_of(path, machine, columns)]
    if not blocks:
        return np.empty((0, machine.n_features))
    return scipy.sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)

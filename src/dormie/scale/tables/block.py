"""A block of rows with its place in a table, so that errors name the file or the batch, the row and the column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dormie.machine import csr
from dormie.machine.csr import is_sparse

_BYTES = 1 << 23  # of values in a block: with more, predictions were no faster (two cores, ten columns)


@dataclass(frozen=True, eq=False)
class Block:
    """
    Rows that follow one another in a table.

    Parameters
    ----------
    values : ndarray, CSR array or data frame of shape (n_rows, n_columns)
        What a predictor takes as rows.
    columns : tuple of str or None
        The names of the columns, if they have any.
    first_row : int
        The number of the first row in its source, counted from 0.
    source : str
        The file or the batch that the rows are from.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.tables import Block
    >>> Block(np.zeros((100, 2)), ("a", "b"), 300, "rows.npy").place(7, 1)
    "rows.npy: row 307, column 'b'"
    """

    values: Any = field(repr=False)
    columns: tuple[str, ...] | None
    first_row: int
    source: str

    def place(self, row: int, column: int) -> str:
        """
        Name the place of a value for an error message.

        Parameters
        ----------
        row : int
            The row in the block.
        column : int
            The column in the block.

        Returns
        -------
        str
            The source, the row in the source, and the name of the column.
        """
        name = column if self.columns is None else repr(self.columns[column])
        return f"{self.source}: row {self.first_row + row:,}, column {name}"


@contextmanager
def naming_errors(block: Block) -> Iterator[None]:
    """A context in which errors about the rows of a block name their place in the table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = _first_not_finite(block.values)
        if found is None:
            raise type(error)(f"{block.source}: {error}") from error
        raise ValueError(f"{block.place(*found)} is NaN or infinite; fill such values, or drop the rows") from None


def rows_in_a_block(columns: int) -> int:
    """How many rows of that many columns make a block."""
    return max(1, min(1 << 17, _BYTES // (8 * max(1, columns))))


def _first_not_finite(values: Any) -> tuple[int, int] | None:
    if is_sparse(values):
        found = csr.first_not_finite(csr.as_csr(values))
        return None if found is None else found[:2]
    try:
        wrong = np.argwhere(~np.isfinite(np.asarray(values, dtype=np.float64)))
    except (TypeError, ValueError):
        return None
    return (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) and wrong.shape[1] == 2 else None

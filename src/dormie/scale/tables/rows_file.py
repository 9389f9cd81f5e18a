"""A file of rows that is open for reading in blocks: what is known of it before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dormie.scale.tables.block import Block


@dataclass(frozen=True)
class RowsFile:
    """
    A file of rows; iterating over it reads it from the start, block by block.

    Parameters
    ----------
    path : str
        The file, or a folder of Parquet files.
    columns : tuple of str or None
        The columns that are read, in this order. None for SVMlight text, which does not say how many it has.
    named : bool
        Whether the file names its columns. If not, they are f0, f1 and so on.
    n_rows : int or None
        How many rows there are, if the file says so.
    read : callable
        Makes the blocks of some columns.

    See Also
    --------
    open_rows : Returns this.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dormie.tables import open_rows
    >>> path = Path(tempfile.mkdtemp()) / "rows.svm"
    >>> path.write_text("1 1:0.5 3:2\\n-1 2:7\\n")
    19
    >>> rows = open_rows(path).select(["f0", "f1", "f2"])
    >>> [block.values.toarray().tolist() for block in rows]
    [[[0.5, 0.0, 2.0], [0.0, 7.0, 0.0]]]
    """

    path: str
    columns: tuple[str, ...] | None
    named: bool
    n_rows: int | None
    read: Callable[[tuple[str, ...]], Iterator[Block]] = field(repr=False)

    def select(self, columns: Sequence[str]) -> RowsFile:
        """
        Return the same file with other columns.

        Parameters
        ----------
        columns : sequence of str
            Columns of this one, in any order.

        Returns
        -------
        RowsFile
            The file, of which only these columns are read.

        Raises
        ------
        ValueError
            If the file has no such column, or more than one.
        """
        if self.columns is not None:
            require_columns(columns, self.columns, self.path)
        return replace(self, columns=tuple(columns))

    def __iter__(self) -> Iterator[Block]:
        """Read the rows, block by block."""
        if self.columns is None:
            raise ValueError(f"{self.path} does not say how many columns it has: select(['f0', 'f1', ...])")
        return self.read(self.columns)


def nameless(count: int) -> tuple[str, ...]:
    """The names that columns without names go by."""
    return tuple(f"f{number}" for number in range(count))


def require_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Raise an error that names the source and the column, unless there is one column of each name that is wanted."""
    for column in wanted:
        if (found := names.count(column)) != 1:
            what = "is no column" if not found else f"are {found} columns"
            raise ValueError(f"{source}: there {what} {column!r}; the columns are {some_names(names)}")


def some_names(names: Sequence[str]) -> str:
    """Names for an error message: the first few."""
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")

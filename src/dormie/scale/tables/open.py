"""Opens a file of rows in the format that its name tells."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from dormie.scale.tables.formats.arrow_files import open_arrow
from dormie.scale.tables.formats.csv import open_csv
from dormie.scale.tables.formats.numpy_files import open_npy, open_npz
from dormie.scale.tables.formats.parquet import open_parquet
from dormie.scale.tables.formats.svmlight import open_svmlight
from dormie.scale.tables.needs import needs_pyarrow
from dormie.scale.tables.rows_file import RowsFile

_FORMATS: dict[str, Callable[[Path], RowsFile]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".parquet": open_parquet,
    ".arrow": open_arrow,
    ".feather": open_arrow,
    ".npy": open_npy,
    ".npz": open_npz,
    ".svm": open_svmlight,
    ".svmlight": open_svmlight,
    ".libsvm": open_svmlight,
}
_PACKED = (".gz", ".bz2")


def open_rows(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> RowsFile:
    """
    Open a file of rows for reading in blocks.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in .csv or .tsv (also packed: .csv.gz), .parquet, .arrow or .feather, .npy, .npz, or, for
        SVMlight text, .svm, .svmlight or .libsvm; or a folder of Parquet files, which are read in the order of their
        names.
    columns : sequence of str, default=None
        The columns to read, in this order; all by default. Columns without names are f0, f1 and so on.

    Returns
    -------
    RowsFile
        The file; iterating over it gives blocks. It has `columns`, and `n_rows` where the file says so.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModuleNotFoundError
        If the format needs pyarrow, and it is not installed.
    ValueError
        If the file is of another format, damaged, or without such columns.

    Notes
    -----
    Memory stays bounded whatever the size of the file, except for .npz, which is read whole. A .npy file and an
    uncompressed .arrow file are mapped into memory, not read. Numbers of a CSV file are read as float64. Its first line
    is taken for names unless all of it are numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dormie.tables import open_rows
    >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.arange(12.0).reshape(4, 3))
    >>> rows = open_rows(path, columns=["f2", "f0"])
    >>> rows.n_rows
    4
    >>> [block.values.tolist() for block in rows]
    [[[2.0, 0.0], [5.0, 3.0], [8.0, 6.0], [11.0, 9.0]]]
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{place}: there is no such file")
    kind = ".parquet" if place.is_dir() else suffix(place)
    if kind not in _FORMATS:
        raise ValueError(f"{place}: unknown format {kind!r}; its name must end in one of {', '.join(_FORMATS)}")
    with needs_pyarrow(f"reading {kind} files"):
        rows = _FORMATS[kind](place)
    return rows if columns is None else rows.select(columns)


def suffix(path: Path) -> str:
    """The end of a name that tells the format."""
    plain = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return plain.suffix.lower()

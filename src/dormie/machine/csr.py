"""Checks of sparse rows: scipy does not check the indices of a matrix, and wrong ones crash the process.

Matrices that scipy built are sound; those whose arrays were changed later, or read from a file, may not be. A matrix
that `as_csr` returns is as safe to read as a dense one. This module does not import scipy: a caller with a sparse
matrix has already done so.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Booleans

_INDEX_TYPES = frozenset({np.dtype(np.int32), np.dtype(np.int64)})


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse matrix or array."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def as_csr(X: Any) -> Any:
    """Convert a sparse matrix of any format to CSR; ValueError where its arrays do not fit together."""
    rows = X if X.format == "csr" else _converted(X)
    _check_parts(rows)
    _check_indptr(rows)
    _check_columns(rows)
    return rows


def first_not_finite(rows: Any, may_be_nan: Booleans | None = None) -> tuple[int, int, float] | None:
    """Row, column and value of the first NaN or infinity of a CSR matrix, or None.

    may_be_nan: columns in which NaN does not count.
    """
    rows = canonical(rows)
    values = _used(rows.data, rows)
    finite = np.isfinite(values)
    if may_be_nan is not None and not finite.all():
        finite |= np.isnan(values) & may_be_nan[_used(rows.indices, rows)]
    if finite.all():
        return None
    place = int(np.flatnonzero(~finite)[0])
    return _row_of(place, rows), int(rows.indices[place]), float(values[place])


def _converted(X: Any) -> Any:
    try:
        if X.format == "coo":
            X = type(X)((X.data, (X.row, X.col)), shape=X.shape)  # the constructor checks it
        elif hasattr(X, "check_format"):
            X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"X is a broken {X.format.upper()} matrix: {error}; build it again from its parts") from error
    return X.tocsr()


def _check_parts(rows: Any) -> None:
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    for part in (data, indices, indptr):
        if not isinstance(part, np.ndarray) or part.ndim != 1:
            raise ValueError("CSR rows: data, indices and indptr must be vectors")
    if len(indices) != len(data) or indices.dtype != indptr.dtype or indices.dtype not in _INDEX_TYPES:
        raise ValueError("CSR rows: indices must be as many as data, and of the type of indptr, int32 or int64")
    if len(indptr) != rows.shape[0] + 1:
        raise ValueError(
            f"CSR rows: the shape says {rows.shape[0]} rows, indptr (one number more than rows) {len(indptr) - 1}; "
            "build the matrix again with the right shape"
        )


def _check_indptr(rows: Any) -> None:
    indptr, stored = rows.indptr, len(rows.data)
    if indptr[0] != 0:
        raise ValueError(f"row 0: the CSR indptr starts at {indptr[0]}; it must start at 0")
    if not (indptr[1:] >= indptr[:-1]).all() or indptr[-1] > stored:
        row = int(((indptr[1:] < indptr[:-1]) | (indptr[1:] > stored)).argmax())
        raise ValueError(f"row {row}: the CSR indptr is not ascending within the data")


def _check_columns(rows: Any) -> None:
    columns, count = _used(rows.indices, rows), rows.shape[1]
    unsigned = columns.view(f"u{columns.itemsize}")  # negative indices become the largest: one comparison finds both
    if len(columns) and unsigned.max() >= count:
        place = int((unsigned >= count).argmax())
        raise ValueError(f"row {_row_of(place, rows)}: CSR column index {columns[place]} is outside 0..{count - 1}")


def _used(part: npt.NDArray[Any], rows: Any) -> npt.NDArray[Any]:
    """Data or indices without the unused space that may follow the last entry."""
    return part[: rows.indptr[-1]]


def _row_of(place: int, rows: Any) -> int:
    return int(np.searchsorted(rows.indptr, place, side="right")) - 1


def canonical(rows: Any) -> Any:
    """The matrix with duplicate entries added up, as scipy defines them; the sums may overflow to infinity."""
    if rows.has_canonical_format:
        return rows
    summed = rows.astype(np.float64, copy=True)
    with np.errstate(over="ignore", invalid="ignore"):
        summed.sum_duplicates()
    return summed

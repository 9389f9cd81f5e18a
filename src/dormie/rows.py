"""Rows as users have them, brought to what the stages read: a float32 or float64 matrix, or CSR.

Nothing is copied that need not be. Whatever is wrong is said with its row, column or parameter. NaN and infinity are
looked for later, by whoever reads the values anyway: the native core, or `require_finite` on the reference path.
"""

from __future__ import annotations

import sys
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.kernels import Custom
from dormie.machine import Floats, Machine

_READY = frozenset({np.dtype(np.float32), np.dtype(np.float64)})  # native byte order: others compare unequal


def check_rows(X: Any, machine: Machine) -> Any:
    """The rows of X, ready for the stages of a plan for `machine`."""
    if type(machine.kernel) is Custom and not machine.of_vectors:
        return as_array(X)
    if type(X) is np.ndarray and X.dtype in _READY:
        if X.flags.carray and X.ndim == 2 and X.shape[1] == machine.n_features:
            return X  # the usual case, and for single rows the cost of asking counts
        rows = X
    elif is_sparse(X):
        rows = _check_sparse(X)
    else:
        rows = _as_floats(_values_of_frame(X, machine) if hasattr(X, "columns") else np.asarray(X))
    if rows.ndim != 2:
        raise ValueError(_wrong_dimensions(rows))
    if rows.shape[1] != machine.n_features:
        raise ValueError(
            f"X has {rows.shape[1]} columns, the machine was trained with {machine.n_features}; "
            "pass the same features in the same order"
        )
    return rows if not isinstance(rows, np.ndarray) else _addressable(rows)


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse matrix or array, asked without importing scipy.sparse."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def dense(rows: Any) -> Floats:
    """Checked rows as a dense float64 array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


def some(rows: Any, which: npt.NDArray[np.intp] | npt.NDArray[np.int64]) -> Any:
    """Some of the rows, by number, whatever holds them: a list of strings has no such index."""
    return [rows[i] for i in which.tolist()] if isinstance(rows, list | tuple) else rows[which]


def as_array(rows: Any) -> Any:
    """Rows with a shape: what a Python kernel may be of (strings, graphs) becomes an array of objects."""
    if isinstance(rows, str | bytes):
        raise TypeError(f"X is one string, {rows!r}; for one row pass [X]")
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
        return rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
    if hasattr(rows, "shape"):
        return rows
    if all(isinstance(row, Integral) for row in rows):
        return np.asarray(rows)  # numbers of things that the kernel knows: an index has to stay one
    objects = np.empty(len(rows), dtype=object)
    for number, row in enumerate(rows):  # assigned at once, rows of equal length would be taken for a matrix
        objects[number] = row
    return objects


def mapped(machine: Machine, rows: Any) -> Floats:
    """Checked rows, dense and in the coordinates of the machine's points."""
    return dense(rows) if machine.input_map is None else machine.input_map(dense(rows))


def unmapped(machine: Machine, rows: Floats) -> Floats:
    """What is in the coordinates of the machine's points, as rows come."""
    return rows if machine.input_map is None else machine.input_map.inverse(rows)


def require_finite(rows: Any) -> None:
    """Raise ValueError naming the first NaN or infinity, in the native core's words."""
    values = rows.data if is_sparse(rows) else rows
    if np.isfinite(values).all():
        return
    if is_sparse(rows):
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        column, value = int(rows.indices[place]), values[place]
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        value = values[row, column]
    what = "NaN" if np.isnan(value) else "infinite"
    raise ValueError(f"row {row}, column {column} is {what}; dormie needs finite rows: impute or drop such rows first")


def require_finite_vectors(rows: Any, machine: Machine) -> None:
    """The same of rows that are vectors; what else a Python kernel may be of is its own affair."""
    if machine.of_vectors:
        require_finite(rows)


def _wrong_dimensions(rows: Any) -> str:
    advice = "; for one row pass X.reshape(1, -1), for one feature X.reshape(-1, 1)" if rows.ndim == 1 else ""
    return f"X must have two dimensions, rows and columns; it has shape {rows.shape}{advice}"


def _addressable(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The native core steps by whole aligned elements; anything else (a field of a record, say) is copied."""
    if rows.flags.aligned and all(step % rows.itemsize == 0 for step in rows.strides):
        return rows
    return rows.copy()


def _check_sparse(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(_wrong_dimensions(X))
    rows = X.tocsr()
    return rows if rows.dtype in _READY else rows.astype(_float_type(rows.dtype))


def _float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The smaller of float32 and float64 that holds every value of a type, as far as float64 can."""
    if dtype.kind not in "fiub":
        raise TypeError(f"X has values of type {dtype}; dormie needs numbers: encode them as floats first")
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32, "safe") else np.float64)


def _as_floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if values.dtype in _READY:
        return values
    if values.dtype == object:
        return _from_objects(values)
    return values.astype(_float_type(values.dtype))


def _from_objects(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for place, value in np.ndenumerate(values):
            if not _is_number(value):
                where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
                raise ValueError(
                    f"X is not numeric: {where or 'X'} is {value!r}; encode it as a number first"
                ) from None
        raise


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _values_of_frame(X: Any, machine: Machine) -> np.ndarray[Any, Any]:
    """The values of a pandas or polars data frame whose columns are those of training, in that order."""
    if machine.feature_names is not None:
        _check_names([str(name) for name in X.columns], machine.feature_names)
    return np.asarray(X.to_numpy())


def _check_names(names: list[str], expected: tuple[str, ...]) -> None:
    if tuple(names) == expected:
        return
    missing = [name for name in expected if name not in names]
    unknown = [name for name in names if name not in expected]
    if missing or unknown:
        raise ValueError(
            f"the columns are not those of training: missing {missing[:5]}, unknown {unknown[:5]}; "
            "select the training columns, in order"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"columns given more than once: {repeated[:5]}; select the training columns, in order")
    place = next(i for i, (name, want) in enumerate(zip(names, expected, strict=False)) if name != want)
    raise ValueError(
        f"the columns are in another order than in training: column {place} is {names[place]!r}, "
        f"training had {expected[place]!r}; select X[[...]] in the training order"
    )

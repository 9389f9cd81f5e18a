"""Rows as users pass them, converted to what the stages read: a matrix of a common number type, or CSR in floats.

Data is copied only where necessary, and shapes are checked before values. Stages read pixels, counts and truth values
as they are, and take them for the float64 numbers that they stand for. Errors name the row, the column or the
parameter. NaN and infinity are not checked for here but where the values are read anyway: in the native core, or with
`require_finite` on the NumPy path and where an answer may be given before the row is read.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine, csr, members_of, sparse_points
from dormie.machine.csr import is_sparse
from dormie.machine.frames import values_of_frame
from dormie.machine.kernels import OfDifferences
from dormie.machine.preparation import Preparation
from dormie.machine.typing import Integers, Positions

# In native byte order: others compare unequal. The types that native/python/bind.hpp reads.
_FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_NUMBERS_AT_ONCE = 1 << 20
_READY = _FLOATS | {np.dtype(name) for name in ("float16", "bool", "uint8", "int8", "uint16", "int16", "int32")}


def check_rows(X: Any, machine: Machine) -> Any:
    """Check the rows of X and convert them to what the stages of a plan for `machine` read."""
    if machine.kernel.is_python and not machine.of_vectors:
        require_complete(X)
        return as_array(X)
    if type(X) is np.ndarray and X.dtype in _READY:
        if X.flags.carray and X.ndim == 2 and X.shape[1] == machine.n_columns:
            return X  # the usual case: for single rows even the time of further checks counts
        rows = X
    elif is_sparse(X):
        return _check_sparse(X, machine.n_columns)
    else:
        require_complete(X)
        rows = _as_floats(_values(X, machine))
    _check_shape(rows.shape, machine.n_columns)
    return _addressable(rows)


def require_complete(X: Any) -> None:
    """Raise an error for what NumPy would convert silently but wrongly: masked values and lazy collections."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        where = _place(np.argwhere(np.ma.getmaskarray(X))[0])
        raise ValueError(
            f"X has masked values, the first at {where}; fill them (X.filled(value)) or drop their rows "
            "(numpy.ma.compress_rows(X))"
        )
    if _is_dask(X):
        raise TypeError(
            "X is a Dask collection, which would be computed whole, in this process. Answer it block by block: "
            "dormie.dask.predict(fast, X); or pass X.compute()"
        )
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise TypeError(f"X is a {type(X).__name__}, a query that has not been run; pass X.collect()")


def _is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, or wraps one (as xarray does); does not import dask."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dask_graph__"):
        return False
    return type(X).__module__.split(".")[0] == "dask" or X.__dask_graph__() is not None


def dense(rows: Any) -> Floats:
    """Checked rows as a dense float64 array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


def some(rows: Any, which: Positions | Integers) -> Any:
    """The rows with these numbers, from an array or from a list, which NumPy integers cannot index."""
    return [rows[i] for i in which.tolist()] if isinstance(rows, list | tuple) else rows[which]


def as_array(rows: Any) -> Any:
    """Rows of a Python kernel as an array: objects such as strings or graphs become an array of objects."""
    if isinstance(rows, str | bytes):
        raise TypeError(f"X is one string, {rows!r}; for one row pass [X]")
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
        return rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
    if hasattr(rows, "shape"):
        return rows
    if all(isinstance(row, Integral) for row in rows):
        return np.asarray(rows)  # indices of objects that the kernel looks up: they must stay integers
    objects = np.empty(len(rows), dtype=object)
    for number, row in enumerate(rows):  # one by one: NumPy would make a matrix of rows of equal length
        objects[number] = row
    return objects


def prepared(machine: Machine, rows: Any) -> Floats:
    """Checked rows as a dense array in the coordinates that the input map reads."""
    return dense(rows) if machine.preparation is None else machine.preparation(rows)


def mapped(machine: Machine, rows: Any) -> Floats:
    """Checked rows as a dense array in mapped coordinates, those of the machine's points."""
    ready = prepared(machine, rows)
    return ready if machine.input_map is None else machine.input_map(ready)


def mapped_norms(machine: Machine, rows: Any) -> Floats:
    """The norms of checked rows in mapped coordinates; sparse rows stay sparse where the map keeps zeros.

    Of prepared rows, what bounds on rounding go by instead (`Preparation.reach`).
    """
    input_map = machine.input_map
    if machine.preparation is not None:
        return _reaches(machine, machine.preparation, rows)
    with np.errstate(over="ignore"):
        if not is_sparse(rows) or not (input_map is None or input_map.keeps_zeros):
            return np.asarray(np.linalg.norm(mapped(machine, rows), axis=1))
        return sparse_points.norms(mapped_sparse(machine, rows))


def _reaches(machine: Machine, preparation: Preparation, rows: Any) -> Floats:
    """The reaches of rows, a block at a time."""
    several = max(1, _NUMBERS_AT_ONCE // max(preparation.columns, preparation.result))
    found = [np.empty(0)]
    for start in range(0, rows.shape[0], several):
        ready, errors = preparation.with_errors(rows[start : start + several])
        with np.errstate(over="ignore", invalid="ignore"):
            mapped_rows = ready if machine.input_map is None else machine.input_map(ready)
            found.append(preparation.reach(np.linalg.norm(mapped_rows, axis=1), errors))
    return np.concatenate(found)


def mapped_sparse(machine: Machine, rows: Any) -> Any:
    """Checked sparse rows in mapped coordinates, still sparse: for input maps that keep zeros."""
    rows = csr.canonical(rows)
    return rows if machine.input_map is None else sparse_points.scaled(rows, machine.input_map.scale)


def unmapped(machine: Machine, rows: Any) -> Any:
    """Rows in mapped coordinates, mapped back to the coordinates of the user's rows."""
    if machine.preparation is not None:
        return machine.preparation.inverse(rows if machine.input_map is None else machine.input_map.inverse(rows))
    if machine.input_map is None:
        return rows
    if is_sparse(rows):  # the map keeps zeros: no machine with sparse points has another
        return sparse_points.scaled(rows, 1 / machine.input_map.scale)
    return machine.input_map.inverse(rows)


def require_finite(rows: Any, machine: Machine | None = None) -> None:
    """Raise ValueError naming the first NaN or infinity, with the same message as the native core.

    Where the machine imputes NaN in a column, it may be there.
    """
    allowed = None if machine is None else machine.may_be_nan
    if is_sparse(rows):
        found = csr.first_not_finite(rows, allowed)
        if found is not None:
            raise ValueError(_not_finite(*found))
    elif not np.isfinite(rows).all():
        lost = ~np.isfinite(rows) if allowed is None else ~(np.isfinite(rows) | (np.isnan(rows) & allowed))
        if lost.any():
            row, column = (int(i) for i in np.argwhere(lost)[0])
            raise ValueError(_not_finite(row, column, float(rows[row, column])))


def _not_finite(row: int, column: int, value: float) -> str:
    what = "NaN" if np.isnan(value) else "infinite"
    return f"row {row}, column {column} is {what}; dormie needs finite rows: impute or drop such rows first"


def require_finite_vectors(rows: Any, machine: Machine) -> None:
    """Like `require_finite`, but only where rows are vectors: objects of a Python kernel cannot be checked."""
    if machine.of_vectors:
        require_finite(rows, machine)
        require_domain(rows, machine)


def require_domain(rows: Any, machine: Machine) -> None:
    """Raise ValueError naming the first row that the machine's kernel is not defined for."""
    for member in members_of(machine):
        if isinstance(member.kernel, OfDifferences):
            member.kernel.require_domain(mapped(member, rows))


def _check_shape(shape: tuple[int, ...], features: int) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; it has shape {shape}{_to_matrix(shape, features)}"
        )
    if shape[1] != features:
        raise ValueError(
            f"X has {shape[1]} columns, the machine was trained with {features}; "
            "pass the same features in the same order"
        )


def _to_matrix(shape: tuple[int, ...], features: int) -> str:
    """Advice on how to reshape an array of that shape to rows; each pixel of an image is a row."""
    if not shape:
        return ""
    if len(shape) == 1:
        return "; for one row pass numpy.reshape(X, (1, -1)), for one feature numpy.reshape(X, (-1, 1))"
    if shape[0] == features != shape[-1]:
        return "; pass X.reshape(X.shape[0], -1).T, and bring the answers back with answers.reshape(X.shape[1:])"
    return "; pass X.reshape(-1, X.shape[-1]), and bring the answers back with answers.reshape(X.shape[:-1])"


def _addressable(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The rows, copied if their elements are not aligned (a field of a record array): the native core needs that."""
    if rows.flags.aligned and all(step % rows.itemsize == 0 for step in rows.strides):
        return rows
    return rows.copy()


def _check_sparse(X: Any, features: int) -> Any:
    _check_shape(X.shape, features)
    rows = csr.as_csr(X)
    return rows if rows.dtype in _FLOATS else _cast(rows, _float_type(rows.dtype))


def _float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 where it represents every value of the type exactly, float64 otherwise."""
    if dtype.kind not in "fiub":
        raise TypeError(f"X has values of type {dtype}; dormie needs numbers: encode them as floats first")
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32, "safe") else np.float64)


def _cast(values: Any, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused as such later
        return values.astype(dtype)


def _values(X: Any, machine: Machine) -> np.ndarray[Any, Any]:
    """Whatever holds the rows as an array."""
    if hasattr(X, "columns"):
        return values_of_frame(X, machine.feature_names)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise TypeError("X is an array of records; pass numpy.lib.recfunctions.structured_to_unstructured(X)")
    if isinstance(shape := getattr(X, "shape", None), tuple):
        _check_shape(shape, machine.n_columns)  # before the conversion, which may read or copy much data
    try:
        values = np.asarray(X)
    except ValueError as error:
        _require_even(X)
        raise ValueError(f"X cannot be made an array: {error}") from error
    if values.dtype == object and not values.ndim:
        raise TypeError(
            f"X is {reprlib.repr(X)}; pass rows: an array, a data frame, a sparse matrix or a list of lists"
        )
    return values


def _require_even(X: Any) -> None:
    """Raise ValueError naming the first row of a list whose length differs from that of row 0."""
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X] if isinstance(X, list | tuple) else []
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(f"row {row} has {length} values, row 0 has {lengths[0]}; rows must be equally long")


def _as_floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if values.dtype in _READY:
        return values
    if values.dtype == object:
        return _from_objects(values)
    return np.asarray(_cast(values, _float_type(values.dtype)))


def _from_objects(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for place, value in np.ndenumerate(values):
            if not _is_number(value):
                raise ValueError(
                    f"X is not numeric: {_place(place)} is {reprlib.repr(value)}; "
                    "encode it as a number first, or, where it is missing, impute it or drop the row"
                ) from None
        raise


def _place(indices: Iterable[int]) -> str:
    return ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), indices, strict=False)) or "X"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True

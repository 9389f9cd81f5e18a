"""The points of a machine in a plan file: an array, or, of sparse points, the parts of a CSR array and their width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from dormie.errors import PlanFileError
from dormie.machine.csr import is_sparse
from dormie.machine.sparse_points import MOST_COLUMNS, from_parts
from dormie.plan.file import npy
from dormie.plan.file.document import Document
from dormie.plan.file.require import require_fields, require_floats, require_shape

_FIELDS: dict[str, Any] = {"values": str, "columns": str, "starts": str, "features": int}
_TYPES = {"values": "<f8", "columns": "<i4", "starts": "<i8"}
_Array = npt.NDArray[Any]


def describe_points(points: Any, add: Callable[[str, _Array], str], folder: str) -> str | dict[str, Any]:
    """The name of the array of dense points; of sparse ones an object. add: see `describe`."""
    name = f"{folder}/points"
    if not is_sparse(points):
        return add(name, points)
    parts = {"values": points.data, "columns": points.indices, "starts": points.indptr}
    named = {part: add(f"{name}/{part}", array.astype(_TYPES[part])) for part, array in parts.items()}
    return {**named, "features": int(points.shape[1])}


def arrays_of_points(described: Any, where: str, document: Document) -> tuple[tuple[int, int], list[str]]:
    """The shape of audited points, L x d, and the names of their arrays; PlanFileError if they are not points."""
    schema = document.schema
    if not isinstance(described, dict):
        count, features = require_shape(described, where, schema, 2)
        require_floats(described, (count, features), schema)
        return (count, features), [described]
    require_fields(described, where, _FIELDS)
    for part, dtype in _TYPES.items():
        require_shape(described[part], f"{where}.{part}", schema, 1)
        if schema["arrays"][described[part]]["dtype"] != dtype:
            raise PlanFileError(f"{where}.{part} must be {dtype}")
    values, columns, starts = (_array(described[part], document) for part in _TYPES)
    features = described["features"]
    if not 1 <= features <= MOST_COLUMNS:
        raise PlanFileError(f"{where}.features must be from 1 to {MOST_COLUMNS:,}, found {features:,}")
    if not len(starts) or len(values) != len(columns) or not _canonical(values, columns, starts, features):
        raise PlanFileError(f"{where} is not in canonical form: columns of a point ascend, and no value is 0")
    return (len(starts) - 1, features), [described[part] for part in _TYPES]


def nonzeros_of(described: Any, entries: dict[str, Any]) -> int | None:
    """The number of non-zeros of audited points; None if they are dense."""
    return int(entries[described["values"]]["shape"][0]) if isinstance(described, dict) else None


def points_of(described: Any, document: Document) -> Any:
    """The points that an audited document describes."""
    if not isinstance(described, dict):
        return _copy(described, document)
    values, columns, starts = (_copy(described[part], document) for part in _TYPES)
    return from_parts(values, columns, starts, described["features"])


def _canonical(values: _Array, columns: _Array, starts: _Array, features: int) -> bool:
    """Whether starts ascend from 0 to the end, and the columns of every point within the features."""
    if starts[0] != 0 or starts[-1] != len(values) or (starts[1:] < starts[:-1]).any() or not values.all():
        return False
    if not len(columns):
        return True
    ascends = columns[1:] > columns[:-1]
    ascends[starts[(starts > 0) & (starts < len(columns))] - 1] = True  # from one point to the next
    return bool(ascends.all() and columns.min() >= 0 and columns.max() < features)


def _array(reference: str, document: Document) -> _Array:
    entry = document.schema["arrays"][reference]
    return npy.view(document.arrays[reference], entry["dtype"], tuple(entry["shape"]))


def _copy(reference: str, document: Document) -> _Array:
    entry = document.schema["arrays"][reference]
    return npy.unpack(document.arrays[reference], entry["dtype"], tuple(entry["shape"]))

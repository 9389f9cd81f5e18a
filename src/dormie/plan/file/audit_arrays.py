"""The part of the audit that checks arrays: type, shape, size, checksum and values, each against the schema."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from dormie.errors import PlanFileError
from dormie.plan.file import npy
from dormie.plan.file.archive import MOST_BYTES
from dormie.plan.file.document import Raw
from dormie.plan.file.require import require_fields, shown

_MOST_DIMENSIONS = 8


def audit_arrays(entries: dict[str, Any], arrays: dict[str, Raw]) -> None:
    """Check that the file holds exactly the arrays of the schema, sorted by name, each as its entry describes."""
    for name in sorted(entries.keys() ^ arrays.keys()):
        where = "in the schema but not in the file" if name in entries else "in the file but not in the schema"
        raise PlanFileError(f"array {shown(name)} is {where}")
    if list(arrays) != sorted(arrays):
        raise PlanFileError("the arrays are not in the order of their names")
    for name, entry in entries.items():
        require_fields(entry, name, {"dtype": str, "shape": list, "bytes": int, "sha256": str})
        _audit_type(name, entry["dtype"], entry["shape"])
        _audit_bytes(name, entry, arrays[name])
        _audit_values(name, npy.view(arrays[name], entry["dtype"], tuple(entry["shape"])))


def _audit_type(name: str, dtype: str, shape: list[Any]) -> None:
    if not npy.is_plain(dtype):
        raise PlanFileError(f"{name} is of type {shown(dtype)}, which plan files do not hold")
    if len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise PlanFileError(f"the shape of {name} must be at most {_MOST_DIMENSIONS} whole numbers from 0 on")
    if math.prod(max(n, 1) for n in shape) * np.dtype(dtype).itemsize > MOST_BYTES:
        raise PlanFileError(f"{name} would be larger than a plan file can be: shape {shape}")


def _audit_bytes(name: str, entry: dict[str, Any], raw: Raw) -> None:
    dtype, shape = entry["dtype"], tuple(entry["shape"])
    due = npy.size(dtype, shape)
    if not due == entry["bytes"] == len(raw):
        raise PlanFileError(
            f"{name} has {len(raw):,} bytes and should have {entry['bytes']:,}; {dtype} of shape {shape} takes {due:,}"
        )
    if hashlib.sha256(raw).hexdigest() != entry["sha256"]:
        raise PlanFileError(f"{name} is damaged: its checksum is not the one recorded. Copy the file again")
    header = npy.header(dtype, shape)
    if raw[: len(header)] != header:
        raise PlanFileError(f"{name} does not start with the header for {dtype} of shape {shape}")


def _audit_values(name: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse NaN, infinity, and bytes that are not valid booleans or characters."""
    kind = array.dtype.kind
    if kind == "f" and not np.isfinite(array).all():
        raise PlanFileError(f"{name} has values that are not finite")
    if kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise PlanFileError(f"{name} has values that are neither true nor false")
    if kind == "U" and array.size and np.frombuffer(array.tobytes(), dtype="<u4").max() > 0x10FFFF:
        raise PlanFileError(f"{name} has values that are not text")

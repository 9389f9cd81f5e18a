"""Names of array types, and the read-only copies that frozen dataclasses hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]
Arrays = dict[str, npt.NDArray[Any]]


def frozen_floats(values: Any, name: str) -> Floats:
    """A read-only float64 copy of the values; ValueError names the first that is not finite."""
    array = np.array(values, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name} must be finite, found {array[tuple(where)]} at {where}")
    array.setflags(write=False)
    return array

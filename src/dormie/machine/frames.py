"""Data frames of pandas, polars and similar libraries: column names are checked, values converted to an array."""

from __future__ import annotations

from typing import Any

import numpy as np


def values_of_frame(X: Any, feature_names: tuple[str, ...] | None) -> np.ndarray[Any, Any]:
    """The values of a data frame; an error unless its columns are those of training, in order (None: any columns)."""
    if not hasattr(X, "to_numpy"):
        raise TypeError(f"X is a {type(X).__name__}; pass a pandas or polars data frame, or an array")
    if feature_names is not None:
        _check_names([str(name) for name in X.columns], feature_names)
    types = set(getattr(X, "dtypes", ()))
    if any(_is_time(dtype) for dtype in types):  # polars would convert them to days or microseconds
        name, dtype = next((name, dtype) for name, dtype in zip(X.columns, X.dtypes, strict=True) if _is_time(dtype))
        raise TypeError(f"column {str(name)!r} has values of type {dtype}; encode them as floats first")
    if _comes_as_objects(types):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(X.to_numpy())


def _is_time(dtype: Any) -> bool:
    """Whether a column type of pandas or polars holds dates, times or durations."""
    is_temporal = getattr(dtype, "is_temporal", None)
    return bool(is_temporal()) if callable(is_temporal) else getattr(dtype, "kind", None) in ("m", "M")


def _comes_as_objects(types: set[Any]) -> bool:
    """Whether pandas would return Python objects though all values are numbers: nullable or mixed boolean columns."""
    kinds = {getattr(dtype, "kind", "") for dtype in types}
    mixed = len(kinds) > 1 and "b" in kinds
    return kinds <= set("biuf") and (mixed or not all(isinstance(dtype, np.dtype) for dtype in types))


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

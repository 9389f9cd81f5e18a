"""Points that are mostly zeros: SciPy CSR arrays in float64, private, frozen, and in canonical form.

Text and one-hot models have support vectors with a hundred non-zeros in fifty thousand columns. A `Machine` keeps such
points sparse, and the full sum meets them through an inverted index (native/tiles/inverted_index.hpp). Readers keep
points sparse where that pays (`in_best_form`); all other machines have dense points, which more methods can serve.

SciPy is imported by the functions that make a sparse array, since it takes longer to import than dormie.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dormie.machine.csr import is_sparse
from dormie.machine.typing import Booleans, Floats, Positions

MOST_COLUMNS = 2**31 - 1  # columns are int32 in the native core

# Measured with RBF machines of 300 and 2,000 points of 1,000 to 8,000 columns, and rows alike, on one core: with 5 % of
# non-zeros the index takes 0.5 to 0.8 of the time of tiles that skip the zeros of a row, with 10 % 1.1 to 2.3 of it.
# Points of fewer columns, or fewer numbers in all, are better dense: laying out a row takes no longer than the rest,
# they take little memory, and all methods can serve them.
_MOST_DENSITY = 0.05
_FEWEST_COLUMNS = 2_000
_FEWEST_NUMBERS = 1 << 20


def in_best_form(points: Any) -> Any:
    """Points as a model holds them, dense or sparse, in the form in which their machine is served best."""
    if is_sparse(points) and not sparse_is_best(points.shape[0], points.shape[1], points.nnz):
        return np.asarray(points.toarray())
    return points if is_sparse(points) else np.asarray(points)


def sparse_is_best(count: int, features: int, nonzeros: int) -> bool:
    """Whether points with so few non-zeros are better kept sparse."""
    numbers = count * features
    large = features >= _FEWEST_COLUMNS and numbers >= _FEWEST_NUMBERS
    return large and nonzeros <= _MOST_DENSITY * numbers


def frozen_csr(values: Any, name: str) -> Any:
    """A read-only CSR array in canonical form, without zeros; ValueError names the first value that is not finite."""
    from scipy.sparse import csr_array  # here: see the module's docstring

    if values.ndim != 2 or values.shape[1] > MOST_COLUMNS:
        raise ValueError(f"{name}, being sparse, must have two dimensions and at most {MOST_COLUMNS:,} columns")
    points = csr_array(values, dtype=np.float64, copy=True)
    with np.errstate(over="ignore", invalid="ignore"):
        points.sum_duplicates()
    points.eliminate_zeros()
    if not np.isfinite(points.data).all():
        place = int(np.flatnonzero(~np.isfinite(points.data))[0])
        row = int(np.searchsorted(points.indptr, place, side="right")) - 1
        raise ValueError(f"{name} must be finite, found {points.data[place]} at {[row, int(points.indices[place])]}")
    for part in (points.data, points.indices, points.indptr):
        part.setflags(write=False)
    return points


def from_parts(values: Floats, columns: Any, starts: Any, features: int) -> Any:
    """The CSR array with these parts."""
    from scipy.sparse import csr_array  # here: see the module's docstring

    return csr_array((values, columns, starts), shape=(len(starts) - 1, features))


def stacked(parts: list[Any]) -> Any:
    """Several sets of points one below the other: sparse, if one of them is."""
    if not any(map(is_sparse, parts)):
        return np.concatenate(parts)
    from scipy.sparse import vstack  # here: see the module's docstring

    return vstack(parts, format="csr")


def scaled(points: Any, scale: Floats) -> Any:
    """CSR points or rows with every column divided by its scale."""
    return type(points)((points.data / scale[points.indices], points.indices, points.indptr), shape=points.shape)


def squared_norms(points: Any) -> Floats:
    """|s|^2 of every point, dense or sparse."""
    if not is_sparse(points):
        return np.asarray(np.einsum("ij,ij->i", points, points))
    squares = np.bincount(_row_numbers(points), weights=points.data * points.data, minlength=points.shape[0])
    return squares.astype(np.float64, copy=False)


def norms(points: Any) -> Floats:
    """|s| of every point, dense or sparse."""
    return np.sqrt(squared_norms(points)) if is_sparse(points) else np.asarray(np.linalg.norm(points, axis=1))


def _row_numbers(points: Any) -> Positions:
    """Which point each non-zero is of."""
    return np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))


def any_nonzero(points: Any) -> Booleans:
    """Whether each point has a coordinate other than 0."""
    return np.diff(points.indptr) > 0 if is_sparse(points) else np.asarray(points.any(axis=1))


def keys(points: Any) -> list[bytes]:
    """For each point bytes that equal points share."""
    if not is_sparse(points):
        return [(point + 0.0).tobytes() for point in points]  # adding 0.0 turns -0.0 into 0.0
    places = [slice(start, end) for start, end in pairwise(points.indptr.tolist())]
    return [points.indices[place].tobytes() + points.data[place].tobytes() for place in places]

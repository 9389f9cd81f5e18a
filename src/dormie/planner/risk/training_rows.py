"""Detects rows that the model was trained on, by comparing them with the support vectors, which are training rows.

Training rows lie further from the decision boundary than new rows do, so a calibration on them may not hold for new
rows. But equal rows alone prove nothing: in a table with few distinct values, held-out rows may equal support vectors
by chance.

How many equal rows chance explains can be read from the rows themselves. Let A_k be the number of distinct values that
exactly k of the n rows have, and B_k the number of those that some support vector has as well. If the m support vectors
were drawn like the rows, then

    E[B_k] <= (m/n) (k+1) E[A_(k+1)].

For a value of probability p contributes Pois(k; n p) (1 - exp(-m p)) to E[B_k], and that is at most
m p Pois(k; n p) = (m/n) (k+1) Pois(k+1; n p). Support vectors are not drawn quite like rows: rare values are more
frequent among them. So twice as many coincidences are allowed. k = 1 detects training rows, k = 2 training rows that
are given twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.errors import TrainingRowsWarning, warn_user
from dormie.machine import Floats, Machine, members_of
from dormie.machine.csr import is_sparse
from dormie.machine.rows import mapped, mapped_sparse

_OF_ROWS, _OF_VECTORS = 0.01, 0.2  # coincidences below either share are harmless
_RARE_VALUES = 2  # factor on the bound, for rare values are more frequent among support vectors
_DEVIATIONS = 3  # standard deviations that are allowed for chance
_MEAN_OF_ZERO = 3.0  # a Poisson variable with this mean is still zero in 5 % of the cases
_BLOCK = 1024
_MOST_NUMBERS = 1 << 22  # of rows that are mapped at a time
_DIRECTIONS = 3
_GRID = 2.0**-18  # cell size relative to the spread: above float32 rounding, below the distance of different rows


def warn_of_training_rows(machine: Machine, rows: Any) -> None:
    """Warn if more of the checked rows equal support vectors of the machine, as it was read, than chance explains.

    Rows count as equal if they differ only by rounding to float32, or by the rounding of the input map.
    """
    if not machine.n_points or not rows.shape[0]:
        return
    shared = _Shared.of(machine, rows, _keys_of_points(machine))
    if shared.beyond_chance:
        warn_user(
            f"{shared.rows:,} of the {rows.shape[0]:,} rows given equal support vectors: they look like rows "
            "the model was trained on, which lie further from the decision boundary than new rows do. The risk "
            "promised may not hold for new rows: pass held-out rows",
            TrainingRowsWarning,
        )


def without_certifying(machine: Machine, fit_rows: Any, certifying: Any) -> Any:
    """The rows to fit on; if they overlap with the certifying rows, without those, and with a warning."""
    machine = members_of(machine)[0]  # any of a sum tells rows apart
    keys = [*_all_keys(machine, fit_rows)]
    shared = _Shared.of(machine, certifying, keys)
    if not shared.beyond_chance:
        return fit_rows
    warn_user(
        f"{shared.rows:,} of the {certifying.shape[0]:,} certifying rows are among fit_rows, and what is "
        "fitted on them cannot be judged by them: they were left out of fit_rows",
        TrainingRowsWarning,
    )
    return fit_rows[np.flatnonzero([key not in shared.keys for key in keys])]


@dataclass(frozen=True)
class _Shared:
    """The values that rows share with vectors, and whether there are more than chance explains."""

    keys: set[Hashable]
    rows: int
    beyond_chance: bool

    @classmethod
    def of(cls, machine: Machine, rows: Any, vectors: Iterable[Hashable]) -> _Shared:
        given, others = Counter(_all_keys(machine, rows)), Counter(vectors)
        count, m = rows.shape[0], others.total()
        distinct, keys = Counter(given.values()), {key for key in given if key in others}  # distinct[k] is A_k
        shared = Counter(given[key] for key in keys)  # shared[k] is B_k
        harmless = min(_OF_ROWS * count, _OF_VECTORS * m)
        beyond = any(found > max(harmless, _by_chance(k, distinct[k + 1], m / count)) for k, found in shared.items())
        return cls(keys, sum(given[key] for key in keys), beyond)


def _keys_of_points(machine: Machine) -> Iterator[Hashable]:
    if not machine.of_vectors:
        return _keys_of_things(machine.points)
    return _keys(machine.points, _directions(machine.points))


def _all_keys(machine: Machine, rows: Any) -> Iterator[Hashable]:
    if not machine.of_vectors:
        yield from _keys_of_things(rows)
        return
    directions = _directions(machine.points)
    if machine.has_sparse_points and is_sparse(rows):
        yield from _keys(mapped_sparse(machine, rows), directions)
        return
    several = max(1, min(_BLOCK, _MOST_NUMBERS // machine.n_features))
    for start in range(0, rows.shape[0], several):
        yield from _keys(mapped(machine, rows[start : start + several]), directions)


def _by_chance(k: int, next_distinct: int, ratio: float) -> float:
    """The largest B_k that chance explains, given A_(k+1) and the ratio m/n."""
    mean = next_distinct + _DEVIATIONS * math.sqrt(next_distinct)  # the largest mean that explains this number
    expected = ratio * (k + 1) * (_RARE_VALUES * mean + _MEAN_OF_ZERO)
    return expected + _DEVIATIONS * math.sqrt(expected)


def _directions(points: Any) -> Floats:
    """A few random directions, scaled so that a cell has size 1; the cell of a row's projections identifies the row.

    Rounding may move a value across the edge of a cell. Three projections are rarely that close to an edge; of all
    values of a row, one often is.
    """
    d = points.shape[1]
    if is_sparse(points):
        spread, first = (points.max(axis=0) - points.min(axis=0)).toarray(), points[[0]].toarray()[0]
    else:
        spread, first = np.ptp(points, axis=0), points[0]
    spread = np.where(spread > 0, spread, np.abs(first))
    spread[spread == 0] = 1.0
    return np.asarray(np.random.default_rng(0).normal(size=(d, _DIRECTIONS)) / spread[:, None] / (_GRID * math.sqrt(d)))


def _keys_of_things(rows: Iterable[Any]) -> Iterator[Hashable]:
    """The keys of objects that a Python kernel takes, such as strings: the object itself if hashable, else its repr."""
    for row in rows:
        try:
            hash(row)
        except TypeError:
            yield repr(row)
        else:
            yield row


def _keys(rows: Any, directions: Floats) -> Iterator[bytes]:
    """The cell of every row as a key; rows that differ only by rounding have the same key."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = np.rint(rows @ directions) + 0.0  # turns -0.0 into 0.0, which has other bytes
    return (cell.tobytes() for cell in cells)

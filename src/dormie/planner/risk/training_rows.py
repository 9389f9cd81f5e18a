"""Were these rows used for training? A model carries some of its training rows: the support vectors.

Margins of training rows are inflated, so what is calibrated on them need not hold for others. In a table of few values
rows coincide by nature, though, and held-out ones may well equal support vectors. What nature does shows in the rows
themselves: if m support vectors were drawn like the n rows, those values that k rows have and a support vector too
would on average be no more than m/n times (k+1) times those that k + 1 rows have. (A value of probability p, which
n p rows have on average, is one of the first with a chance of Pois(k; n p) (1 - exp(-m p)), and that is at most m p
Pois(k; n p) = m/n (k+1) Pois(k+1; n p).) Support vectors are not drawn quite so: rare values are among them more often
than common ones. So twice as many are let pass. k = 1 tells training rows, k = 2 training rows given twice.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.errors import TrainingRowsWarning
from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped

_OF_ROWS, _OF_VECTORS = 0.01, 0.2  # fewer coincidences than either share do no harm
_FAVOURED = 2
_DEVIATIONS = 3  # all numbers here are matters of chance
_OF_NONE = 3.0  # the mean that a count of none may well come from
_BLOCK = 1024
_DIRECTIONS = 3
_GRID = 2.0**-18  # of the spread of the support vectors: wider than rounding in float32, closer than different rows are


def warn_of_training_rows(machine: Machine, rows: Any) -> None:
    """Warn if checked rows equal support vectors of a machine as it was read, more often than by chance.

    Equal means up to rounding: that of float32, and of the input map, which scalers apply in ways of their own.
    """
    if not machine.n_points or not rows.shape[0]:
        return
    shared = _Shared.of(machine, rows, _keys_of_points(machine))
    if shared.beyond_chance:
        warnings.warn(
            f"{shared.rows:,} of the {rows.shape[0]:,} rows to calibrate on equal support vectors: they look like rows "
            "the model was trained on, whose margins are inflated. The risk promised may not hold for new rows: pass "
            "held-out rows",
            TrainingRowsWarning,
            stacklevel=4,  # where dormie.compile was called
        )


def without_certifying(machine: Machine, fit_rows: Any, certifying: Any) -> Any:
    """The rows to fit on less those that certify, with a warning, if the two are not from different draws."""
    keys = [*_all_keys(machine, fit_rows)]
    shared = _Shared.of(machine, certifying, keys)
    if not shared.beyond_chance:
        return fit_rows
    warnings.warn(
        f"{shared.rows:,} of the {certifying.shape[0]:,} rows that certify the risk are among fit_rows, and what is "
        "fitted on them cannot be judged by them: they were left out of fit_rows",
        TrainingRowsWarning,
        stacklevel=4,  # where dormie.compile was called
    )
    return fit_rows[np.flatnonzero([key not in shared.keys for key in keys])]


@dataclass(frozen=True)
class _Shared:
    """What rows have in common with vectors: as many values as chance may explain, or more?"""

    keys: set[Hashable]
    rows: int
    beyond_chance: bool

    @classmethod
    def of(cls, machine: Machine, rows: Any, vectors: Iterable[Hashable]) -> _Shared:
        given, others = Counter(_all_keys(machine, rows)), Counter(vectors)
        count, m = rows.shape[0], others.total()
        times, keys = Counter(given.values()), {key for key in given if key in others}
        seen = Counter(given[key] for key in keys)
        harmless = min(_OF_ROWS * count, _OF_VECTORS * m)
        beyond = any(found > max(harmless, _by_chance(k, times[k + 1], m / count)) for k, found in seen.items())
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
    for start in range(0, rows.shape[0], _BLOCK):
        yield from _keys(mapped(machine, rows[start : start + _BLOCK]), directions)


def _by_chance(k: int, of_one_more: int, ratio: float) -> float:
    """The most values that k rows have and a support vector may well have too, if k + 1 rows have so many."""
    mean = of_one_more + _DEVIATIONS * math.sqrt(of_one_more)  # the largest that this number may well come from
    expected = ratio * (k + 1) * (_FAVOURED * mean + _OF_NONE)
    return expected + _DEVIATIONS * math.sqrt(expected)


def _directions(points: Floats) -> Floats:
    """Random ones, features x a few, in units of the grid: where a row is in them tells it from others.

    Rounding may push a row over the border of a cell: a few numbers of it seldom are as near to one, of all its values
    one often is.
    """
    d = points.shape[1]
    spread = np.ptp(points, axis=0)
    spread = np.where(spread > 0, spread, np.abs(points[0]))
    spread[spread == 0] = 1.0
    return np.asarray(np.random.default_rng(0).normal(size=(d, _DIRECTIONS)) / spread[:, None] / (_GRID * math.sqrt(d)))


def _keys_of_things(rows: Iterable[Any]) -> Iterator[Hashable]:
    """What a Python kernel is of, such as strings, is its own key; what cannot be one is told by its words."""
    for row in rows:
        try:
            hash(row)
        except TypeError:
            yield repr(row)
        else:
            yield row


def _keys(rows: Floats, directions: Floats) -> Iterator[bytes]:
    """The cell of every row, the same for rows that differ by rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = np.rint(rows @ directions) + 0.0  # no negative zeros: they have other bytes
    return (cell.tobytes() for cell in cells)

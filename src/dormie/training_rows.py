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
from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.errors import TrainingRowsWarning
from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.rows import mapped

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
    if isinstance(machine.kernel, Custom) or not machine.n_points or not rows.shape[0]:
        return
    count, m = rows.shape[0], machine.n_points
    times, seen = _coincidences(machine, rows)
    harmless = min(_OF_ROWS * count, _OF_VECTORS * m)
    if any(found > max(harmless, _by_chance(k, times[k + 1], m / count)) for k, found in seen.items()):
        equal = sum(k * found for k, found in seen.items())
        warnings.warn(
            f"{equal:,} of the {count:,} rows to calibrate on equal support vectors: they look like rows the model was "
            "trained on, whose margins are inflated. The risk promised may not hold for new rows: pass held-out rows",
            TrainingRowsWarning,
            stacklevel=4,  # where dormie.compile was called
        )


def _coincidences(machine: Machine, rows: Any) -> tuple[Counter[int], Counter[int]]:
    """For every k how many different values k rows have, and how many of those a support vector has too."""
    directions = _directions(machine.points)
    vectors = set(_keys(machine.points, directions))
    blocks = (rows[start : start + _BLOCK] for start in range(0, rows.shape[0], _BLOCK))
    given = Counter(key for block in blocks for key in _keys(mapped(machine, block), directions))
    return Counter(given.values()), Counter(k for key, k in given.items() if key in vectors)


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


def _keys(rows: Floats, directions: Floats) -> Iterator[bytes]:
    """The cell of every row, the same for rows that differ by rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = np.rint(rows @ directions) + 0.0  # no negative zeros: they have other bytes
    return (cell.tobytes() for cell in cells)

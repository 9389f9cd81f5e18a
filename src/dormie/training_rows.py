"""Were these rows used for training? A model carries some of its training rows: the support vectors.

Margins of training rows are inflated, so what is calibrated on them need not hold for others. In a table of few values
rows coincide by nature, though, and held-out ones may well equal support vectors. What nature does shows in the rows
themselves: if m support vectors were drawn like the n rows, those rows that occur once and equal a support vector would
on average be no more than m/n times those that come in twos. (A value of probability p, drawn n p times on average:
n p exp(-n p) (1 - exp(-m p)) is at most m/n of 2 (n p)^2/2 exp(-n p).)
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

_LEAST_SHARE = 0.01  # of the rows: fewer are harmless
_DEVIATIONS = 3  # both numbers are matters of chance
_BLOCK = 1024
_GRID = 2.0**-24  # of the spread of a feature: wider than rounding, closer than different rows are


def warn_of_training_rows(machine: Machine, rows: Any) -> None:
    """Warn if checked rows equal support vectors of a machine as it was read, more often than by chance.

    Equal means up to the rounding of the input map, which scalers apply in ways of their own.
    """
    count = rows.shape[0]
    if isinstance(machine.kernel, Custom) or not count or not machine.n_points:
        return
    seen, by_chance = _coincidences(machine, rows)
    if seen > max(_LEAST_SHARE * count, by_chance):
        warnings.warn(
            f"{seen:,} of the {count:,} rows to calibrate on equal support vectors: they look like rows the model was "
            "trained on, whose margins are inflated. The risk promised may not hold for new rows: pass held-out rows",
            TrainingRowsWarning,
            stacklevel=4,  # where dormie.compile was called
        )


def _coincidences(machine: Machine, rows: Any) -> tuple[int, float]:
    """How many rows that occur once equal a support vector, and how many of them may do so by chance."""
    grid = np.ptp(machine.points, axis=0) * _GRID
    grid[grid == 0] = 1.0
    vectors = set(_keys(machine.points, grid))
    blocks = (rows[start : start + _BLOCK] for start in range(0, rows.shape[0], _BLOCK))
    times = Counter(key for block in blocks for key in _keys(mapped(machine, block), grid))
    seen = sum(1 for key, n in times.items() if n == 1 and key in vectors)
    couples = sum(1 for n in times.values() if n == 2)
    expected = 2 * _at_most(couples) * machine.n_points / rows.shape[0]
    return seen, expected + _DEVIATIONS * math.sqrt(expected)


def _at_most(count: int) -> float:
    """The largest mean that a count may well come from."""
    return count + _DEVIATIONS * math.sqrt(count + 1)


def _keys(rows: Floats, grid: Floats) -> Iterator[int]:
    """A hash of every row, the same for rows that differ by rounding."""
    with np.errstate(over="ignore"):
        cells = np.rint(rows / grid) + 0.0  # no negative zeros: they have other bytes
    return (hash(cell.tobytes()) for cell in cells)

"""Which of the rows given to `fit` are set aside for calibration, before anything is trained on the others.

A risk holds for rows like those it was certified on, and a model is better on its training rows than on others. So no
row may serve for both.

Labels are set aside in proportion. The test of a risk takes the rows for drawn freely; that their labels vary less than
so makes the number of disagreements vary less, too, and then a plan that is wrong too often passes less often.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Floats, Positions
from dormie.planner.options import RiskRequest
from dormie.planner.risk.calibration import require_enough, rows_needed

_SHARE, _MOST = 0.25, 0.5  # of the rows
_TIMES_NEEDED = 1.5  # more than the fewest, so that a few disagreements are allowed and some rows are left to choose by


def is_number(calibration: Any) -> bool:
    """Whether rows are to be split off, and are not given themselves."""
    return calibration is None or isinstance(calibration, Real)


def set_aside(
    calibration: Any, count: int, labels: npt.NDArray[Any] | None, risk: RiskRequest, seed: int
) -> tuple[Positions, Positions]:
    """The positions of the rows to train on, and of those to calibrate on: alike in labels, if there are any."""
    wanted = _default(count, labels, risk) if calibration is None else _number(calibration, count)
    _require_enough(wanted, calibration, count, risk)
    order = np.argsort(_places(np.zeros(count, np.int8) if labels is None else labels, seed), kind="stable")
    return np.sort(order[wanted:]), np.sort(order[:wanted])


def _default(count: int, labels: npt.NDArray[Any] | None, risk: RiskRequest) -> int:
    """A share of the rows, or more where the risk needs more, but never most of them."""
    needed = float(rows_needed(risk.alpha, risk.confidence))
    if risk.per_class and labels is not None:
        needed *= count / np.unique(labels, return_counts=True)[1].min()
    return math.floor(min(max(_SHARE * count, _TIMES_NEEDED * needed), _MOST * count))


def _number(calibration: Any, count: int) -> int:
    """The number that a number or a share of the rows stands for."""
    whole = isinstance(calibration, Integral)
    if isinstance(calibration, bool) or not (calibration >= 1 if whole else 0 < calibration < 1):
        raise ValueError(
            "calibration must be a number of rows such as 4000, a share of them such as 0.3, or the rows themselves, "
            f"got {calibration!r}"
        )
    wanted = int(calibration) if whole else math.floor(calibration * count)
    if wanted >= count:
        raise ValueError(f"calibration={calibration!r} leaves none of the {count:,} rows to train on: give a lower one")
    return wanted


def _require_enough(wanted: int, calibration: Any, count: int, risk: RiskRequest) -> None:
    try:
        require_enough(wanted, risk.alpha, risk.confidence)
    except ValueError as error:
        raise ValueError(
            f"{error}. fit was given n_samples={count:,} rows; calibration={calibration!r} sets {wanted:,} aside"
        ) from error


def _places(labels: npt.NDArray[Any], seed: int) -> Floats:
    """A number for every row, so that those with the lowest have their share of each label, drawn at random.

    The last row of a label comes after all others: every label stays among the rows to train on.
    """
    rng = np.random.default_rng(seed)
    _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(label[shuffled], kind="stable")]
    rank = np.empty(len(labels))
    rank[by_label] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    of = counts[label]
    return np.where(rank == of - 1, np.inf, (rank + rng.random(len(labels))) / of)

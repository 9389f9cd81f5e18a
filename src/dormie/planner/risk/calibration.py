"""Risk control: how bold a plan may be, by what held-out rows show (Learn-then-Test with a fixed sequence).

A family of plans goes from cautious to bold. Each is a hypothesis, "it disagrees with the full machine on more than a
share alpha of the rows", with an exact p-value: so few disagreements as were seen, or fewer, in n rows have at most
probability P(Bin(n, alpha) <= seen) if it is true. The plans are tested in that order, each at level 1 - confidence,
up to the first that fails. No correction for their number is needed, whatever their rates: to certify a bad plan one
must first pass the first bad plan of the sequence, and that happens with probability 1 - confidence at most.

This needs rows that are exchangeable with those to come, and a sequence that was fixed before they were looked at. So
`split` sets some rows apart to choose plans by, and `dormie.planner.risk.training_rows` warns of rows that served for
training.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.numerics.binomial import p_value
from dormie.plan.guarantee import Count, Evidence, Risk, require_share
from dormie.plan.plan import versions
from dormie.plan.text import percent

_MOST_NEEDED = 10**15

Booleans = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


def rows_needed(alpha: float, confidence: float) -> int:
    """The fewest rows that certify a risk, if the plan agrees with the full machine on all of them."""
    require_share(alpha, "risk")
    require_share(confidence, "confidence")
    return bisect_left(range(_MOST_NEEDED), True, key=lambda n: p_value(n, 0, alpha) <= 1 - confidence)


class Split(NamedTuple):
    """Rows, by their positions in ascending order: those that plans are chosen by, and those that certify."""

    choosing: Positions
    certifying: Positions


def split(count: int, alpha: float, confidence: float, seed: int, *, least: int = 0, per_class: bool = False) -> Split:
    """Rows at random into two parts, of which the first has at least so many rows where the second can spare them.

    The second has as many as make a difference: it may show one more disagreement only with many more rows. (Of a risk
    for each class nobody knows how many those are.)
    """
    _require_enough(count, alpha, confidence)
    needed = rows_needed(alpha, confidence)
    certifying = max(needed, count - least)
    if not per_class:
        allowed = partial(_allowed, alpha=alpha, confidence=confidence)
        certifying = needed + bisect_left(range(needed, certifying), allowed(certifying), key=allowed)
    order = np.random.default_rng(seed).permutation(count)
    return Split(np.sort(order[certifying:]), np.sort(order[:certifying]))


def _allowed(rows: int, alpha: float, confidence: float) -> int:
    """The most disagreements that so many rows may show."""
    return bisect_right(range(rows + 1), 1 - confidence, key=lambda seen: p_value(rows, seen, alpha)) - 1


def require_enough_of_each(labels: npt.NDArray[Any], alpha: float, confidence: float) -> None:
    """Raise ValueError unless a risk can be certified for each class that occurs: better before than after fitting."""
    _require_enough_of_each(_counts(np.zeros(len(labels), dtype=np.bool_), labels), alpha, confidence)


def certify(
    disagreements: Callable[[float], Booleans],
    cautions: Sequence[float],
    alpha: float,
    confidence: float,
    *,
    classes: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> Risk | None:
    """The promise that the boldest plan certified can make, its caution in evidence; None if not even the first can.

    disagreements  for a caution, on which of the certifying rows its plan disagrees with the full machine
    cautions       from cautious to bold, fixed before the certifying rows were looked at
    classes        the full machine's labels of these rows, for a risk in each class
    seed           that the rows were split by, for the record

    With classes a plan passes if it passes the test of every class that occurs, each at the full level: it is bad if it
    is bad in any class, and then that class's own test alone lets it pass with probability 1 - confidence at most.
    """
    passed, tested = None, 0
    for caution in cautions:
        counts = _counts(np.asarray(disagreements(caution), dtype=np.bool_), classes)
        _require_enough(sum(count.rows for count in counts), alpha, confidence)
        _require_enough_of_each(counts, alpha, confidence)
        tested += 1
        p = max(p_value(count.rows, count.disagreements, alpha) for count in counts)
        if p > 1 - confidence:
            break
        passed = caution, counts, p
    if passed is None:
        return None
    caution, counts, p = passed
    evidence = Evidence(
        rows=sum(count.rows for count in counts),
        disagreements=sum(count.disagreements for count in counts),
        p_value=p,
        caution=float(caution),
        tested=tested,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=seed,
        versions=versions(),
        classes=() if classes is None else tuple(counts),
    )
    return Risk(float(alpha), float(confidence), evidence)


def _counts(wrong: Booleans, classes: npt.NDArray[Any] | None) -> list[Count]:
    """Of all rows together, or of the rows of each class that occurs."""
    if classes is None:
        return [Count("", len(wrong), int(np.count_nonzero(wrong)))]
    if len(classes) != len(wrong):
        raise ValueError(f"there are {len(classes)} labels for {len(wrong)} certifying rows")
    labels, place = np.unique(classes, return_inverse=True)
    rows, found = np.bincount(place), np.bincount(place[wrong], minlength=len(labels))
    return [Count(str(label), int(n), int(k)) for label, n, k in zip(labels, rows, found, strict=True)]


def _require_enough(count: int, alpha: float, confidence: float) -> None:
    needed = rows_needed(alpha, confidence)
    if count >= needed:
        return
    least = -math.expm1(math.log(1 - confidence) / count) if count else 1.0
    raise ValueError(
        f"{_promise(alpha, confidence)} needs at least {needed:,} held-out rows, and there are {count:,}: pass more "
        f"rows, or allow a higher risk (the least that so many can show is {least:.4g})"
    )


def _require_enough_of_each(counts: Sequence[Count], alpha: float, confidence: float) -> None:
    needed = rows_needed(alpha, confidence)
    short = [f"class {count.label!r} has {count.rows:,}" for count in counts if count.rows < needed]
    if short:
        raise ValueError(
            f"{_promise(alpha, confidence)} for each class needs at least {needed:,} certifying rows of each, and "
            f"{', '.join(short)}: pass more rows, allow a higher risk, or ask for the risk of all classes together"
        )


def _promise(alpha: float, confidence: float) -> str:
    return f"a risk of {alpha:g} with {percent(confidence)} confidence"

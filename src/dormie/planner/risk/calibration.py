"""Certifies a risk: held-out rows decide how bold a plan may be (Learn-then-Test with fixed-sequence testing).

The plans form a sequence from cautious to bold. For each plan, the null hypothesis is that it disagrees with the full
machine on more than a share alpha of the rows. If that is true, the probability of at most k disagreements in n rows is
at most P(Bin(n, alpha) <= k), which is an exact p-value. The plans are tested in order, each at level 1 - confidence,
up to the first that fails; the last that passed is certified. No correction for the number of tests is needed: to
certify any bad plan, the first bad plan of the sequence must pass, and the probability of that is at most
1 - confidence.

This requires rows that are exchangeable with future rows, and a sequence that was fixed before they were looked at. So
`split` sets other rows apart for choosing plans, and `dormie.planner.risk.training_rows` warns of training rows.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Booleans, Positions
from dormie.numerics.binomial import p_value
from dormie.plan.guarantee import Count, Evidence, Risk, require_share
from dormie.plan.plan import versions
from dormie.plan.text import percent

_MOST_NEEDED = 10**15

T = TypeVar("T")  # a plan


def rows_needed(alpha: float, confidence: float) -> int:
    """The smallest number of rows that can certify a risk: enough if the plan agrees with the full machine on all."""
    require_share(alpha, "risk")
    require_share(confidence, "confidence")
    return bisect_left(range(_MOST_NEEDED), True, key=lambda n: p_value(n, 0, alpha) <= 1 - confidence)


class Split(NamedTuple):
    """The positions of the choosing rows and of the certifying rows, both in ascending order."""

    choosing: Positions
    certifying: Positions


def split(count: int, alpha: float, confidence: float, seed: int, *, least: int = 0, per_class: bool = False) -> Split:
    """Split rows at random: at least `least` choosing rows, if enough are left to certify, and certifying rows.

    The number of disagreements allowed grows with the number of certifying rows, in steps. Rows beyond the last step
    that can be reached do not help to certify, so they are used for choosing. With a risk for each class the steps are
    unknown, and no such rows are moved.
    """
    require_enough(count, alpha, confidence)
    needed = rows_needed(alpha, confidence)
    certifying = max(needed, count - least)
    if not per_class:
        allowed = partial(_allowed, alpha=alpha, confidence=confidence)
        certifying = needed + bisect_left(range(needed, certifying), allowed(certifying), key=allowed)
    order = np.random.default_rng(seed).permutation(count)
    return Split(np.sort(order[certifying:]), np.sort(order[:certifying]))


def _allowed(rows: int, alpha: float, confidence: float) -> int:
    """The largest number of disagreements with which that many rows still certify the risk."""
    return bisect_right(range(rows + 1), 1 - confidence, key=lambda found: p_value(rows, found, alpha)) - 1


def require_enough_of_each(labels: npt.NDArray[Any], alpha: float, confidence: float) -> None:
    """Raise ValueError unless every class that occurs has enough rows to certify. Called before the long fitting."""
    _require_enough_of_each(_counts(np.zeros(len(labels), dtype=np.bool_), labels), alpha, confidence)


@dataclass(frozen=True)
class Certified:
    """The index of the certified plan in the sequence that was tested, and the risk that it guarantees."""

    index: int
    risk: Risk


def certify(
    plans: Sequence[T],
    disagreements: Callable[[T], Booleans],
    alpha: float,
    confidence: float,
    *,
    classes: npt.NDArray[Any] | None = None,
    seed: int = 0,
    tolerance: float | None = None,
) -> Certified | None:
    """Test the plans in order, and certify the last one to pass; None if the first fails.

    plans          the plans in order, from cautious to bold, fixed before the certifying rows were looked at
    disagreements  from a plan to the certifying rows on which it disagrees with the full machine
    classes        the full machine's labels of these rows, for a risk in each class
    seed           the seed of the split, for the record
    tolerance      the largest error of a value that is no disagreement, for the record; None for classes

    With classes, a plan passes if it passes the test of every class that occurs, each at the full level. A plan is bad
    if it is bad in some class, and the test of that class alone lets it pass with probability at most 1 - confidence.
    """
    passed = [*_passing(map(disagreements, plans), classes, alpha, confidence)]
    if not passed:
        return None
    index, (counts, p) = len(passed) - 1, passed[-1]
    evidence = Evidence(
        rows=sum(count.rows for count in counts),
        disagreements=sum(count.disagreements for count in counts),
        p_value=p,
        rank=len(plans) - index,  # the boldest plan has rank 1
        tested=min(len(passed) + 1, len(plans)),  # the first that failed, too
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=seed,
        versions=versions(),
        classes=() if classes is None else tuple(counts),
    )
    return Certified(index, Risk(float(alpha), float(confidence), evidence, tolerance))


def _passing(
    disagreements: Iterable[Booleans], classes: npt.NDArray[Any] | None, alpha: float, confidence: float
) -> Iterator[tuple[list[Count], float]]:
    """The counts and the p-value of each plan, up to the first that fails."""
    for wrong in disagreements:
        counts = _counts(np.asarray(wrong, dtype=np.bool_), classes)
        require_enough(sum(count.rows for count in counts), alpha, confidence)
        _require_enough_of_each(counts, alpha, confidence)
        p = max(p_value(count.rows, count.disagreements, alpha) for count in counts)
        if p > 1 - confidence:
            return
        yield counts, p


def _counts(wrong: Booleans, classes: npt.NDArray[Any] | None) -> list[Count]:
    """The counts of all rows together, or of the rows of each class that occurs."""
    if classes is None:
        return [Count("", len(wrong), int(np.count_nonzero(wrong)))]
    if len(classes) != len(wrong):
        raise ValueError(f"there are {len(classes)} labels for {len(wrong)} certifying rows")
    labels, place = np.unique(classes, return_inverse=True)
    rows, found = np.bincount(place), np.bincount(place[wrong], minlength=len(labels))
    return [Count(str(label), int(n), int(k)) for label, n, k in zip(labels, rows, found, strict=True)]


def require_enough(count: int, alpha: float, confidence: float) -> None:
    """Raise ValueError unless so many held-out rows can certify the risk."""
    needed = rows_needed(alpha, confidence)
    if count >= needed:
        return
    at_best = f" ({count:,} rows can certify {_least_risk(count, confidence):g} at best)" if count else ""
    raise ValueError(
        f"{_promise(alpha, confidence)} needs at least {needed:,} held-out rows, and there are {count:,}: pass more "
        f"rows, or allow a higher risk{at_best}"
    )


def _least_risk(count: int, confidence: float) -> float:
    """The smallest risk that so many rows can certify, rounded up to two digits."""
    least = -math.expm1(math.log(1 - confidence) / count)
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(least))


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

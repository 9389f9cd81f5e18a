"""The audit of a risk in service: a random share of the rows is evaluated in full as well, and compared.

A risk holds for rows like those it was certified on, but rows in service may change. `Predictor.audited` counts the
disagreements on rows drawn at random, and keeps a confidence sequence for their rate: an interval that keeps its
confidence even if it is looked at after every row. The alarm is raised when the lower end exceeds alpha.

With delta = 1 - confidence, the lower end is the largest rate p with evidence of at least 2/delta against every rate up
to p. The evidence is Robbins' mixture of likelihood ratios with Jeffreys' prior, restricted to rates q above p. After S
disagreements and F agreements it is

    E(p) = int_p^1 (q/p)^S ((1-q)/(1-p))^F dBeta(q; 1/2, 1/2)
         = B(S + 1/2, F + 1/2) (1 - I_p(S + 1/2, F + 1/2)) / (B(1/2, 1/2) p^S (1-p)^F).

As long as every row's probability of disagreement is at most p (it may vary from row to row), the expected value of
each ratio after the next row is at most its value before. So E(p) is a supermartingale that starts below 1, and the
probability that it ever exceeds 2/delta is at most delta/2 (Ville's inequality). E falls in p below S/(S + F) and is at
most 1 above. The upper end is computed in the same way with agreements in place of disagreements.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from dormie.errors import BrokenPromiseWarning, warn_user
from dormie.machine.typing import Integers
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Guarantee, Risk, require_share
from dormie.predictor.cascade import CascadeResult

_PRIOR = 0.5
_HALVINGS = 60
_GAPS = 1024  # gaps between audited rows that are drawn at once
_LONGEST_GAP = 2**50  # more rows than anyone predicts; longer gaps could overflow when summed


@dataclass(frozen=True)
class Status:
    """What an audit has found so far.

    Parameters
    ----------
    rows : int
        The number of rows predicted.
    audited : int
        How many of them were evaluated in full as well.
    disagreements : int
        How many of the audited rows got another answer than the full machine gives.
    low, high : float
        The confidence interval of the rate of disagreement, at the audit's confidence.
    alpha : float or None
        The risk that the plan promises; None if the plan is certified, so that no answer can disagree.
    broken : bool
        Whether the audit has ever found the promise broken. Once true, it stays true.

    Examples
    --------
    >>> import dormie
    >>> status = dormie.Status(
    ...     rows=50_000, audited=500, disagreements=2, low=0.0002, high=0.017, alpha=0.01, broken=False
    ... )
    >>> print(status)
    500 of 50,000 rows audited, 2 disagreements; rate between 0.02 % and 1.7 %, promised at most 1 %: not broken
    """

    rows: int
    audited: int
    disagreements: int
    low: float
    high: float
    alpha: float | None
    broken: bool

    def __str__(self) -> str:
        if self.alpha is None:
            return f"{self.rows:,} rows predicted, none audited: the plan is certified, so no answer can disagree"
        return (
            f"{self.audited:,} of {self.rows:,} rows audited, {self.disagreements:,} {self._noun}; rate between "
            f"{100 * self.low:.3g} % and {100 * self.high:.3g} %, promised at most {100 * self.alpha:g} %: "
            f"{'broken' if self.broken else 'not broken'}"
        )

    @property
    def _noun(self) -> str:
        return "disagreement" if self.disagreements == 1 else "disagreements"


class Audit:
    """Draws the rows to audit, counts disagreements, and raises the alarm.

    Threads may share one, and an unpickled copy continues where the original was. `Predictor.audited` describes the
    parameters.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        rate: float,
        confidence: float,
        callback: Callable[[Status], object] | None,
        seed: int | None,
    ) -> None:
        _require_rate(rate)
        require_share(confidence, "confidence")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of the status, got {callback!r}")
        self.rate, self.confidence = float(rate), float(confidence)
        self._alpha = guarantee.alpha if isinstance(guarantee, Risk) else None
        self._callback = callback
        self._random = np.random.default_rng(seed)
        self._upcoming = self._places_after(-1)  # rows to audit, counted from the first of all; never empty
        self._rows = self._audited = self._disagreements = 0
        self._broken = False
        self._lock = threading.Lock()  # guards the counters and the draw; never held while rows are evaluated

    @property
    def status(self) -> Status:
        with self._lock:
            rows, audited, disagreements, broken = self._rows, self._audited, self._disagreements, self._broken
        certified = self._alpha is None
        low, high = (0.0, 0.0) if certified else rate_interval(audited, disagreements, self.confidence)
        return Status(rows, audited, disagreements, low, high, self._alpha, broken)

    def watch(self, stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult) -> None:
        """Audit the rows that are due among these, given the result of the cascade; `full` gives the right answers."""
        drawn = self._draw(len(found.answers))
        if len(drawn):
            self._record(len(drawn), _disagreements(stages, full, rows, found, drawn))

    def _draw(self, count: int) -> Integers:
        """Which of the next rows to audit: each with probability `rate`, independently of how rows come in batches."""
        with self._lock:
            before, self._rows = self._rows, self._rows + count
            if self._alpha is None or self._upcoming[0] >= self._rows:
                return self._upcoming[:0]
            blocks = [self._upcoming]
            while blocks[-1][-1] < self._rows:
                blocks.append(self._places_after(blocks[-1][-1]))
            places = np.concatenate(blocks)
            here = np.searchsorted(places, self._rows)
            self._upcoming = places[here:]
            return places[:here] - before

    def _places_after(self, place: int) -> Integers:
        gaps = np.minimum(self._random.geometric(self.rate, _GAPS), _LONGEST_GAP)
        return place + np.cumsum(gaps, dtype=np.int64)

    def _record(self, audited: int, disagreements: int) -> None:
        with self._lock:
            self._audited += audited
            self._disagreements += disagreements
            newly = disagreements > 0 and not self._broken and self._is_broken()
            self._broken |= newly
        if newly:
            self._raise_alarm()

    def _is_broken(self) -> bool:
        assert self._alpha is not None  # otherwise no row would have been drawn
        if self._disagreements <= self._alpha * self._audited:
            return False  # the evidence is at most 1 here, and might underflow
        agreements = self._audited - self._disagreements
        return bool(log_evidence(self._disagreements, agreements, self._alpha) >= _enough(self.confidence))

    def _raise_alarm(self) -> None:
        """Call the callback and then warn, with `finally`: either of them may raise an error."""
        status = self.status
        try:
            if self._callback is not None:
                self._callback(status)
        finally:
            warn_user(
                f"{status}. The rows are no longer like those the plan was certified on: compile it again with rows of "
                "today, or use an exact plan (dormie.compile without risk)",
                BrokenPromiseWarning,
            )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__ | {"_random": copy.deepcopy(self._random)}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


def _require_rate(rate: Any) -> None:
    if not isinstance(rate, Real):
        raise TypeError(f"rate must be a number, the share of the rows to audit, such as 0.01; got {rate!r}")
    if not 0 < float(rate) <= 1:
        raise ValueError(f"rate must be above 0 and at most 1, the share of the rows to audit; got {rate}")


def _disagreements(stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult, drawn: Integers) -> int:
    """On how many of the drawn rows the full machine disagrees. Rows settled by a certified stage need no check."""
    certified = np.array([stage.certified for stage in stages])
    bold = drawn[~certified[np.broadcast_to(found.settled_by, len(found.answers))[drawn]]]
    if not len(bold):
        return 0
    return int(np.count_nonzero(full.decide(rows[bold]).answers != found.answers[bold]))


def rate_interval(audited: int, disagreements: int, confidence: float) -> tuple[float, float]:
    """The low and high ends of the confidence sequence for the rate of disagreement."""
    agreements, enough = audited - disagreements, _enough(confidence)
    return _lower_end(disagreements, agreements, enough), 1 - _lower_end(agreements, disagreements, enough)


def log_evidence(hits: Any, misses: Any, p: Any) -> Any:
    """log E(p), the evidence against every rate up to p, for 0 < p < 1; takes numbers or arrays."""
    from scipy.special import betaincc, betaln  # here: it takes longer to import than all of dormie

    a, b = hits + _PRIOR, misses + _PRIOR
    mixture = betaln(a, b) - betaln(_PRIOR, _PRIOR) + np.log(betaincc(a, b, p))
    return mixture - hits * np.log(p) - misses * np.log1p(-p)


def _enough(confidence: float) -> float:
    return math.log(2 / (1 - confidence))


def _lower_end(hits: int, misses: int, enough: float) -> float:
    """The largest rate with enough evidence against it, by bisection; 0 if there is none."""
    low, high = 0.0, hits / max(hits + misses, 1)
    for _ in range(_HALVINGS if hits else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if log_evidence(hits, misses, middle) >= enough else (low, middle)
    return low

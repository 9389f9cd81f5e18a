"""A promise watched in service: a random share of the rows is evaluated in full and compared.

A risk holds for rows like those it was certified on, and rows to come may change. `Predictor.audited` counts
disagreements among rows drawn at random, and keeps a confidence sequence of their rate: an interval that may be looked
at after every row, without losing its confidence. The alarm is raised once its lower end passes alpha.

The lower end is the largest rate p with evidence of at least 2/delta against every rate up to p. The evidence is
Robbins' mixture of likelihood ratios, with Jeffreys' prior for q, here over q above p only: after S disagreements and
F agreements

    E(p) = int_p^1 (q/p)^S ((1-q)/(1-p))^F dBeta(q; 1/2, 1/2)
         = B(S + 1/2, F + 1/2) (1 - I_p(S + 1/2, F + 1/2)) / (B(1/2, 1/2) p^S (1-p)^F).

As long as every row's chance to disagree is at most p, be it different from row to row, every ratio in it is at most
its last value on average: E(p) is a supermartingale that starts below 1, and passes 2/delta ever with probability
delta/2 at most (Ville). E falls in p below S/(S + F) and is at most 1 above. The upper end is the same for agreements.
"""

from __future__ import annotations

import copy
import math
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.errors import BrokenPromiseWarning
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Guarantee, Risk, require_share
from dormie.predictor.cascade import CascadeResult

_PRIOR = 0.5
_HALVINGS = 60
_GAPS = 1024  # drawn at once
_LONGEST_GAP = 2**50  # nobody sees so many rows, and sums of gaps must not overflow

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Status:
    """What an audit has found so far; `broken` stays true once it is."""

    rows: int  # seen
    audited: int  # of them
    disagreements: int  # among the audited
    low: float  # the rate of disagreement lies between,
    high: float  # with the audit's confidence
    alpha: float | None  # what the plan promises; None where nothing can disagree
    broken: bool

    def __str__(self) -> str:
        if self.alpha is None:
            return f"{self.rows:,} rows seen, none audited: the plan is certified, nothing can disagree"
        verdict = "the promise is broken" if self.broken else "the promise stands"
        return (
            f"{self.disagreements:,} disagreements on {self.audited:,} audited of {self.rows:,} rows: a rate between "
            f"{100 * self.low:.3g} % and {100 * self.high:.3g} %, at most {100 * self.alpha:g} % promised; {verdict}"
        )


class Audit:
    """Counters, the draw of rows, and the alarm. Threads may share one; a pickle goes on where it was.

    rate        share of the rows that is evaluated in full
    confidence  of the interval, and of the alarm
    callback    called with the status once the promise is broken
    seed        of the draw
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
        self._upcoming = self._places_after(-1)  # which rows are audited, of all to come; never empty
        self._rows = self._audited = self._disagreements = 0
        self._broken = False
        self._lock = threading.Lock()  # for the counters and the draw, never held while rows are evaluated

    @property
    def status(self) -> Status:
        with self._lock:
            rows, audited, disagreements, broken = self._rows, self._audited, self._disagreements, self._broken
        certified = self._alpha is None
        low, high = (0.0, 0.0) if certified else rate_interval(audited, disagreements, self.confidence)
        return Status(rows, audited, disagreements, low, high, self._alpha, broken)

    def watch(self, stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult) -> None:
        """Take note of what came out of the stages for these rows; `full` is the stage that is always right."""
        drawn = self._draw(len(found.answers))
        if len(drawn):
            self._record(len(drawn), _disagreements(stages, full, rows, found, drawn))

    def _draw(self, count: int) -> Places:
        """Which of the next rows are audited: each with the chance `rate`, whatever batches they come in."""
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

    def _places_after(self, place: int) -> Places:
        gaps = np.minimum(self._random.geometric(self.rate, _GAPS), _LONGEST_GAP)
        return place + np.cumsum(gaps, dtype=np.int64)

    def _record(self, audited: int, disagreements: int) -> None:
        with self._lock:
            self._audited += audited
            self._disagreements += disagreements
            newly = disagreements > 0 and not self._broken and self._is_broken()
            self._broken |= newly
        if newly:
            self._tell()

    def _is_broken(self) -> bool:
        assert self._alpha is not None  # or nothing would have been drawn
        if self._disagreements <= self._alpha * self._audited:
            return False  # the evidence is at most 1, and may be too small for a float
        agreements = self._audited - self._disagreements
        return bool(log_evidence(self._disagreements, agreements, self._alpha) >= _enough(self.confidence))

    def _tell(self) -> None:
        """The callback first: a warning may be turned into an error. The warning in any case: so may the callback."""
        status = self.status
        try:
            if self._callback is not None:
                self._callback(status)
        finally:
            warnings.warn(
                f"{status}. The rows are no longer like those the plan was certified on: compile it again with rows of "
                "today, or use an exact plan (dormie.compile without risk)",
                BrokenPromiseWarning,
                stacklevel=6,  # past _record, watch, _answers and predict: where predict was called
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


def _disagreements(stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult, drawn: Places) -> int:
    """On how many of the drawn rows the full machine disagrees; it agrees on those that a certified stage settled."""
    certified = np.array([stage.certified for stage in stages])
    bold = drawn[~certified[np.broadcast_to(found.settled_by, len(found.answers))[drawn]]]
    if not len(bold):
        return 0
    return int(np.count_nonzero(full.decide(rows[bold]).answers != found.answers[bold]))


def rate_interval(audited: int, disagreements: int, confidence: float) -> tuple[float, float]:
    """Low and high end of the confidence sequence of the rate of disagreement."""
    agreements, enough = audited - disagreements, _enough(confidence)
    return _lower_end(disagreements, agreements, enough), 1 - _lower_end(agreements, disagreements, enough)


def log_evidence(hits: Any, misses: Any, p: Any) -> Any:
    """log E(p) against every rate up to p, 0 < p < 1; of numbers or arrays."""
    from scipy.special import betaincc, betaln  # here: it takes longer to import than all of dormie

    a, b = hits + _PRIOR, misses + _PRIOR
    mixture = betaln(a, b) - betaln(_PRIOR, _PRIOR) + np.log(betaincc(a, b, p))
    return mixture - hits * np.log(p) - misses * np.log1p(-p)


def _enough(confidence: float) -> float:
    return math.log(2 / (1 - confidence))


def _lower_end(hits: int, misses: int, enough: float) -> float:
    """The largest rate, to within rounding, with enough evidence against it; 0 where there is none."""
    low, high = 0.0, hits / max(hits + misses, 1)
    for _ in range(_HALVINGS if hits else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if log_evidence(hits, misses, middle) >= enough else (low, middle)
    return low

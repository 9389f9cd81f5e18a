"""The audit of a risk in service: a random share of the rows is evaluated in full as well, and compared.

A risk holds for rows like those it was certified on, but rows in service may change. `Predictor.audited` counts the
disagreements on rows drawn at random, and keeps a confidence sequence for their rate: an interval that keeps its
confidence even if it is looked at after every row. The alarm is raised when the lower end exceeds alpha.

Rows unlike the support vectors are where a plan goes wrong first. An audit may look at them more often
(`dormie.predictor.dissimilarity`): a row of level j is audited with probability rate 2^j, and then counts as 2^-j of a
row, so that the rate that is tested stays that of all rows. `dormie.predictor.evidence` derives the confidence
sequence for both.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, cast

import numpy as np

from dormie.errors import BrokenPromiseWarning, warn_user
from dormie.machine import Machine
from dormie.machine.typing import Booleans, Floats, Integers
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Guarantee, Risk, require_share
from dormie.predictor.cascade import CascadeResult
from dormie.predictor.dissimilarity import Dissimilarity
from dormie.predictor.evidence import AuditCounts, Tally

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
    tolerance : float, default=None
        Where answers are values, by how much more than this a disagreement is off; None for labels.
    counts : AuditCounts or None, default=None
        What `merge_audits` adds up. None if the plan is certified.

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
    tolerance: float | None = None
    counts: AuditCounts | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        if self.alpha is None:
            return f"{self.rows:,} rows predicted, none audited: the plan is certified, so no answer can disagree"
        return (
            f"{self.audited:,} of {self.rows:,} rows audited, {self.disagreements:,} {self._found}; rate between "
            f"{100 * self.low:.3g} % and {100 * self.high:.3g} %, promised at most {100 * self.alpha:g} %: "
            f"{'broken' if self.broken else 'not broken'}"
        )

    @property
    def _found(self) -> str:
        if self.tolerance is not None:
            return f"off by more than {self.tolerance:g}"
        return "disagreement" if self.disagreements == 1 else "disagreements"


class Audit:
    """Draws the rows to audit, counts disagreements, and raises the alarm.

    Threads may share one, and an unpickled copy continues where the original was. `Predictor.audited` describes the
    parameters.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        machine: Machine,
        rate: float,
        unlike_rate: float | None,
        confidence: float,
        callback: Callable[[Status], object] | None,
        seed: int | Sequence[int] | None,
    ) -> None:
        _require_rate("rate", rate)
        require_share(confidence, "confidence")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of the status, got {callback!r}")
        self.rate, self.confidence = float(rate), float(confidence)
        risk = guarantee if isinstance(guarantee, Risk) else None
        self._alpha = None if risk is None else risk.alpha
        self._tolerance = None if risk is None else risk.tolerance
        self._callback = callback
        self._unlike = None if unlike_rate is None else Dissimilarity.of(machine, _levels(self.rate, unlike_rate))
        self._tally = Tally(0 if self._unlike is None else self._unlike.highest)
        self._random = np.random.default_rng(seed)
        self._seed = _number_of(self._random)
        [self._coins] = self._random.spawn(1)  # of its own, so that coins do not depend on when places are drawn
        self._upcoming = self._places_after(-1)  # rows that may be audited, counted from the first of all; never empty
        self._rows = 0
        self._broken = False
        self._lock = threading.Lock()  # guards the counters and the draw; never held while rows are evaluated

    @property
    def shares(self) -> str:
        """The shares of the rows that are audited, in words."""
        least, most = (f"{100 * self.rate * 2**level:g} %" for level in (0, self._tally.highest))
        return least if least == most else f"{least} to {most}"

    @property
    def status(self) -> Status:
        with self._lock:
            rows, tally, broken = self._rows, copy.deepcopy(self._tally), self._broken
        if self._alpha is None:
            return Status(rows, 0, 0, 0.0, 0.0, None, broken=False)
        counts = tally.counts(self.rate, self.confidence, (self._seed,))
        low, high = tally.interval(self.confidence)
        disagreements = tally.disagreements
        return Status(rows, tally.audited, disagreements, low, high, self._alpha, broken, self._tolerance, counts)

    def watch(self, stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult) -> None:
        """Audit the rows that are due among these, given the result of the cascade; `full` gives the right answers."""
        drawn, coins = self._draw(len(found.answers))
        if not len(drawn):
            return
        levels = self._tally.highest if self._unlike is None else self._unlike.levels(rows[drawn])
        kept = coins < 2.0 ** (levels - self._tally.highest)
        drawn, levels = drawn[kept], np.broadcast_to(levels, len(drawn))[kept]
        self._record(levels, _disagrees(stages, full, rows, found, drawn))

    def _draw(self, count: int) -> tuple[Integers, Floats]:
        """Which of the next rows may be audited, and a coin for each, a number between 0 and 1.

        Each is drawn with the probability of the highest level, independently of how rows come in batches.
        """
        with self._lock:
            before, self._rows = self._rows, self._rows + count
            if self._alpha is None or self._upcoming[0] >= self._rows:
                return self._upcoming[:0], np.empty(0)
            blocks = [self._upcoming]
            while blocks[-1][-1] < self._rows:
                blocks.append(self._places_after(blocks[-1][-1]))
            places = np.concatenate(blocks)
            here = np.searchsorted(places, self._rows)
            self._upcoming = places[here:]
            return places[:here] - before, self._coins.random(here)

    def _places_after(self, place: int) -> Integers:
        gaps = np.minimum(self._random.geometric(self.rate * 2**self._tally.highest, _GAPS), _LONGEST_GAP)
        return place + np.cumsum(gaps, dtype=np.int64)

    def _record(self, levels: Integers, disagrees: Booleans) -> None:
        with self._lock:
            self._tally.add(levels, disagrees)
            newly = bool(disagrees.any()) and not self._broken and self._is_broken()
            self._broken |= newly
        if newly:
            self._raise_alarm()

    def _is_broken(self) -> bool:
        assert self._alpha is not None  # otherwise no row would have been drawn
        return self._tally.refutes(self._alpha, self.confidence)

    def _raise_alarm(self) -> None:
        """Call the callback and then warn, with `finally`: either of them may raise an error."""
        status = self.status
        try:
            if self._callback is not None:
                self._callback(status)
        finally:
            warn_of_broken_promise(status)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            changing = ("_random", "_coins", "_tally")
            state = self.__dict__ | {name: copy.deepcopy(self.__dict__[name]) for name in changing}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


def _number_of(random: np.random.Generator) -> int:
    """A number that tells generators of different seeds apart."""
    return int.from_bytes(cast(np.random.SeedSequence, random.bit_generator.seed_seq).generate_state(4).tobytes())


def warn_of_broken_promise(status: Status) -> None:
    """Warn, and say what to do."""
    warn_user(
        f"{status}. The rows are no longer like those the plan was certified on: compile it again with rows of "
        "today, or use an exact plan (dormie.compile without risk)",
        BrokenPromiseWarning,
    )


def _require_rate(name: str, rate: Any) -> None:
    if not isinstance(rate, Real):
        raise TypeError(f"{name} must be a number, the share of the rows to audit, such as 0.01; got {rate!r}")
    if not 0 < float(rate) <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1, the share of the rows to audit; got {rate}")


def _levels(rate: float, unlike_rate: Any) -> int:
    """How often a rate can be doubled up to that of rows most unlike the support vectors."""
    _require_rate("unlike_rate", unlike_rate)
    if unlike_rate < rate:
        raise ValueError(f"unlike_rate must be at least the rate of all rows, {rate:g}; got {unlike_rate}")
    return math.floor(math.log2(float(unlike_rate) / rate))


def _disagrees(stages: Sequence[Stage], full: Dense, rows: Any, found: CascadeResult, drawn: Integers) -> Booleans:
    """On which of the drawn rows the full machine disagrees. Rows settled by a certified stage need no check."""
    certified = np.array([stage.certified for stage in stages])
    bold: Booleans = ~certified[np.broadcast_to(found.settled_by, len(found.answers))[drawn]]
    if bold.any():
        checked = drawn[bold]
        bold[bold] = full.machine.rule.differ(found.answers[checked], full.right(rows[checked]))
    return bold

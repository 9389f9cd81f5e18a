"""Confidence sequences for the rate of disagreement: they keep their confidence though looked at after every row.

With delta = 1 - confidence, the lower end is the largest rate p with evidence of at least 2/delta against every rate up
to p. The upper end is computed in the same way with agreements in place of disagreements.

**Rows audited with one probability.** The evidence is Robbins' mixture of likelihood ratios with Jeffreys' prior,
restricted to rates q above p. After S disagreements and F agreements it is

    E(p) = int_p^1 (q/p)^S ((1-q)/(1-p))^F dBeta(q; 1/2, 1/2)
         = B(S + 1/2, F + 1/2) (1 - I_p(S + 1/2, F + 1/2)) / (B(1/2, 1/2) p^S (1-p)^F).

As long as every row's probability of disagreement is at most p (it may vary from row to row), the expected value of
each ratio after the next row is at most its value before. So E(p) is a supermartingale that starts below 1, and the
probability that it ever exceeds 2/delta is at most delta/2 (Ville's inequality). E falls in p below S/(S + F) and is at
most 1 above.

**Rows audited with a probability of their own.** Let row t be audited with probability a_t, which may depend on the row
itself and on all before it, and let a be the least of them. Write Y_t = 1 for a disagreement, 0 for an agreement, and
bet a share u between 0 and 1 on disagreement: each audited row multiplies what is at stake by

    1 + w_t u (Y_t/p - 1),     w_t = a/a_t <= 1,

and a row that is not audited by 1. Both are positive. Given the row, Y_t is fixed and the audit is a coin, so that the
factor is 1 + a_t w_t u (Y_t/p - 1) = 1 + a u (Y_t/p - 1) on average: the weights have cancelled. Its expected value,
over rows whose probability of disagreement is at most p given all before them, is at most 1. So the product is a
supermartingale that starts at 1, and so is its mean over u. That mean is the evidence here; u is spread as Jeffreys'
prior, on a fixed grid, which is as valid as an integral. (With w = 1 and q = p + u (1 - p) the factors are the
likelihood ratios above.) Every factor falls in p, so E(p) does. Since weights are bounded by 1, one disagreement on a
row audited more often than others never counts more than one of theirs.

Weights are powers of 1/2, so that counts for each power are all there is to keep.

**Rows audited by several workers.** Each worker audits its own rows, with coins of its own and the same a, and the
counts of all are added up. Let N be the number of rows counted so far by all workers, D the disagreements among them,
audited or not. Then, whatever the rows are,

    P(ever E(p) >= 2/delta while D <= p N) <= delta/2.

Proof. For a share u, divide the factor of each row by its mean over the coin, m_t = 1 + a u (Y_t/p - 1) > 0. The
quotient has mean 1 given all rows and all coins thrown before. So the product L of the quotients of the rows counted is
a martingale, however the rows of the workers come between one another, as long as it is decided without their coins
which rows are counted next (an optional increasing path through the numbers of rows of the workers). The product of the
factors is L times the product of all m_t, and since 1 + x <= e^x that is at most L exp(a u (D/p - N)): at most L while
D <= p N. So then E(p), a mean over u, is at most the mean of L over u, a martingale that starts at 1, and Ville's
inequality bounds that.

Nothing is assumed of the rows: they may be chosen by what was found before, differ from worker to worker, depend on one
another, or come twice (with other coins). What the sum does need:

- coins of their own. Audits with one seed, or copies of one audit, throw the same coins: they cannot be merged.
- counts that were not taken for what they hold. The counts of all workers at the end, after every round of batches, or
  whenever a batch is done are fine. To keep for each worker the counts at which its own evidence was largest is not:
  that multiplies maxima. By the clock, batches still being worked on are left out, and those with more audited rows
  take longer; who wants the bound to the letter merges after whole rounds, or at the end.
- one alarm, that of the sum. If each of K workers raises its own, any of them is false with probability up to
  K delta/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dormie.machine.typing import Booleans, Floats, Integers

_PRIOR = 0.5
_HALVINGS = 60
_BETS = 2048  # fine enough for 10 million audited rows: there the grid costs at most a factor of 20 in evidence


@dataclass(frozen=True)
class AuditCounts:
    """What audits are merged by: their rate and confidence, their counts by level, and the seeds of their draws."""

    rate: float
    confidence: float
    disagreements: tuple[int, ...]
    agreements: tuple[int, ...]
    seeds: tuple[int, ...]


class Tally:
    """Disagreements and agreements on audited rows of each level; one of level j counts as 2^-j of a row."""

    def __init__(self, highest: int = 0) -> None:
        self.highest = highest
        self.hits, self.misses = (np.zeros(highest + 1, dtype=np.int64) for _ in range(2))

    @classmethod
    def of(cls, counts: Sequence[AuditCounts]) -> Tally:
        """The sum of the counts of several audits with the same rate."""
        total = cls(max(len(each.agreements) for each in counts) - 1)
        for each in counts:
            total.hits[: len(each.disagreements)] += each.disagreements
            total.misses[: len(each.agreements)] += each.agreements
        return total

    def counts(self, rate: float, confidence: float, seeds: tuple[int, ...]) -> AuditCounts:
        """The counts of an audit with that rate, or of several."""
        return AuditCounts(rate, confidence, tuple(self.hits.tolist()), tuple(self.misses.tolist()), seeds)

    @property
    def audited(self) -> int:
        """How many rows were audited."""
        return int(self.hits.sum() + self.misses.sum())

    @property
    def disagreements(self) -> int:
        """How many of them got another answer than the full machine gives."""
        return int(self.hits.sum())

    def add(self, levels: Integers, disagrees: Booleans) -> None:
        """Count audited rows."""
        self.hits += np.bincount(levels[disagrees], minlength=self.highest + 1)
        self.misses += np.bincount(levels[~disagrees], minlength=self.highest + 1)

    def refutes(self, p: float, confidence: float) -> bool:
        """Whether there is enough evidence against every rate up to p."""
        if self.highest == 0 and self.disagreements <= p * self.audited:
            return False  # the evidence is at most 1 here, and might underflow
        return bool(self._evidence(self.hits, self.misses, p) >= _enough(confidence))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The low and high ends of the confidence sequence for the rate of disagreement."""
        low = self._lower_end(self.hits, self.misses, _enough(confidence))
        return low, 1 - self._lower_end(self.misses, self.hits, _enough(confidence))

    def _lower_end(self, hits: Integers, misses: Integers, enough: float) -> float:
        if self.highest:
            return lower_end(lambda p: self._evidence(hits, misses, p), 1.0 if hits.any() else 0.0, enough)
        ratio = int(hits[0]) / max(int(hits[0] + misses[0]), 1)
        return lower_end(lambda p: self._evidence(hits, misses, p), ratio, enough)

    def _evidence(self, hits: Integers, misses: Integers, p: float) -> float:
        if self.highest == 0:
            return float(log_evidence(int(hits[0]), int(misses[0]), p))
        return log_weighted_evidence(hits, misses, p)


def log_evidence(hits: Any, misses: Any, p: Any) -> Any:
    """log E(p) of rows audited with one probability, for 0 < p < 1; takes numbers or arrays."""
    from scipy.special import betaincc, betaln  # here: it takes longer to import than all of dormie

    a, b = hits + _PRIOR, misses + _PRIOR
    mixture = betaln(a, b) - betaln(_PRIOR, _PRIOR) + np.log(betaincc(a, b, p))
    return mixture - hits * np.log(p) - misses * np.log1p(-p)


def log_weighted_evidence(hits: Integers, misses: Integers, p: float) -> float:
    """log E(p) of rows counted by level, those of level j with weight 2^-j, for 0 < p < 1."""
    bets = np.ldexp(_bets(), -np.arange(len(hits))[:, None])
    logs = hits @ np.log1p(bets * (1 / p - 1)) + misses @ np.log1p(-bets)
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean()))


@cache
def _bets() -> Floats:
    """The shares u, spread as Beta(1/2, 1/2): with u = sin^2 t, evenly in t from 0 to pi/2."""
    return np.asarray(np.sin((np.arange(_BETS) + 0.5) * (np.pi / 2 / _BETS)) ** 2)


def _enough(confidence: float) -> float:
    return math.log(2 / (1 - confidence))


def lower_end(evidence: Callable[[float], float], high: float, enough: float) -> float:
    """The largest rate up to `high` with enough evidence against it, by bisection; 0 if there is none."""
    low = 0.0
    for _ in range(_HALVINGS if high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if evidence(middle) >= enough else (low, middle)
    return low

"""What a plan promises of its answers, and the evidence for it: exact, within a tolerance, or at a stated risk."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from dormie.numerics.binomial import p_value
from dormie.plan.text import few, percent

_ROUNDING = 1e-9  # a p-value may come out otherwise elsewhere by so much


@dataclass(frozen=True)
class Exact:
    """Every finite row gets the answer of the real-number sum, or, within its rounding, of the model's own float64 sum.

    Values are float64 sums: as near to the real ones as float64 comes.
    """

    def __str__(self) -> str:
        return "exact: every answer is the one the full float64 sum gives"


@dataclass(frozen=True)
class Tolerance:
    """Every value is within epsilon of the real-number value, certified."""

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"a tolerance must be positive and finite, got {self.epsilon}")

    def __str__(self) -> str:
        return f"tolerance: every value is within {self.epsilon:g} of the full sum, certified"


@dataclass(frozen=True)
class Count:
    """Rows that the full machine gives a label (as text), and on how many of them the plan disagreed with it."""

    label: str
    rows: int
    disagreements: int

    def __post_init__(self) -> None:
        if not 0 <= self.disagreements <= self.rows:
            raise ValueError(f"{self.disagreements} disagreements on {self.rows} rows")


@dataclass(frozen=True)
class Evidence:
    """What a risk was certified on: rows that nothing was fitted on, nor chosen by."""

    rows: int
    disagreements: int
    p_value: float  # of what was seen, were the risk higher than promised; of several classes the largest
    caution: float  # of a plan by `compile`, its rank in the sequence that was tested: the boldest plan's is 1
    tested: int  # plans, in a sequence fixed before, from the most cautious on to the first that failed
    date: str  # the day, in UTC
    seed: int  # of the split into rows that choose and rows that certify
    versions: dict[str, str] = field(default_factory=dict)
    classes: tuple[Count, ...] = ()  # of a risk for each class

    def __post_init__(self) -> None:
        Count("", self.rows, self.disagreements)
        if not (0 <= self.p_value <= 1 and 0 <= self.caution < math.inf and self.tested >= 1 and self.seed >= 0):
            raise ValueError(f"evidence out of range: {self}")
        if datetime.date.fromisoformat(self.date).isoformat() != self.date:
            raise ValueError(f"the date of the evidence must read like 2024-12-31, got {self.date}")
        of_classes = [sum(count.rows for count in self.classes), sum(count.disagreements for count in self.classes)]
        if self.classes and of_classes != [self.rows, self.disagreements]:
            raise ValueError("the rows and disagreements of the classes do not add up to those of the evidence")


@dataclass(frozen=True)
class Risk:
    """At most a share alpha of the rows gets another answer than the full machine's, as far as the evidence goes.

    The confidence is over the draw of the rows in evidence: of all calibrations, at most a share 1 - confidence ends in
    a promise that is wrong. It holds for rows exchangeable with those. With classes in evidence it holds for the rows
    of each of them, and for no others.
    """

    alpha: float
    confidence: float
    evidence: Evidence

    def __post_init__(self) -> None:
        require_share(self.alpha, "alpha")
        require_share(self.confidence, "confidence")
        p_value = max(self.evidence.p_value, self._p_value())
        if not p_value <= (1 - self.confidence) * (1 + _ROUNDING):
            raise ValueError(f"a p-value of {p_value:g} does not carry a confidence of {self.confidence:g}")

    def _p_value(self) -> float:
        """By the rows in evidence, whatever is stated."""
        counts = self.evidence.classes or (self.evidence,)
        return max(p_value(count.rows, count.disagreements, self.alpha) for count in counts)

    @property
    def per_class(self) -> bool:
        return bool(self.evidence.classes)

    def __str__(self) -> str:
        whose = (
            f"the rows of each class ({few([count.label for count in self.evidence.classes])})"
            if self.per_class
            else "the rows"
        )
        return (
            f"risk: at most {100 * self.alpha:g} % of {whose} get another answer than the full sum's, "
            f"with {percent(self.confidence)} confidence"
        )


Guarantee = Exact | Tolerance | Risk


def require_share(value: Any, name: str) -> None:
    """Raise unless the value is a number between 0 and 1, both excluded."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")

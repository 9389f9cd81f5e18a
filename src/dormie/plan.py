"""A plan: which stages a row meets, what is promised of the answer, and why these stages. Plain data, immutable."""

from __future__ import annotations

import datetime
import math
import sys
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from dormie.machine import Machine
from dormie.stages.base import Stage


@dataclass(frozen=True)
class Exact:
    """Every finite row gets the answer that the float64 expansion gives."""

    def __str__(self) -> str:
        return "exact: every answer is the one the full float64 sum gives"


@dataclass(frozen=True)
class Tolerance:
    """Every value is within epsilon of the real-number value, certified."""

    epsilon: float

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
    caution: float  # of the plan that was certified
    tested: int  # plans, from the most cautious on to the first that failed
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

    The confidence is over the draw of the rows in evidence: of all promises made so, at most a share 1 - confidence is
    wrong. It holds for rows exchangeable with those. With classes in evidence it holds for the rows of each of them.
    """

    alpha: float
    confidence: float
    evidence: Evidence

    def __post_init__(self) -> None:
        require_share(self.alpha, "alpha")
        require_share(self.confidence, "confidence")
        if self.evidence.p_value > 1 - self.confidence:
            raise ValueError(
                f"a p-value of {self.evidence.p_value:g} does not carry a confidence of {self.confidence:g}"
            )

    @property
    def per_class(self) -> bool:
        return bool(self.evidence.classes)

    def __str__(self) -> str:
        whose = "the rows of each class" if self.per_class else "the rows"
        return (
            f"risk: at most {100 * self.alpha:g} % of {whose} get another answer than the full sum's, "
            f"with {100 * self.confidence:g} % confidence"
        )


Guarantee = Exact | Tolerance | Risk


def require_share(value: Any, name: str) -> None:
    """Raise unless the value is a number between 0 and 1, both excluded."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")


@dataclass(frozen=True)
class Source:
    """What the plan was compiled from: for people and for records, never for running."""

    description: str
    points: int
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """What the planner measured of one list of stages on the sample rows."""

    stages: str
    settled: float  # share of the rows settled before the dense stage
    microseconds: float  # a row


@dataclass(frozen=True)
class Plan:
    """The machine, the stages its rows go through (the last one settles every row), and the promise.

    `rewrites` names the exact simplifications that were applied, in order; `trials` is what the planner chose from.
    """

    machine: Machine
    stages: tuple[Stage, ...]
    guarantee: Guarantee
    source: Source
    rewrites: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        bold = [stage for stage in self.stages if not stage.certified]
        if bold and not isinstance(self.guarantee, Risk):
            raise ValueError(f"a plan with {bold[0]}, which was measured and not proved, can only promise a risk")


def versions() -> dict[str, str]:
    """Versions of what had a hand in the plan; scikit-learn only where it was in use."""
    import importlib.metadata  # here: it would be a quarter of the time `import dormie` takes

    packages = {"dormie": "dormie", "numpy": "numpy", "sklearn": "scikit-learn", "scipy": "scipy"}
    return {
        package: importlib.metadata.version(package) for module, package in packages.items() if module in sys.modules
    }

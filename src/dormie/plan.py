"""A plan: which stages a row meets, what is promised of the answer, and why these stages. Plain data, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field

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


Guarantee = Exact | Tolerance


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

"""A plan: which stages a row meets, and what is promised of the answer. Plain data, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field

from dormie.machine import Machine
from dormie.stages.base import Stage


@dataclass(frozen=True)
class Exact:
    """Every finite row gets the answer that the float64 expansion gives."""

    def __str__(self) -> str:
        return "exact: every answer is the one the full float64 sum gives"


Guarantee = Exact


@dataclass(frozen=True)
class Source:
    """What the plan was compiled from: for people and for records, never for running."""

    description: str
    points: int
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The machine, the stages its rows go through (the last one settles every row), and the promise.

    `rewrites` names the exact simplifications that were applied, in order.
    """

    machine: Machine
    stages: tuple[Stage, ...]
    guarantee: Guarantee
    source: Source
    rewrites: tuple[str, ...] = ()

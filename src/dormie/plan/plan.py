"""A plan: which stages a row meets, what is promised of the answer, and why these stages. Plain data, immutable."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from dormie.machine import Machine
from dormie.machine.rules import Rule, Value
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Guarantee, Risk, Tolerance


@dataclass(frozen=True)
class Source:
    """What the plan was compiled from: for people and for records, never for running."""

    description: str
    points: int
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None  # that compiling took


@dataclass(frozen=True)
class Trial:
    """What the planner measured of one cascade on the sample rows."""

    stages: str
    settled: float  # share of the rows settled before the dense stage
    microseconds: float  # a row


@dataclass(frozen=True)
class Plan:
    """The machine, the stages its rows go through (the last one settles every row), and the promise.

    `rewrites` names the exact simplifications that were applied, in order; `trials` is what the planner chose from;
    `note` says why it promises other than what was asked for, where it does.
    """

    machine: Machine
    stages: tuple[Stage, ...]
    guarantee: Guarantee
    source: Source
    rewrites: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if not self.stages or self.stages[-1].name != Dense.name:
            raise ValueError("a plan must end in the dense stage, which settles every row")
        bold = [stage for stage in self.stages if not stage.certified]
        if bold and not isinstance(self.guarantee, Risk):
            raise ValueError(f"a plan with {bold[0]}, which was measured and not proved, can only promise a risk")
        _require_promise_of_rule(self.guarantee, self.machine.rule)

    @property
    def dense(self) -> Dense:
        """The last stage."""
        return cast(Dense, self.stages[-1])


def describe_cascade(stages: Sequence[Stage]) -> str:
    """Stages in a few words, such as `geometry(256) -> dense`."""
    return " -> ".join(str(stage) for stage in stages)


def _require_promise_of_rule(guarantee: Guarantee, rule: Rule) -> None:
    """ValueError unless stages that go by the rule keep the promise: they stop at its tolerance, whatever it is."""
    if not isinstance(rule, Value):
        if isinstance(guarantee, Tolerance):
            raise ValueError("a tolerance is promised of values, and the machine's rule tells classes")
        return
    if isinstance(guarantee, Risk):
        raise ValueError("a risk is promised of classes, and the machine's rule gives values")
    promised = guarantee.epsilon if isinstance(guarantee, Tolerance) else 0.0
    if rule.tolerance != promised:
        raise ValueError(
            f"the promise, {guarantee}, is not that of the machine's rule, which has a tolerance of {rule.tolerance:g}"
        )


def versions() -> dict[str, str]:
    """Versions of what had a hand in the plan; scikit-learn only where it was in use."""
    import importlib.metadata  # here: it would be a quarter of the time `import dormie` takes

    packages = {"dormie": "dormie", "numpy": "numpy", "sklearn": "scikit-learn", "scipy": "scipy"}
    return {
        package: importlib.metadata.version(package) for module, package in packages.items() if module in sys.modules
    }

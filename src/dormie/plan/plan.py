"""A plan: a machine, the stages that its rows pass through, the guarantee, and what was measured. Immutable data."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import cast

from dormie.machine import Machine, MachineSum
from dormie.machine.rules import ClassRule, DecisionValue, Probability, Rule, ValueRule
from dormie.methods.base import Stage, returns_exact_values
from dormie.methods.dense import Dense
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Guarantee, Risk, Tolerance, tolerance_of

CLEAR_WIN = 0.9  # a cascade with a weaker guarantee, or more stages, must take less than this share of the time
_SMALLEST_MACHINE = 64  # points; with fewer, no stage saves time
_FEWEST_CALLS = 8  # the same for Python kernels, where every evaluation counts


@dataclass(frozen=True)
class Source:
    """What the plan was compiled from. Only `explain` and plan files use it; predictions do not depend on it."""

    description: str
    points: int
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None  # time that compiling took; None where no clock was asked
    fast_at: str = "batch"  # what the stages were chosen to be fast at: "batch", or "row", one row at a time
    estimated: bool = False  # whether the trials' microseconds are estimates by a profile, not measurements
    before: tuple[str, ...] = ()  # what rows must go through first, in order: steps that the plan does not hold

    @property
    def in_words(self) -> str:
        """What rows must go through first, as a sentence; empty where they go through nothing."""
        return f"Rows must first go through {', then '.join(self.before)}." if self.before else ""


@dataclass(frozen=True)
class Trial:
    """The measurements of one cascade on the sample rows."""

    stages: str
    settled: float  # share of the rows that are settled before the dense stage
    microseconds: float  # per row


@dataclass(frozen=True)
class Plan:
    """A compiled model as plain data: the machine, its stages, the guarantee, and how they were chosen.

    Parameters
    ----------
    machine : Machine
        The simplified machine.
    cascade : Cascade
        The stages that rows flow through, with their cautions. The last is the dense one, which settles every row.
    guarantee : Exact, Tolerance or Risk
        What holds for the answers.
    source : Source
        What the plan was compiled from: a description of the model, its number of support vectors, the versions of the
        packages, how many seconds compiling took, whether the plan was chosen for batches or single rows, and whether
        by timing or by a profile.
    rewrites : tuple of str, default=()
        The names of the exact simplifications that were applied, in order.
    trials : tuple of Trial, default=()
        The cascades that were timed: each with its stages, the share of rows settled before the dense stage, and the
        microseconds per row.
    note : str, default=""
        Why the guarantee differs from the one that was asked for; empty where it does not.
    guess : Stage, default=None
        A small stage whose estimates serve where a deadline is too short for the first stage of the cascade. It settles
        nothing. None where the first stage is cheap enough to do without.
    values : Plan, default=None
        The plan for the probabilities of a classifier that has any, or for its decision values where a tolerance was
        asked for: the same machine, with a rule that gives values.

    Raises
    ------
    TypeError
        If the cascade is no `Cascade`.
    ValueError
        If the stages cannot keep the guarantee: the last one is not the dense stage, a calibrated stage comes without a
        risk, or the guarantee is not that of the machine's rule. If the plan for values is that of another machine.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> svc = SVC().fit(*make_moons(600, noise=0.3, random_state=0))
    >>> plan = dormie.compile(svc, methods=["fast_stopping"]).plan
    >>> [stage.name for stage in plan.stages]
    ['fast_stopping', 'dense']
    >>> plan.guarantee
    Exact()
    >>> [trial.stages for trial in plan.trials]
    ['fast_stopping -> dense']
    >>> plan.source.points == len(svc.support_)
    True
    """

    machine: Machine
    cascade: Cascade
    guarantee: Guarantee
    source: Source
    rewrites: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    note: str = ""
    guess: Stage | None = None
    values: Plan | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.cascade, Cascade):
            given = type(self.cascade).__name__
            raise TypeError(f"cascade must be a Cascade, such as Cascade.of(*stages), got {given}")
        if not self.stages or self.stages[-1].name != Dense.name:
            raise ValueError("a plan must end in the dense stage, which settles every row")
        bold = [stage for stage in self.stages if not stage.certified]
        if bold and not isinstance(self.guarantee, Risk):
            raise ValueError(f"a plan with {bold[0]}, which is not certified, can only promise a risk")
        _require_guarantee_of_rule(self.guarantee, self.machine.rule)
        if self.values is not None:
            _require_values_of(self.values, self.machine)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the cascade."""
        return self.cascade.stages

    @property
    def full_sum(self) -> FullSum:
        """The evaluator of the last stage."""
        return cast(Dense, self.stages[-1]).full_sum


def dense_beside(labels: Plan, machine: Machine) -> Dense:
    """The dense stage of a plan for values: it shares the full sum, unless the native core knows the rule of values."""
    return Dense(machine, None if backend.decides(machine) else labels.full_sum)


def why_dense_alone(machine: Machine) -> str:
    """Why no certified stage can speed up the machine; empty if one may."""
    if machine.has_sparse_points:
        return "the points are sparse, and the full sum meets only those that share a column with a row"
    if not machine.kernel.positive_semidefinite and not isinstance(machine, MachineSum):
        return "the kernel is not known to be positive semi-definite" + (
            " (if it is, Custom(function, positive_semidefinite=True) says so)" if machine.kernel.is_python else ""
        )
    if machine.n_points < (least := _FEWEST_CALLS if machine.kernel.is_python else _SMALLEST_MACHINE):
        return f"the machine has fewer than {least} points"
    if returns_exact_values(machine):
        return "exact values need the full sum (with tolerance=0.001, say, rows can stop early)"
    return ""


def _require_guarantee_of_rule(guarantee: Guarantee, rule: Rule) -> None:
    """Raise ValueError unless the guarantee is that of the rule: stages stop as soon as the rule's tolerance is met."""
    if not isinstance(rule, ValueRule):
        if isinstance(guarantee, Tolerance) or tolerance_of(guarantee):
            raise ValueError("a tolerance is promised of values, and the machine's rule gives classes")
        return
    tolerance = tolerance_of(guarantee)
    if isinstance(guarantee, Risk) and not tolerance:
        raise ValueError("a risk of values needs a tolerance, and this one is that of classes")
    if isinstance(guarantee, Tolerance) and not rule.certifiable:
        raise ValueError("a tolerance is certified by intervals, and those of the machine's rule never become narrow")
    if rule.tolerance != tolerance:
        raise ValueError(
            f"the promise, {guarantee}, is not that of the machine's rule, which has a tolerance of {rule.tolerance:g}"
        )


def _require_values_of(values: Plan, machine: Machine) -> None:
    """Raise ValueError unless a plan gives the probabilities or the decision values of a machine."""
    rule = values.machine.rule
    if not isinstance(rule, ValueRule) or not isinstance(machine.rule, ClassRule) or values.values is not None:
        raise ValueError("a plan for values belongs to a plan that gives classes")
    if isinstance(rule, Probability) and rule.map.n_classes != len(machine.rule.classes):
        raise ValueError("the plan for probabilities has other classes")
    if isinstance(rule, DecisionValue) and rule.scores != machine.rule:
        raise ValueError("the plan for decision values is that of another rule")
    if values.machine.n_outputs != machine.n_outputs or values.machine.n_points != machine.n_points:
        raise ValueError("the plan for values is that of another machine")


def versions() -> dict[str, str]:
    """The versions of the packages that took part in making the plan; scikit-learn only where it was imported."""
    import importlib.metadata  # here: at the top it would take a quarter of the time of `import dormie`

    packages = {"dormie": "dormie", "numpy": "numpy", "sklearn": "scikit-learn", "scipy": "scipy"}
    return {
        package: importlib.metadata.version(package) for module, package in packages.items() if module in sys.modules
    }

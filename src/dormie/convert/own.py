"""What dormie itself gives, read again: predictors, plans and reductions.

The machine of a plan is taken as it was before the plan was made, without a tolerance: what compiles it makes a
guarantee of its own. A plan with a risk is read as the full machine, which its risk is about.
"""

from __future__ import annotations

from typing import Any

from dormie.convert.readers import Reader
from dormie.machine import Machine, MachineSum
from dormie.machine.rules import Probability, ValueRule


def read_plan(plan: Any) -> Machine:
    """The machine that a plan was made of: before exact rewrites, with exact values and with its probabilities."""
    machine = _before_rewrites(plan.machine)
    if isinstance(machine.rule, ValueRule):
        return machine.changed(rule=machine.rule.within(0.0))
    values = None if plan.values is None else plan.values.machine.rule
    return machine.with_probability(values.within(0.0)) if isinstance(values, Probability) else machine


def _before_rewrites(machine: Machine) -> Machine:
    if isinstance(machine, MachineSum):
        members = [_before_rewrites(member) for member in machine.members]
        return MachineSum(members, machine.rule, machine.feature_names, machine.factors)
    return machine if machine.origin is None else machine.origin.machine


READERS: dict[str, Reader] = {
    "Predictor": Reader(
        lambda model: read_plan(model.plan), "the model that it was compiled from; no guarantee is carried over"
    ),
    "Plan": Reader(read_plan, "as `Predictor`"),
    "Reduction": Reader(lambda model: model.machine, "the reduced machine"),
}


def reader_of(model: Any) -> Reader | None:
    """The reader of what dormie gave; None for anything else."""
    names = (cls.__name__ for cls in type(model).__mro__ if cls.__module__.split(".")[0] == "dormie")
    return next((READERS[name] for name in names if name in READERS), None)

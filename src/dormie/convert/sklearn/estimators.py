"""Readers of dormie's own estimators, which follow scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

from dormie.convert.sklearn.multiclass import one_vs_rest
from dormie.machine import Machine
from dormie.machine.rules import Argmax, Sign


def read_kernel_fisher(model: Any) -> Machine:
    """Read a KernelFisherDiscriminant, which answers class 1 only above 0."""
    return Machine(model.kernel_, model.X_fit_, model.dual_coef_, model.intercept_, Sign(model.classes_, zero=0))


def virtual_svc(model: Any, machines: list[Machine]) -> Machine:
    """The machine of a VirtualSVC, given the machine of each of its estimators; the first of equal maxima wins."""
    if len(machines) == 1:
        return machines[0]
    return one_vs_rest(model, machines).changed(rule=Argmax(model.classes_))

"""dormie's own estimators, brought to the normal form. They keep scikit-learn's conventions, and are read with it."""

from __future__ import annotations

from typing import Any

from dormie.machine import Machine
from dormie.rules import Sign


def read_kernel_fisher(model: Any) -> Machine:
    """KernelFisherDiscriminant: class 1 only above 0."""
    return Machine(model.kernel_, model.X_fit_, model.dual_coef_, model.intercept_, Sign(model.classes_, zero=0))

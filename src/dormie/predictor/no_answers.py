"""What a method of a predictor returns for no rows, from the rule alone: lazy graphs ask beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine
from dormie.machine.rules import Probability
from dormie.plan.plan import Plan
from dormie.predictor.room import Rooms


def no_answers(plan: Plan, method: str) -> npt.NDArray[Any]:
    """An array without rows, of the type and the columns that `method` gives; nothing is predicted."""
    machine, values = plan.machine, plan.values
    if method == "predict":
        return _none_of(machine)
    if values is not None and (method == "predict_proba" or not isinstance(values.machine.rule, Probability)):
        return _none_of(values.machine)
    return machine.rule.decision(np.empty((0, machine.n_outputs)))


def _none_of(machine: Machine) -> npt.NDArray[Any]:
    rooms = Rooms(machine)
    return rooms.returned(rooms.new(0))

"""Stages for tests: the NumPy twin of one, and a base for those made by hand."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays
from dormie.methods.base import Stage
from dormie.methods.memory import Shapes, Size
from dormie.numerics import backend

S = TypeVar("S", bound=Stage)


def on_numpy(stage: S) -> S:
    """The same stage without the native core."""
    with backend.numpy_only():
        return copy.copy(stage)


class StageByHand(Stage):
    """A stage that no plan file holds."""

    words = "made by hand"
    certified = True

    def estimate(self, rows: Any) -> Floats:
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], Arrays]:
        raise NotImplementedError

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        raise NotImplementedError

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        raise NotImplementedError

"""Stages for tests: the NumPy twin of one, its native decisions, and a base for those made by hand."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, TypeVar

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


class Traced(NamedTuple):
    """What the native core decides: see its `Cascade.trace`."""

    answers: Any
    settled_by: Any
    evaluations: Any
    open: Any


def traced(stage: backend.extension.Stage | None, rows: Any, threads: int = 0) -> Traced:
    """The decisions of a native stage, in so many threads."""
    assert stage is not None
    return Traced(*backend.extension.Cascade([stage]).trace(rows, threads))


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

"""The full sum as a method: it serves every machine."""

from __future__ import annotations

from dormie.machine import Machine
from dormie.methods.base import Method, Usable
from dormie.methods.dense.stage import Dense, Float32Dense


class _DenseMethod(Method):
    stages = (Dense, Float32Dense)
    serves_sparse_points = True

    def is_usable_for(self, machine: Machine) -> Usable:  # noqa: ARG002 - every machine
        return Usable()


METHOD = _DenseMethod()

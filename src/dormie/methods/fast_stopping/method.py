"""Fast stopping as a method: nothing is fitted, the weights give the order of the terms."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CertifiedStage, Method, Usable, needs_early_stop, needs_inner_product
from dormie.methods.fast_stopping.of_python_kernel import PythonFastStopping
from dormie.methods.fast_stopping.stage import FastStopping, LargestTermsFirst
from dormie.methods.fitting import CertifiedFitting
from dormie.numerics.feature_space import require_inner_product

_TRIED = 32  # points whose kernel matrix is evaluated for no other purpose


class _FastStoppingMethod(Method):
    stages = (FastStopping,)

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_early_stop(self.name, machine)

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        if fitting.machine.kernel.is_python:
            require_inner_product(fitting.machine, _TRIED)
        yield _stage(fitting.machine)

    def stage_without_fitting(self, machine: Machine) -> CertifiedStage | None:
        return _stage(machine) if needs_inner_product(self.name, machine) else None


def _stage(machine: Machine) -> LargestTermsFirst:
    return PythonFastStopping(machine) if machine.kernel.is_python else FastStopping(machine)


METHOD = _FastStoppingMethod()

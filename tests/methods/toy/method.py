"""far_away as a method: it serves RBF machines, and has one candidate whatever the effort."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.methods.base import CertifiedStage, Method, Usable
from dormie.methods.fitting import CertifiedFitting
from tests.methods.toy.stage import FarAway


class _FarAwayMethod(Method):
    stages = (FarAway,)

    def is_usable_for(self, machine: Machine) -> Usable:
        if isinstance(machine.kernel, RBF):
            return Usable()
        return Usable(f"{self.name} needs an RBF kernel, whose values fall with the distance, got {machine.kernel!r}")

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        yield FarAway.fit(fitting.machine)


METHOD = _FarAwayMethod()

"""Reduced sets as a method: what is said of the time that fitting them takes."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.fitting import EFFORTS, CalibratedFitting, Sample
from dormie.methods.reduced_set import method
from dormie.progress import Progress


@dataclass(frozen=True)
class _Shape:
    n_features: int
    n_outputs: int


def _seconds(features: int, outputs: int, sizes: list[int], rows: int) -> float:
    machine: Any = _Shape(features, outputs)
    return method.seconds_of(machine, sizes, rows)


def test_the_time_of_fitting_grows_with_the_work() -> None:
    small = _seconds(10, 1, [32], 1000)
    assert 0 < small < 5
    assert _seconds(784, 45, [32, 128, 512, 1024], 30_000) > 60
    for more in (_seconds(100, 1, [32], 1000), _seconds(10, 9, [32], 1000), _seconds(10, 1, [64], 1000)):
        assert more > small
    assert _seconds(10, 1, [32], 10_000) > small
    assert _seconds(10, 1, [16, 32], 1000) == pytest.approx(small + _seconds(10, 1, [16], 1000))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("pace", "said"), [(1e20, False), (1.0, True)])
def test_fitting_that_takes_long_says_how_long(monkeypatch: pytest.MonkeyPatch, pace: float, said: bool) -> None:
    monkeypatch.setattr(method, "_PACE", pace)
    monkeypatch.setattr("sys.stderr", terminal := _Terminal())
    rng = np.random.default_rng(0)
    machine = Machine(RBF(0.5), rng.normal(size=(150, 2)), rng.normal(size=150), np.zeros(1), Sign(np.array([0, 1])))
    fitting, measuring = (Sample.of(machine, rng.normal(size=(200, 2))) for _ in range(2))
    task = CalibratedFitting(machine, fitting, measuring, EFFORTS["quick"], False, 0, Progress())
    assert [*method.METHOD.calibrated_candidates(task)]
    assert ("this reduced set: about" in terminal.getvalue()) == said

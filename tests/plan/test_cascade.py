"""Cascades: stages with cautions, in words, scaled, and refused where they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense, Float32Dense
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.plan.cascade import Cascade

_POINTS = np.random.default_rng(0).normal(size=(40, 2))
MACHINE = Machine(RBF(0.5), _POINTS, np.where(_POINTS[:, 0] > 0, 1.0, -1.0), np.zeros(1), Sign(np.array([0, 1])))
SURE = ReducedSet.project(MACHINE, _POINTS[:8], [8])
BOLD = CalibratedReducedSet(MACHINE, Levels.of(_POINTS[:8], [np.ones((8, 1))], 1), np.array([[0.5]]))
FILTER = LinearFilter.fit(MACHINE, _POINTS)


def test_a_cascade_reads_as_its_stages_with_their_cautions() -> None:
    cascade = Cascade((FILTER, BOLD, SURE, Float32Dense(MACHINE)), (0.35, 14.0, 1.0, 1.0))
    expected = "linear_filter(caution 0.35) -> reduced_set(8; caution 14) -> reduced_set(8) -> dense(float32)"
    assert str(cascade) == expected
    assert str(Cascade.of(Geometry.build(MACHINE, _POINTS[:3]), Dense(MACHINE))) == "geometry(3) -> dense"


def test_only_stages_that_have_a_caution_are_scaled() -> None:
    cascade = Cascade((BOLD, SURE, Dense(MACHINE)), (3.0, 1.0, 1.0))
    assert cascade.scaled(2.0) == Cascade(cascade.stages, (6.0, 1.0, 1.0))
    assert not cascade.certified
    assert Cascade.of(SURE, Dense(MACHINE)).certified


def test_cascades_are_put_together_and_taken_apart() -> None:
    early = Cascade((BOLD,), (3.0,))
    whole = early.before(Dense(MACHINE))
    assert [caution for _, caution in whole] == [3.0, 1.0]
    assert whole.early == early
    assert (len(whole), len(Cascade.of())) == (2, 0)


@pytest.mark.parametrize("caution", [-1.0, float("nan"), float("inf"), True, "2", 10**400, np.complex64(1)])
def test_a_caution_that_is_no_factor_is_refused(caution: float) -> None:
    with pytest.raises(ValueError, match="caution must be a finite number of at least 0, got"):
        Cascade((BOLD,), (caution,))


def test_a_caution_for_a_stage_without_one_is_refused() -> None:
    for stage in (SURE, Dense(MACHINE), Float32Dense(MACHINE)):
        with pytest.raises(ValueError, match="has no caution"):
            Cascade((stage,), (2.0,))
    with pytest.raises(ValueError, match="there are 1 cautions for 2 stages"):
        Cascade((BOLD, SURE), (1.0,))

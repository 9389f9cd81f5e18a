"""The race: which cascade wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.planner.costs import Timed
from dormie.planner.race import Candidate, Race
from dormie.predictor import cascade as flow


def test_a_stage_that_settles_nothing_loses_to_the_dense_stage_alone(moons: tuple[SVC, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    useless = ReducedSet.project(machine, machine.points[:1], [1])
    assert not useless.decide(rows).settled.any()  # type: ignore[union-attr]
    found, trials = Race.between(Dense(machine), [Candidate(useless)], rows, Timed()).winner()
    assert str(found) == "dense"
    assert {trial.stages for trial in trials} == {"dense", "reduced_set(1) -> dense"}
    found, _ = Race.between(Dense(machine), [Candidate(useless)], rows, Timed()).winner(dense_alone=False)
    assert str(found) == "reduced_set(1) -> dense"


def test_trials_tell_of_every_stage_and_of_the_winner_once(moons: tuple[SVC, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    landmarks = machine.points[w_greedy(machine, 32)]
    tried = [FastStopping(machine), Geometry.build(machine, landmarks), ReducedSet.project(machine, landmarks, [32])]
    found, trials = Race.between(Dense(machine), [Candidate(stage) for stage in tried], rows, Timed()).winner()
    described = [trial.stages for trial in trials]
    assert len(set(described)) == len(described)
    assert {f"{stage} -> dense" for stage in tried} <= set(described)
    assert str(found) in described
    for trial in trials:
        if trial.stages == f"{tried[1]} -> dense":
            assert trial.settled == pytest.approx(np.mean(tried[1].decide(rows).settled))  # type: ignore[arg-type]


def test_cascades_get_cheaper_as_more_rows_may_be_wrong(moons: tuple[SVC, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    levels = Levels.of(machine.points[:3], [np.ones((3, 1))], 1)
    rough = CalibratedReducedSet(machine, levels, np.array([[1.0]]))
    family = Candidate(rough, (0.1, 1.0, 3.0), [np.full(len(rows), 0.05)] * 3)
    none, few, all_rows = Race.between(Dense(machine), [family], rows, Timed()).cheapest_within([0.0, 0.5, 1.0])
    assert none == Cascade.of()
    wrong = [np.mean(flow.run(early.before(Dense(machine)), rows).settled_by == 0) for early in (few, all_rows)]
    assert wrong[0] <= wrong[1]
    assert all_rows == Cascade((rough,), (0.1,))  # the boldest settles the most
    sure = Race.between(Dense(machine), [Candidate(rough, (1.0,), [0.3])], rows, Timed()).cheapest_within([0.29])
    assert sure == [Cascade.of()] or not rough.decide(rows).settled.all()  # type: ignore[union-attr]

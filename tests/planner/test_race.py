"""The race: which cascade wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.machine import Floats
from dormie.methods.base import Decisions, Stage
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.planner.costs import Alone, Costs, Timed
from dormie.planner.race import Candidate, Race
from dormie.predictor import cascade as flow


def test_a_stage_that_settles_nothing_loses_to_the_dense_stage_alone(moons: tuple[SVC, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    useless = ReducedSet.project(machine, machine.points[:1], [1])
    assert not useless.decide(rows).settled.any()  # type: ignore[union-attr]
    costs = _Told(lambda cascade: 1.02 if cascade.startswith("reduced_set") else 1.0)
    found, trials = Race.between(Dense(machine), [Candidate(useless)], rows, costs).winner()
    assert str(found) == "dense"
    assert {trial.stages for trial in trials} == {"dense", "reduced_set(1) -> dense"}
    found, _ = Race.between(Dense(machine), [Candidate(useless)], rows, costs).winner(dense_alone=False)
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


class _Told(Costs):
    """Costs as told, seconds by the name of the cascade; those of stages alone are all equal."""

    def __init__(self, seconds: Callable[[str], float]) -> None:
        super().__init__()
        self._seconds = seconds

    def of_stages(self, alone: Sequence[Alone], sample: Any) -> list[Callable[[Decisions], Floats]]:
        return [lambda _: np.full(len(sample), 1e-6)] * len(alone)

    def of_entry(self, dense: Stage, sample: Any) -> float:  # noqa: ARG002 - none
        return 0.0

    def of_cascades(self, cascades: Sequence[Cascade], sample: Any) -> list[float]:  # noqa: ARG002 - told
        return [self._seconds(str(cascade)) for cascade in cascades]


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [(1.0, 1.0, 16), (1.04, 1.0, 16), (1.0, 1.04, 16), (1.06, 1.0, 32), (1.0, 1.06, 16)],
)
def test_of_cascades_that_are_about_as_fast_the_smaller_wins(
    moons: tuple[SVC, Any], small: float, large: float, expected: int
) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    landmarks = machine.points[w_greedy(machine, 32)]
    stages = [ReducedSet.project(machine, landmarks[:n], [n]) for n in (32, 16)]
    seconds = {"reduced_set(16) -> dense": small, "reduced_set(32) -> dense": large}
    costs = _Told(lambda name: seconds.get(name, 3.0))
    found, _ = Race.between(Dense(machine), [Candidate(stage) for stage in stages], rows, costs).winner()
    assert str(found) == f"reduced_set({expected}) -> dense"


def test_of_cascades_that_are_about_as_fast_the_shorter_wins(moons: tuple[SVC, Any]) -> None:
    machine, rows = dormie.read(moons[0]), moons[1]
    landmarks = machine.points[w_greedy(machine, 32)]
    stages = [FastStopping(machine), ReducedSet.project(machine, landmarks, [32])]
    seconds = {"reduced_set(32) -> dense": 1.0, "fast_stopping -> reduced_set(32) -> dense": 0.96}
    for order in (stages, stages[::-1]):
        costs = _Told(lambda name: seconds.get(name, 3.0))
        found, _ = Race.between(Dense(machine), [Candidate(stage) for stage in order], rows, costs).winner()
        assert str(found) == "reduced_set(32) -> dense"

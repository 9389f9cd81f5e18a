"""Files that would unfold: small ones that ask for far more memory than they take on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Linear
from dormie.machine.rules import OneVsOneVote, Rule, Sign, Value
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.memory import Size
from dormie.methods.nearest import Nearest
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from dormie.methods.tree import greedy
from dormie.methods.tree.stage import TreeWalk
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive, load, save
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Evidence, Exact, Guarantee, Risk
from dormie.plan.plan import Plan, Source
from tests.plan.file.plans import with_stage_arrays, written

RISK = Risk(0.01, 0.95, Evidence(5000, 0, 0.001, 1, 1, "2024-12-31", 0))
SIGN = Sign(np.array([-1, 1]))
_FAST_STOPPING = {"name": "fast_stopping", "certified": True, "caution": 1.0, "numbers": {}, "arrays": {}}


def _machine(points: int, features: int, outputs: int = 1, rule: Rule = SIGN) -> Machine:
    rng = np.random.default_rng(0)
    shape = (points, outputs)
    return Machine(RBF(0.1), rng.normal(size=(points, features)), rng.normal(size=shape), np.zeros(outputs), rule)


def _plan(machine: Machine, *stages: Stage, guarantee: Guarantee | None = None) -> Plan:
    return Plan(machine, Cascade.of(*stages, Dense(machine)), guarantee or Exact(), Source("by hand", machine.n_points))


def _assert_refused(folder: Path, data: bytes) -> None:
    with pytest.raises(PlanFileError, match=r"would take .* bytes of memory, and of a file with .* it may take"):
        load(written(folder, data))


def test_a_stage_repeated_is_refused(tmp_path: Path) -> None:
    document = describe(_plan(_machine(40_000, 12)))
    document.schema["stages"][:0] = [_FAST_STOPPING] * 15
    data = b"".join(archive.encode(unparse(document)))
    assert len(data) < 5_000_000
    _assert_refused(tmp_path, data)


def test_an_order_for_each_of_too_many_cells_is_refused(tmp_path: Path) -> None:
    machine = _machine(2, 1000)
    stage = Nearest.fit(machine, machine.points, form="cells", cells=1)
    cells = 5000
    of_one_cell = stage.state()[1]
    arrays: dict[str, Any] = of_one_cell | {
        name: np.repeat(of_one_cell[name], cells, axis=axis)
        for name, axis in (("centers", 0), ("orders", 0), ("middle", 1), ("half", 1))
    }
    _assert_refused(tmp_path, with_stage_arrays(_plan(machine, stage, guarantee=RISK), arrays))


def test_more_directions_than_features_are_refused(tmp_path: Path) -> None:
    machine = _machine(50, 3)
    stage = Nearest.fit(machine, machine.points)
    arrays = stage.state()[1] | {"basis": np.zeros((200, 3)), "centers": np.zeros((0, 200))}
    with pytest.raises(PlanFileError, match="basis must have between 1 and 3 directions, got 200"):
        load(written(tmp_path, with_stage_arrays(_plan(machine, stage, guarantee=RISK), arrays)))


def test_outputs_without_points_to_speak_of_are_refused(tmp_path: Path) -> None:
    machine = _machine(1, 1, 50_000, Value(flat=False))
    with pytest.raises(PlanFileError, match="would take"):
        save(_plan(machine), tmp_path / "plan")


def test_a_linear_machine_of_many_features_is_no_bomb(tmp_path: Path) -> None:
    machine = Machine(Linear(), np.ones((1, 1 << 18)), np.ones((1, 1)), np.zeros(1), SIGN)
    save(_plan(machine), tmp_path / "plan")
    assert load(tmp_path / "plan").machine.n_features == 1 << 18


def _tree(machine: Machine) -> TreeWalk:
    rows = machine.points
    return TreeWalk.calibrated(machine, greedy(machine, rows, height=4), rows)


def _champion(machine: Machine) -> Champion:
    return Champion(machine, ReducedSet.project(machine, machine.points[:30], [30]).levels)


def _open_pairs(machine: Machine) -> OpenPairs:
    guess = ReducedSet.project(machine, machine.points[:30], [30])
    return OpenPairs(machine, guess.levels, guess.half_widths)


def _scores(machine: Machine) -> Scores:
    return Scores(machine, ScoreMachine(machine.points[:300].copy(), machine.weights[:300].copy(), np.zeros(3)), 1.0)


STAGES_OF: dict[str, Callable[[Machine], Stage]] = {
    "champion": _champion,
    "open_pairs": _open_pairs,
    "dense": Dense,
    "fast_stopping": FastStopping,
    "geometry": lambda machine: Geometry.build(machine, machine.points[:100]),
    "reduced_set": lambda machine: ReducedSet.project(machine, machine.points[:300], [10, 300]),
    "linear_filter": lambda machine: LinearFilter.fit(machine, machine.points),
    "nearest by query": lambda machine: Nearest.fit(machine, machine.points),
    "nearest by cell": lambda machine: Nearest.fit(machine, machine.points, form="cells", cells=10),
    "scores": _scores,
    "tree": _tree,
}


@pytest.mark.parametrize("name", STAGES_OF)
def test_what_stages_of_plans_take_is_within_what_they_say_and_may(name: str, tmp_path: Path) -> None:
    """Of real plans, with stages as they are fitted, nothing is refused; what is said grows with what there is."""
    voting = name in ("champion", "open_pairs", "scores")
    machine = _machine(1000, 20, 3, OneVsOneVote(np.arange(3))) if voting else _machine(1000, 20)
    stage = STAGES_OF[name](machine)
    assert type(stage) in METHODS[name.split()[0]].stages
    shapes = {name: array.shape for name, array in stage.state()[1].items()}
    room = type(stage).memory(Size(1000, 20, machine.n_outputs), shapes)
    assert 0 < room < 14 * machine.points.nbytes
    plan = _plan(machine, *(() if name == "dense" else (stage,)), guarantee=RISK)
    save(plan, tmp_path / "plan")
    assert load(tmp_path / "plan").stages[0].name == stage.name


def test_every_stage_says_what_it_takes_whatever_the_shapes() -> None:
    for stage in (stage for method in METHODS.values() for stage in method.stages):
        for shapes in ({}, {"points": ()}, {"points": (3,), "orders": (2, 2), "middle": (1,)}):
            assert stage.memory(Size(0, 1, 0), shapes) >= 0

"""Candidates: which stages are fitted for a machine, and what effort changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Sigmoid
from dormie.machine.rules import Sign
from dormie.methods.base import EFFORTS, Stage
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import ReducedSet
from dormie.planner.certified_candidates import candidates
from dormie.planner.options import Options
from dormie.progress import Progress


@pytest.fixture(scope="module")
def moons() -> tuple[Machine, Any]:
    X, y = make_moons(3000, noise=0.3, random_state=0)
    return dormie.read(SVC(gamma=2.0).fit(X[:2000], y[:2000])), X[2000:]


def _fitted(moons: tuple[Machine, Any], *names: str, effort: str = "normal") -> list[Stage]:
    machine, rows = moons
    return [*candidates(machine, Options(names or None, EFFORTS[effort]), rows, Progress())]


def _reduced(stages: list[Stage]) -> dict[int, ReducedSet]:
    return {stage.sizes[-1]: stage for stage in stages if isinstance(stage, ReducedSet)}


def _open_share(stage: Stage, rows: Any) -> float:
    settled = stage.decide(rows).settled
    assert settled is not None
    return float(np.mean(~settled))


def test_all_kinds_of_stages_are_tried_unless_some_are_named(moons: tuple[Machine, Any]) -> None:
    assert {type(stage) for stage in _fitted(moons)} == {FastStopping, Geometry, ReducedSet}
    for kind in (FastStopping, Geometry, ReducedSet):
        assert {type(stage) for stage in _fitted(moons, kind.name)} == {kind}


def test_vectors_that_moved_leave_less_of_w(moons: tuple[Machine, Any]) -> None:
    still, moved = (_reduced(_fitted(moons, "reduced_set", effort=effort)) for effort in ("quick", "normal"))
    assert still.keys() & moved.keys()
    for size in still.keys() & moved.keys():
        assert moved[size].arrays["rho"] < 0.8 * still[size].arrays["rho"]
    points = {tuple(point) for point in moons[0].points}
    for stage in still.values():
        assert all(tuple(vector) in points for vector in stage.arrays["points"])


def test_free_landmarks_leave_fewer_rows_open_than_as_many_points(moons: tuple[Machine, Any]) -> None:
    left: dict[str, dict[int, float]] = {"quick": {}, "normal": {}}
    for effort, shares in left.items():
        for stage in _fitted(moons, "geometry", effort=effort):
            assert isinstance(stage, Geometry)
            shares[stage.budget] = _open_share(stage, moons[1])
    assert left["normal"][32] < 0.5 * left["quick"][32]


def test_sizes_double_until_more_vectors_cannot_pay(moons: tuple[Machine, Any]) -> None:
    machine, rows = moons
    fitted = _reduced(_fitted(moons, "reduced_set"))
    sizes = sorted(fitted)
    assert sizes[0] == 32
    assert all(b == min(2 * a, machine.n_points // 3) for a, b in pairwise(sizes))
    left = {size: _open_share(fitted[size], rows) * machine.n_points for size in sizes}
    assert all(left[size] > size for size in sizes[:-1])


def test_a_kernel_without_geometry_is_refused_only_where_it_was_asked_for() -> None:
    rng = np.random.default_rng(0)
    machine = Machine(Sigmoid(0.1), rng.normal(size=(80, 2)), rng.normal(size=80), np.zeros(1), Sign(np.array([0, 1])))
    rows = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="reduced_set needs a kernel known to be positive semi-definite"):
        dormie.compile(machine, rows, methods=["reduced_set"])
    assert not [*candidates(machine, Options(), rows, Progress())]


def test_where_landmarks_settle_nothing_no_time_goes_into_moving_vectors() -> None:
    rng = np.random.default_rng(0)
    points = 10 * rng.normal(size=(600, 20))  # all kernel values are 0: every point is on its own
    machine = Machine(RBF(1.0), points, rng.normal(size=600), np.zeros(1), Sign(np.array([0, 1])))
    stages = [*candidates(machine, Options(), points[:50] + 0.1, Progress())]
    assert not _reduced(stages)


def test_an_unknown_effort_is_explained(moons: tuple[Machine, Any]) -> None:
    with pytest.raises(ValueError, match=r"effort must be one of 'quick', 'normal', 'thorough', got 'huge'"):
        dormie.compile(moons[0], effort="huge")

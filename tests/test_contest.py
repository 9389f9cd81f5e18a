"""The contest: what a list of stages is expected to cost, and which list wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie import flow
from dormie.contest import Contest, _handicapped, _lists, _open, _Run, _seconds, best_of
from dormie.kernels import RBF
from dormie.landmarks import w_greedy
from dormie.machine import Machine
from dormie.rules import Sign
from dormie.stages import Dense, FastStopping, Geometry, ReducedSet


@pytest.fixture(scope="module")
def moons() -> tuple[Machine, Any]:
    X, y = make_moons(3000, noise=0.3, random_state=0)
    return dormie.read(SVC(gamma=0.5).fit(X[:2000], y[:2000])), X[2000:]


_CERTIFIED = Dense(Machine(RBF(1.0), np.zeros((1, 1)), np.ones(1), np.zeros(1), Sign(np.array([0, 1]))))


def _run(settled: list[bool], costs: list[float]) -> _Run:
    wrong = np.zeros(len(settled))
    return _Run(_CERTIFIED, np.array(settled), wrong, np.array(costs))


@st.composite
def runs(draw: st.DrawFn) -> list[_Run]:
    rows = draw(st.integers(1, 6))
    settled, costs = st.booleans(), st.floats(0, 10)
    one = st.builds(
        _run, st.lists(settled, min_size=rows, max_size=rows), st.lists(costs, min_size=rows, max_size=rows)
    )
    return draw(st.lists(one, min_size=2, max_size=5))


@given(runs())
def test_a_list_costs_every_row_what_the_stages_up_to_its_settling_do(drawn: list[_Run]) -> None:
    *entry, dense = drawn
    expected, waiting = 0.0, []
    for row in range(len(dense.costs)):
        for run in entry:
            expected += run.costs[row]
            if run.settled[row]:
                break
        else:
            waiting.append(row)
            expected += dense.costs[row]
    assert _seconds(tuple(entry), dense) == pytest.approx(expected)
    assert np.flatnonzero(_open(tuple(entry), len(dense.costs))).tolist() == waiting


def test_lists_have_up_to_three_stages_the_cheap_ones_first() -> None:
    four = [_run([True], [cost]) for cost in (3.0, 1.0, 4.0, 2.0)]
    lists = [*_lists(four, None)]
    assert len(lists) == len(set(lists)) == 4 + 6 + 4
    for entry in lists:
        assert [run.costs[0] for run in entry] == sorted(run.costs[0] for run in entry)


def test_a_longer_list_must_be_faster_to_win() -> None:
    short, other = _run([True], [1.0]), _run([True], [1.0])
    assert _handicapped((short, other), {(short, other): 1.0}) > _handicapped((short,), {(short,): 1.0})


def test_a_stage_that_settles_nothing_loses_to_the_dense_stage_alone(moons: tuple[Machine, Any]) -> None:
    machine, rows = moons
    useless = ReducedSet.project(machine, machine.points[:1], [1])
    assert not useless.decide(rows).settled.any()  # type: ignore[union-attr]
    stages, trials = Contest(Dense(machine), [useless], rows).winner()
    assert flow.describe(stages) == "dense"
    assert {trial.stages for trial in trials} == {"dense", "reduced_set(1) -> dense"}
    stages, _ = Contest(Dense(machine), [useless], rows).winner(dense_alone=False)
    assert flow.describe(stages) == "reduced_set(1) -> dense"


def test_trials_tell_of_every_stage_and_of_the_winner_once(moons: tuple[Machine, Any]) -> None:
    machine, rows = moons
    landmarks = machine.points[w_greedy(machine, 32)]
    tried = [FastStopping(machine), Geometry.build(machine, landmarks), ReducedSet.project(machine, landmarks, [32])]
    stages, trials = Contest(Dense(machine), tried, rows).winner()
    described = [trial.stages for trial in trials]
    assert len(set(described)) == len(described)
    assert {f"{stage} -> dense" for stage in tried} <= set(described)
    assert flow.describe(stages) in described
    for trial in trials:
        if trial.stages == f"{tried[1]} -> dense":
            assert trial.settled == pytest.approx(np.mean(tried[1].decide(rows).settled))  # type: ignore[arg-type]


def test_the_least_of_several_rounds_is_kept() -> None:
    calls: list[int] = []
    seconds = best_of([lambda: calls.append(0), lambda: calls.append(1)], 4)
    assert calls == [0, 1] * 4
    assert len(seconds) == 2
    assert min(seconds) >= 0

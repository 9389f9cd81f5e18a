"""Lists of stages weighed up: against walking every row through every list."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from dormie.planner.cascades import Run, weigh

_STAGE = Dense(Machine(RBF(1.0), np.zeros((1, 1)), np.ones(1), np.zeros(1), Sign(np.array([0, 1]))))


def _run(family: int, settled: list[bool], costs: list[float], wrong: list[float] | None = None) -> Run:
    return Run(_STAGE, 1.0, family, np.array(settled), np.array(wrong or [0.0] * len(settled)), np.array(costs))


@st.composite
def runs(draw: st.DrawFn) -> list[Run]:
    rows = draw(st.integers(1, 6))

    def each(values: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
        return st.lists(values, min_size=rows, max_size=rows)

    one = st.builds(_run, st.integers(0, 2), each(st.booleans()), each(st.floats(0.1, 10)), each(st.floats(0, 1)))
    return draw(st.lists(one, min_size=1, max_size=5))


def _walked(entry: tuple[Run, ...], dense: Run) -> tuple[float, float]:
    """Seconds and wrong rows, row by row."""
    seconds = wrong = 0.0
    for row in range(len(dense.costs)):
        for run in entry:
            seconds += run.costs[row]
            wrong += run.wrong[row]
            if run.settled[row]:
                break
        else:
            seconds += dense.costs[row]
    return seconds, wrong


@given(runs())
def test_cascades_cost_every_row_what_the_stages_up_to_its_settling_do(drawn: list[Run]) -> None:
    *stages, dense = drawn
    cascades = weigh(stages, dense)
    found = {tuple(number for number in line if number >= 0): at for at, line in enumerate(cascades.runs.tolist())}
    order = np.argsort([run.costs.sum() for run in stages], kind="stable").tolist()
    expected = {
        entry
        for length in range(4)
        for entry in permutations(order, length)
        if [order.index(number) for number in entry] == sorted(order.index(number) for number in entry)
        and len({stages[number].candidate for number in entry}) == length
    }
    assert set(found) == expected
    assert len(cascades.runs) == len(expected)
    for entry, at in found.items():
        walked = _walked(tuple(stages[number] for number in entry), dense)
        assert (cascades.seconds[at], cascades.wrong[at]) == pytest.approx(walked)


def test_a_longer_list_must_be_faster_to_win() -> None:
    useless = _run(1, [False], [0.0])
    cascades = weigh([_run(0, [True], [1.0]), useless], _run(2, [True], [5.0]))
    assert cascades.lengths().tolist() == [0, 1, 1, 2]
    alone, both = cascades.seconds[1], cascades.seconds[3]
    assert alone == both
    assert cascades.penalized_seconds()[1] < cascades.penalized_seconds()[3]
    assert cascades.penalized_seconds()[0] == cascades.seconds[0]

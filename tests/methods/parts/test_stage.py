"""The parts stage: labels of the full sums, rows settled before all members are met, files and forged ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.errors import PlanFileError
from dormie.machine import Machine, MachineSum
from dormie.machine.kernels import RBF, Polynomial
from dormie.machine.rules import Argmax, MostProbable, OneVsOneVote, Probability, Rule, Sign, Value
from dormie.machine.rules.probability import Calibrated, Mean, Platt, ProbabilityMap, Temperature
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.parts import CalibratedParts, Parts
from dormie.methods.parts.stage import asks_that_pay
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive
from dormie.plan.file import load as load_plan
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Exact, Guarantee
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK, assert_comes_back
from tests.oracles import full_sum as naive
from tests.plan.file.plans import written

ROWS = np.random.default_rng(0).normal(size=(300, 3))
_BINARY = Sign(np.arange(2))
_VOTE = OneVsOneVote(np.arange(3))


def _mean(count: int, slope: float = -2.0) -> ProbabilityMap:
    return Mean(tuple(Calibrated(_BINARY, (Platt(slope, 0.1 * at),)) for at in range(count)))


def _sum(rule: Rule, outputs: int = 1, members: int = 5, factors: Any = None) -> MachineSum:
    rng = np.random.default_rng(1)
    made = [
        Machine(
            RBF(0.1 + 0.02 * at) if at % 2 else Polynomial(0.2, 1.0, 2),
            rng.normal(size=(80 + 10 * at, 3)),
            rng.normal(size=(80 + 10 * at, outputs)) / 4 + 0.02,
            0.3,
            Value(flat=False),
        )
        for at in range(members)
    ]
    return MachineSum(made, rule, factors=factors)


SUMS: dict[str, Callable[[], MachineSum]] = {
    "two classes": lambda: _sum(MostProbable(np.arange(2), _mean(5))),
    "three classes": lambda: _sum(
        MostProbable(np.arange(3), Mean((Temperature(_VOTE, 0.7), Temperature(_VOTE, 1.5)))), 3, 2
    ),
    "added, sign": lambda: _sum(_BINARY, factors=(0.2, -0.1, 0.3, 0.5, 0.1)),
    "added, argmax": lambda: _sum(Argmax(np.arange(4)), 4, 3, (1.0, -1.0, 0.5)),
}
KINDS: dict[str, Callable[[Machine], Stage]] = {
    "fast_stopping": FastStopping,
    "geometry": lambda member: Geometry.build(member, member.points[:20]),
    "reduced_set": lambda member: ReducedSet.project(member, member.points[:20], [5, 20]),
}


def _stages(machine: MachineSum, kind: str) -> list[Stage]:
    return [KINDS[kind](member) for member in machine.members]


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kind", ["", *KINDS])
def test_settled_labels_are_those_of_the_definition(name: str, kind: str) -> None:
    machine = SUMS[name]()
    stage = Parts(machine, _stages(machine, kind) if kind else ()).fitted(ROWS[:100])
    found = stage.decide(ROWS)
    assert found.settled is not None
    assert found.settled.mean() > 0.99  # the full sums come last
    outputs = machine.joined([naive.outputs(member, ROWS) for member in machine.members])
    np.testing.assert_array_equal(found.answers[found.settled], machine.rule.answer(outputs)[found.settled])


def check_instruction_set() -> None:
    """Intervals of sums hold, and settled answers are right, at shapes that fill registers of all lengths."""
    for seed, (outputs, members, factors) in enumerate([(1, 5, (0.2, -0.1, 0.3, 0.5, 0.1)), (4, 3, (1.0, -1.0, 0.5))]):
        rule: Rule = _BINARY if outputs == 1 else Argmax(np.arange(outputs))
        machine = _sum(rule, outputs, members, factors)
        rows = np.random.default_rng(seed).normal(size=(65, 3))
        exact = machine.joined([naive.outputs(member, rows) for member in machine.members])
        for stages in ((), *(_stages(machine, kind) for kind in KINDS)):
            stage = Parts(machine, stages)
            found = stage.decide(rows)
            assert found.settled is not None
            np.testing.assert_array_equal(found.answers[found.settled], rule.answer(exact)[found.settled])
            for budget in stage.budgets:
                low, high = stage.interval(rows, budget)
                assert ((low <= exact + 1e-12) & (exact - 1e-12 <= high)).all()


def test_members_that_cannot_change_the_answer_are_not_met() -> None:
    machine = _sum(MostProbable(np.arange(2), _mean(5, -20.0)))
    found = Parts(machine).decide(ROWS)
    assert np.mean(found.evaluations) < 0.9 * machine.n_points
    assert np.min(found.evaluations) == 80 + 90 + 100  # three of five, the smallest first
    added = _sum(_BINARY, factors=(1.0,) * 5)  # a sum is not known before its last part
    assert set(np.asarray(Parts(added).decide(ROWS).evaluations).tolist()) == {added.n_points}


@given(st.lists(st.integers(0, 299), min_size=1, max_size=30))
def test_a_row_has_the_same_answer_and_cost_in_any_batch(places: list[int]) -> None:
    machine = SUMS["two classes"]()
    stage = Parts(machine, _stages(machine, "geometry"))
    for one, other in zip(stage.decide(ROWS)[:3], stage.decide(ROWS[places])[:3], strict=True):
        np.testing.assert_array_equal(np.asarray(one)[places], other)


@given(
    st.lists(st.tuples(st.integers(1, 100), st.floats(0, 1)), min_size=1, max_size=7),
    st.floats(0, 200),
)
def test_asks_are_the_cheapest_of_all(steps: list[tuple[int, float]], cost: float) -> None:
    ends = np.cumsum([spent for spent, _ in steps])
    shares = 1 - np.cumsum([share for _, share in steps]) / 8
    last = len(steps) - 1

    def expected(asks: tuple[int, ...]) -> float:
        total, opened, before = 0.0, 1.0, 0
        for at in asks:
            total += opened * (ends[at] - before + cost)
            opened, before = shares[at], ends[at]
        return total

    ways = [(*few, last) for count in range(len(steps)) for few in combinations(range(last), count)]
    assert expected(tuple(asks_that_pay(ends, shares, cost))) == pytest.approx(min(map(expected, ways)))


def test_calibrated_rows_are_settled_by_scaled_half_widths() -> None:
    machine = SUMS["two classes"]()
    stage = _calibrated(machine)
    estimates = stage.estimate(ROWS)
    widths = np.hstack([own.half_widths for own in stage.stages])  # type: ignore[attr-defined]
    for caution in (0.0, 0.5, 3.0):
        found = stage.decide(ROWS, caution)
        radius = caution * widths * np.hstack([_lengths(member) for member in machine.members])
        expected = machine.rule.settled(estimates - radius, estimates + radius)
        assert found.settled is not None
        assert np.mean(found.settled != expected) < 0.01
        np.testing.assert_array_equal(found.answers[expected], machine.rule.answer(estimates)[expected])


def _lengths(member: Machine) -> Any:
    return np.sqrt(member.kernel.diagonal(ROWS))[:, None]


def _calibrated(machine: MachineSum) -> CalibratedParts:
    fitted = [ReducedSet.project(member, member.points[:20], [20]) for member in machine.members]
    widths = [np.full((1, stage.machine.n_outputs), 0.05) for stage in fitted]
    sets = [
        CalibratedReducedSet(stage.machine, stage.levels, width) for stage, width in zip(fitted, widths, strict=True)
    ]
    return CalibratedParts(machine, sets)


def _doubtful(machine: MachineSum) -> Any:
    """A row that is too close to the decision boundary for sums in float32."""
    dense = Dense(machine)
    labels = dense.decide(ROWS).answers
    ends = [ROWS[np.flatnonzero(labels == label)[:1]] for label in (0, 1)]
    for _ in range(30):
        middle = (ends[0] + ends[1]) / 2
        ends[int(dense.decide(middle).answers[0])] = middle
    return ends[0]


def _plan(stage: Parts | CalibratedParts, caution: float = 1.0) -> Plan:
    guarantee: Guarantee = Exact() if stage.certified else RISK
    cascade = Cascade((stage, Dense(stage.machine)), (caution, 1.0))
    return Plan(stage.machine, cascade, guarantee, Source("by hand", 60))


@pytest.mark.parametrize("kind", ["", *KINDS, "calibrated"])
def test_it_comes_back_from_a_file(kind: str, tmp_path: Path) -> None:
    machine = SUMS["two classes"]()
    rows = np.vstack([ROWS, _doubtful(machine)])
    if kind == "calibrated":
        assert_comes_back(_plan(_calibrated(machine), 2.0), rows, tmp_path / "plan.dormie")
        return
    stage = Parts(machine, _stages(machine, kind) if kind else (), np.array([4]) if not kind else None)
    assert_comes_back(_plan(stage), rows, tmp_path / "plan.dormie")


def _numbers(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda stage: stage["numbers"].update({name.replace("_", "/"): value for name, value in changes.items()})


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "a member without a stage": ("geometry", lambda stage: stage["numbers"].pop("4"), "none of geometry"),
    "a stage that no member has": ("geometry", lambda stage: stage["numbers"].update({"1": "nearest"}), "none of geo"),
    "parts in parts": ("geometry", lambda stage: stage["numbers"].update({"1": "parts"}), "none of geometry"),
    "a number as a name": ("geometry", lambda stage: stage["numbers"].update({"1": 7}), "none of geometry"),
    "another name": ("geometry", lambda stage: stage["numbers"].update({"1": "fast_stopping"}), "no member's stage"),
    "a number too many": ("geometry", lambda stage: stage["numbers"].update({"x": 1}), "no member's stage"),
    "a sixth stage": ("geometry", lambda stage: stage["numbers"].update({"5": "fast_stopping"}), "no member's stage"),
    "a budget beyond": ("geometry", lambda stage: stage["numbers"].update({"0/geometry/budget": 21}), "between 1 and"),
    "an uncertified set": ("geometry", lambda stage: stage.update(certified=False), "none of reduced_set"),
    "no asks": ("", lambda stage: stage["arrays"].pop("asks"), "each of its arrays just once"),
    "asks of another stage": (
        "geometry",
        lambda stage: stage["arrays"].update(asks=stage["arrays"]["0/geometry/rho"]),
        "each of its arrays just once",
    ),
    "asks and a stage": ("", lambda stage: stage["numbers"].update({"0": "fast_stopping"}), "none of geometry"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_stages_are_refused(name: str, tmp_path: Path) -> None:
    kind, change, message = FORGED[name]
    machine = SUMS["two classes"]()
    document = describe(_plan(Parts(machine, _stages(machine, kind) if kind else ())))
    change(document.schema["stages"][0])
    with pytest.raises(PlanFileError, match=message):
        load_plan(written(tmp_path, b"".join(archive.encode(unparse(document)))))


@pytest.mark.parametrize("asks", [[], [0, 4], [3], [4, 4], [-1, 4], [4.0], [[4]]])
def test_asks_ascend_to_the_last_step(asks: Any) -> None:
    machine = SUMS["two classes"]()
    if asks == [0, 4]:
        assert Parts(machine, (), np.array(asks)).asks.tolist() == asks
        return
    with pytest.raises(ValueError, match="asks must ascend to 4"):
        Parts(machine, (), np.array(asks))


def test_what_does_not_fit_is_refused() -> None:
    machine = SUMS["two classes"]()
    with pytest.raises(ValueError, match="one stage for each of the 5 members"):
        Parts(machine, _stages(machine, "geometry")[1:])
    with pytest.raises(ValueError, match="serves sums of machines"):
        Parts(machine.members[0], [])
    with pytest.raises(ValueError, match="give tolerance="):
        Parts(machine.changed(rule=Probability(_mean(5))))
    sets = [ReducedSet.project(member, member.points[:20], [5, 20]) for member in machine.members]
    levels = [CalibratedReducedSet(each.machine, each.levels, each.half_widths) for each in sets]
    with pytest.raises(ValueError, match="must have one level"):
        CalibratedParts(machine, levels)
    with pytest.raises(ValueError, match="must have one level"):
        CalibratedParts(machine, [])

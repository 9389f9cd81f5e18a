"""Sums of machines: members side by side, in every call that takes a machine; refused where one machine is needed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dormie
from dormie.machine import Affine, Machine, MachineSum, members_of
from dormie.machine.kernels import RBF, Custom, Linear, Polynomial
from dormie.machine.rules import MostProbable, Probability, Sign, Value
from dormie.machine.rules.probability import Calibrated, Isotonic, Mean, Platt, Temperature
from dormie.numerics import backend
from dormie.numerics.evaluate import full_sum_of
from tests.oracles import full_sum as naive

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 3))
_SCORES = Sign(np.array(["no", "yes"]))
_MAP = Mean((Calibrated(_SCORES, (Platt(-2.0, 0.1),)), Temperature(_SCORES, 1.5)))


def _member(kernel: Any, seed: int, mapped: bool = False) -> Machine:
    rng = np.random.default_rng(seed)
    input_map = Affine(rng.normal(size=3), rng.uniform(1, 2, size=3)) if mapped else None
    return Machine(kernel, rng.normal(size=(90, 3)), rng.normal(size=90), np.array([0.1 * seed]), Value(), input_map)


@pytest.fixture
def machine() -> MachineSum:
    members = [_member(RBF(0.3), 1, mapped=True), _member(Polynomial(0.1, 1.0, 2), 2)]
    return MachineSum(members, MostProbable(np.array(["no", "yes"]), _MAP))


@pytest.mark.parametrize("native", [True, False])
def test_outputs_and_intervals_are_those_of_the_members(machine: MachineSum, native: bool) -> None:
    if native:
        whole = full_sum_of(machine)
    else:
        with backend.numpy_only():
            whole = full_sum_of(machine)
    expected = np.hstack([naive.outputs(member, ROWS) for member in machine.members])
    np.testing.assert_allclose(whole.outputs(ROWS), expected, rtol=1e-10)
    np.testing.assert_allclose(whole.source_sum.outputs(ROWS), expected, rtol=1e-10)
    exact = [[*first, *second] for first, second in zip(*_exact(machine), strict=True)]
    for low, high in (whole.ends(ROWS), whole.rough_ends(ROWS)):
        assert naive.between(low, high, exact).all()
        assert (high - low < 0.1).all()


def _exact(machine: MachineSum) -> list[list[Any]]:
    return [naive.exact_outputs(member, ROWS) for member in machine.members]


def test_a_sum_is_compiled_saved_and_asked_like_a_machine(machine: MachineSum, tmp_path: Path) -> None:
    fast = dormie.compile(machine, tolerance=0.01)
    outputs = full_sum_of(machine).outputs(ROWS)
    labels = machine.rule.labels(machine.rule.answer(outputs))
    fast.save(tmp_path / "sum")
    for each in (fast, dormie.load(tmp_path / "sum"), pickle.loads(pickle.dumps(fast))):
        np.testing.assert_array_equal(each.predict(ROWS), labels)
        assert np.abs(each.predict_proba(ROWS) - _MAP.values(outputs)).max() <= 0.01
        assert each.predict(ROWS, deadline=10.0).settled.all()
        low, high = each.interval(ROWS)
        assert ((low <= outputs) & (outputs <= high)).all()
        steps = [*each.anytime(ROWS[0])]
        assert (steps[-1].low <= outputs[0]).all()
        assert set(each.trace(ROWS).stage) <= {"parts", "dense", "source"}
        assert "MachineSum(2 machines" in each.explain()
    assert len(set(labels)) == 2


def test_rewrites_of_members_keep_their_outputs(machine: MachineSum) -> None:
    twice = np.vstack([machine.members[0].points] * 2)
    weights = np.vstack([machine.members[0].weights] * 2) / 2
    double = Machine(RBF(0.3), twice, weights, np.array([0.1]), Value(), machine.members[0].input_map)
    fast = dormie.compile(MachineSum([double, machine.members[1]], machine.rule))
    assert "merge_duplicates" in fast.plan.rewrites
    np.testing.assert_array_equal(fast.predict(ROWS), dormie.compile(machine).predict(ROWS))
    low, high = fast.interval(ROWS)
    outputs = full_sum_of(machine).outputs(ROWS)
    assert ((low <= outputs) & (outputs <= high)).all()


def test_changes_are_those_of_the_rule_and_the_names(machine: MachineSum) -> None:
    names = ("a", "b", "c")
    assert machine.changed(feature_names=names).feature_names == names
    assert machine.changed(feature_names=names).probability == Probability(_MAP)
    assert machine.changed(rule=Probability(_MAP, 0.1)).rule == Probability(_MAP, 0.1)
    assert members_of(machine) == machine.members
    with pytest.raises(ValueError, match="input_map is that of each member"):
        machine.changed(input_map=None)
    with pytest.raises(ValueError, match="each member has an origin"):
        machine.with_origin(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="evaluate its members"):
        machine.kernel.matrix(ROWS, ROWS)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "at least one machine"),
        ([_member(Custom(lambda a, b: a @ b.T), 1)], "Python function"),
        ([_member(Linear(), 1), Machine(Linear(), np.eye(2), np.ones(2), np.zeros(1), Value())], "2 to 3 features"),
    ],
)
def test_members_that_do_not_fit_are_refused(members: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MachineSum(members, Value(flat=False))


def test_a_sum_is_refused_where_one_machine_is_needed(machine: MachineSum) -> None:
    with pytest.raises(ValueError, match=r"dormie\.reduce takes one machine, and this is a sum of 2"):
        dormie.reduce(machine, 5, ROWS)
    with pytest.raises(ValueError, match="geometry serves one machine"):
        dormie.compile(machine, methods=["geometry"])


def test_the_rule_reads_all_outputs(machine: MachineSum) -> None:
    with pytest.raises(ValueError, match="reads 2 outputs, the machine has 1"):
        MachineSum(machine.members[:1], machine.rule)
    isotonic = Isotonic(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert (
        MachineSum(machine.members[:1], MostProbable(_SCORES.classes, Calibrated(_SCORES, (isotonic,)))).n_outputs == 1
    )

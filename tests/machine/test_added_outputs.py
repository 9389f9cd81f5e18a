"""Sums of machines whose outputs are added: what is added, its intervals, and the answers of compiled sums."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dormie
from dormie.machine import Machine, MachineSum
from dormie.machine.kernels import RBF, Linear, Polynomial
from dormie.machine.rules import Argmax, Probability, Rule, Sign, Value
from dormie.machine.rules.probability import Calibrated, Platt
from dormie.numerics import backend
from dormie.numerics.evaluate import full_sum_of
from tests.oracles import full_sum as naive

ROWS = np.random.default_rng(0).normal(size=(40, 3))
_KERNELS = (RBF(0.3), Polynomial(0.1, 1.0, 2), Linear())
_SCORES = Sign(np.array(["no", "yes"]))


def _sum(rule: Rule, outputs: int = 1, factors: Any = (0.5, -0.25, 2.0)) -> MachineSum:
    rng = np.random.default_rng(1)
    members = [
        Machine(kernel, rng.normal(size=(80, 3)), rng.normal(size=(80, outputs)), rng.normal(), Value(flat=False))
        for kernel in _KERNELS
    ]
    return MachineSum(members, rule, factors=factors)


def _exact(machine: MachineSum) -> list[list[Any]]:
    """The outputs as real numbers."""
    assert machine.factors is not None
    members = [naive.exact_outputs(member, ROWS) for member in machine.members]
    with mpmath.workdps(120):
        factors = [mpmath.mpf(factor) for factor in machine.factors]
        return [
            [mpmath.fdot(zip(factors, of_members, strict=True)) for of_members in zip(*row, strict=True)]
            for row in zip(*members, strict=True)
        ]


@pytest.mark.parametrize("factors", [(0.5, -0.25, 2.0), (1e150, -1e-150, 1 / 3), (1.0, -1.0, 1e-300)])
@pytest.mark.parametrize("native", [True, False])
def test_outputs_are_added_and_intervals_contain_the_real_sum(factors: Any, native: bool) -> None:
    machine = _sum(Value(flat=False), 2, factors)
    if native:
        whole = full_sum_of(machine)
    else:
        with backend.numpy_only():
            whole = full_sum_of(machine)
    exact = _exact(machine)
    for low, high in (whole.ends(ROWS), whole.rough_ends(ROWS)):
        assert naive.between(low, high, exact).all()
    middle, radius = whole.interval(ROWS)
    assert naive.contained(middle, radius, exact).all()
    np.testing.assert_allclose(whole.outputs(ROWS), np.array(exact, dtype=np.float64), rtol=1e-9)
    np.testing.assert_allclose(whole.source_sum.outputs(ROWS), np.array(exact, dtype=np.float64), rtol=1e-9)
    middle, radius = whole.source_sum.interval(ROWS)
    assert naive.contained(middle, radius, exact).all()


@pytest.mark.parametrize(
    ("rule", "outputs"),
    [
        (_SCORES, 1),
        (Argmax(np.arange(3)), 3),
        (Value(), 1),
        (Value(0.01, flat=False), 2),
        (Probability(Calibrated(_SCORES, (Platt(-1.0, 0.1),)), 0.01), 1),
    ],
)
def test_answers_are_those_of_the_added_outputs(rule: Rule, outputs: int, tmp_path: Path) -> None:
    machine = _sum(rule, outputs)
    assert machine.factors is not None
    added = np.sum([f * naive.outputs(m, ROWS) for f, m in zip(machine.factors, machine.members, strict=True)], axis=0)
    expected = rule.labels(rule.answer(added))
    fast = dormie.compile(machine)
    fast.save(tmp_path / "sum")
    for each in (fast, dormie.load(tmp_path / "sum"), pickle.loads(pickle.dumps(fast))):
        found = each.predict(ROWS)
        assert isinstance(each.plan.machine, MachineSum)
        assert each.plan.machine.factors == machine.factors
        if isinstance(rule, Sign | Argmax):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(each.predict_with_decision(ROWS)[0], expected)
            np.testing.assert_allclose(each.decision_function(ROWS), rule.decision(added), rtol=1e-9)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=getattr(rule, "tolerance", 0.0))
        low, high = (np.reshape(end, added.shape) for end in each.interval(ROWS))
        assert naive.between(low, high, _exact(machine)).all()


def test_a_tie_is_decided_by_the_added_sums_of_the_members() -> None:
    one = Machine(RBF(0.5), np.eye(3), [1.0, -2.0, 0.5], 0.25, Value())
    for zero, label in ((0, "no"), (1, "yes")):
        machine = MachineSum([one, one], Sign(["no", "yes"], zero=zero), factors=(0.75, -0.75))
        fast = dormie.compile(machine)
        assert set(fast.predict(ROWS)) == {label}
        assert set(fast.trace(ROWS).stage) == {"source"}


_ENDS = st.floats(-1e308, 1e308) | st.just(np.inf) | st.just(-np.inf)
_FACTORS = st.floats(-1e10, 1e10).filter(bool)


@given(st.lists(st.tuples(_FACTORS, _ENDS, _ENDS, st.floats(0, 1)), min_size=1, max_size=5))
def test_intervals_contain_whatever_the_members_may_add_up_to(parts: list[tuple[float, float, float, float]]) -> None:
    one = Machine(Linear(), np.eye(1), [1.0], 0.0, Value())
    machine = MachineSum([one] * len(parts), Value(), factors=[factor for factor, *_ in parts])
    ends = [(np.array([[min(pair)]]), np.array([[max(pair)]])) for _, *pair, _ in parts]
    low, high = (float(end[0, 0]) for end in machine.joined_ends(ends))
    inside = [_between(float(a[0, 0]), float(b[0, 0]), share) for (a, b), (*_, share) in zip(ends, parts, strict=True)]
    joined = float(machine.joined([np.array([[value]]) for value in inside])[0, 0])
    with mpmath.workdps(700):
        real = mpmath.fsum(mpmath.mpf(f) * mpmath.mpf(value) for (f, *_), value in zip(parts, inside, strict=True))
        assert not low > real
        assert not high < real
    assert not low > joined
    assert not high < joined


def _between(low: float, high: float, share: float) -> float:
    """A finite number between two ends."""
    low, high = (min(max(end, -1e308), 1e308) for end in (low, high))
    return min(max(low * (1 - share) + high * share, low), high)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ((1.0, 2.0), "factors must be 3 finite numbers"),
        ((1.0, 0.0, 2.0), "that are not 0"),
        ((1.0, np.nan, 2.0), "finite"),
    ],
)
def test_factors_that_do_not_fit_are_refused(factors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _sum(Value(), factors=factors)


def test_members_with_other_numbers_of_outputs_cannot_be_added() -> None:
    members = [_sum(Value(flat=False), outputs).members[0] for outputs in (1, 2)]
    with pytest.raises(ValueError, match="have 1 to 2"):
        MachineSum(members, Value(flat=False), factors=(1.0, 1.0))

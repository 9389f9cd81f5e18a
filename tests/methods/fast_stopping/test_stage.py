"""Fast stopping: the interval contains the output, the order is the paper's, and a row stops as soon as it may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Sign, Value
from dormie.methods.base import Decisions
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.fast_stopping.one_sided import OneSided
from dormie.methods.fast_stopping.stage import largest_first
from dormie.numerics import backend
from dormie.numerics import reference as full_sum_reference
from dormie.numerics.evaluate import FullSum
from dormie.numerics.reference import settled_between
from tests.oracles import full_sum as naive
from tests.properties import checks, strategies
from tests.properties.strategies import by_hand

KERNELS: tuple[Kernel, ...] = (
    RBF(0.3),
    Polynomial(0.5, 1.0, 2),
    Polynomial(0.5, 1.0, 3),
    Normalized(Polynomial(1.0, 0.5, 4)),
)
ODD: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(0.5, 0.0, 3),
    Polynomial(0.5, 1.0, 5),
    Normalized(Linear()),
    Normalized(Polynomial(1.0, 0.5, 3)),
)
STEP = 32


def _without_negatives(kernel: Kernel, count: int, features: int, outputs: int, seed: int) -> tuple[Machine, Floats]:
    """A machine whose points have no negative coordinate, and rows of which the first five have none either."""
    machine, rows = strategies.machine(kernel, count, features, outputs, seed)
    rows[:5] = np.abs(rows[:5])
    return replace(machine, points=np.abs(machine.points)), rows


def _in_numpy(machine: Machine) -> FastStopping:
    with backend.numpy_only():
        return FastStopping(machine)


def _columns(found: Decisions) -> Any:
    """Answers, whether they are settled, and evaluations, a column for each row."""
    return np.array([found.answers, found.settled, found.evaluations])


def _tail_interval(machine: Machine, rows: Floats, k: int, one_sided: bool = False) -> tuple[Floats, Floats]:
    """Muller's bound in plain loops: the tail of the terms after the first k, of either sign unless no value is < 0."""
    low, high = np.empty((2, len(rows), machine.n_outputs))
    for i, x in enumerate(rows):
        values = machine.kernel.matrix(x[None], machine.points)[0]
        own = machine.kernel.diagonal(x[None])[0]
        sizes = np.sqrt(machine.kernel.diagonal(machine.points))
        for o in range(machine.n_outputs):
            head = sum(machine.weights[j, o] * values[j] for j in range(k)) + machine.bias[o]
            rest = [machine.weights[j, o] * sizes[j] * np.sqrt(own) for j in range(k, machine.n_points)]
            low[i, o] = head - sum(abs(term) for term in rest if term < 0 or not one_sided)
            high[i, o] = head + sum(abs(term) for term in rest if term > 0 or not one_sided)
    return low, high


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
def test_interval_contains_the_output_and_is_within_the_papers(kernel: Kernel, outputs: int) -> None:
    machine, rows = strategies.machine(kernel, 600, 5, outputs, seed=1)
    stage, full = FastStopping(machine), FullSum(machine).outputs(rows)
    ordered = largest_first(machine)
    for k in (32, 256, 288, 512):
        low, high = stage.interval(rows, k)
        paper_low, paper_high = _tail_interval(ordered, rows, k)
        slack = 1e-4 * np.abs(ordered.weights).sum() * np.abs(kernel.diagonal(machine.points)).max()
        assert (low <= full).all()
        assert (full <= high).all()
        assert (low >= paper_low - slack).all()
        assert (high <= paper_high + slack).all()


@given(strategies.machines())
@settings(max_examples=60)
def test_settled_answers_are_those_of_the_full_sum(made: tuple[Machine, Floats]) -> None:
    machine, rows = made
    if not machine.kernel.positive_semidefinite:
        with pytest.raises(ValueError, match="positive semi-definite"):
            FastStopping(machine)
        return
    found = FastStopping(machine).decide(rows)
    full = Dense(machine).decide(rows)
    assert found.settled is not None
    assert (found.answers[found.settled] == full.answers[found.settled]).all()
    assert np.all(found.evaluations <= machine.n_points)


@given(st.integers(0, 1000), st.sampled_from((*KERNELS, *ODD)), st.sampled_from([32, 256, 288]))
@settings(max_examples=60)
def test_native_interval_agrees_with_the_reference(seed: int, kernel: Kernel, budget: int) -> None:
    machine, rows = _without_negatives(kernel, 300, 7, 1, seed)
    low, high = FastStopping(machine).interval(rows, budget)
    slow_low, slow_high = _in_numpy(machine).interval(rows, budget)
    scale = np.abs(machine.weights).sum() * kernel.diagonal(np.vstack([machine.points, rows])).max()
    np.testing.assert_allclose(low, slow_low, atol=1e-4 * scale)
    np.testing.assert_allclose(high, slow_high, atol=1e-4 * scale)


@pytest.mark.parametrize("kernel", ODD, ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
def test_rows_without_negatives_have_one_sided_tails(kernel: Kernel, outputs: int) -> None:
    machine, rows = _without_negatives(kernel, 200, 5, outputs, seed=2)
    stage, ordered, full = FastStopping(machine), largest_first(machine), FullSum(machine).outputs(rows)
    slack = 1e-4 * np.abs(ordered.weights).sum() * np.abs(kernel.diagonal(machine.points)).max()
    for k in (32, 160):
        low, high = stage.interval(rows, k)
        assert (low <= full).all()
        assert (full <= high).all()
        nonnegative = ~(rows < 0).any(axis=1)
        assert 0 < nonnegative.sum() < len(rows)
        for which in (nonnegative, ~nonnegative):
            expected = _tail_interval(ordered, rows[which], k, one_sided=bool(which is nonnegative))
            np.testing.assert_allclose([low[which], high[which]], expected, atol=slack)


def test_a_negative_point_or_coef0_leaves_tails_two_sided() -> None:
    points, rows = np.random.default_rng(0).uniform(0, 1, (2, 100, 3))
    weights, rule = np.where(np.arange(100) % 2, 1.0, -1.0)[:, None], Sign(np.array([0, 1]))
    widths = {}
    for name, lowest in (("no negative point", 0.0), ("one negative point", -1e-300)):
        points[7, 1] = lowest
        low, high = FastStopping(Machine(Polynomial(1.0, 0.0, 3), points, weights, np.zeros(1), rule)).interval(
            rows, 32
        )
        widths[name] = np.mean(high - low)
    assert widths["one negative point"] > 1.5 * widths["no negative point"]
    assert not Polynomial(1.0, -0.1, 3).nonnegative_in_orthant


def test_the_sign_of_a_mapped_coordinate_is_that_of_the_real_quotient() -> None:
    """A quotient that underflows is 0 when it is computed, and may be negative all the same."""
    machine, _ = _without_negatives(Polynomial(1.0, 0.0, 3), 100, 2, 1, seed=3)
    mapped = replace(machine, input_map=Affine(np.array([1.0, 0.0]), np.array([-2.0, 1e300])))
    rows = np.array([[1.0, 0.0], [1.0, 5e-324], [1.0, -5e-324], [np.nextafter(1.0, 2.0), 1.0], [0.5, 1e300]])
    expected = [True, True, False, False, True]
    assert OneSided.of(mapped) is OneSided.ROWS_WITHOUT_NEGATIVES
    assert OneSided.of(mapped).among(mapped, rows).tolist() == expected
    [real] = {tuple(all(value >= 0 for value in naive.mapped(mapped, row, mpmath.mpf)) for row in rows.tolist())}
    assert list(real) == expected
    # Told from intervals: a row with a negative coordinate nearly equal to one without has twice its width.
    rows = np.array([[0.5, 1e300], [0.5, 1e300], [-1e-300, 1e300]])
    plus = replace(machine, input_map=Affine(np.zeros(2), np.array([1e300, 1e300])))
    low, high = FastStopping(plus).interval(rows, 32)
    assert (high - low)[2] > 1.2 * (high - low)[1]


@given(st.integers(0, 1000), st.sampled_from((*KERNELS, *ODD)), st.sampled_from([1, 3, 6]))
@settings(max_examples=60)
def test_a_row_stops_at_the_first_test_that_settles_it(seed: int, kernel: Kernel, outputs: int) -> None:
    """Skipped tests are those that cannot settle a row: what `decide` spends is told by intervals, test after test."""
    machine, rows = _without_negatives(kernel, 300, 4, outputs, seed)
    if seed % 4 == 0:
        machine = replace(machine, rule=Value(tolerance=float(np.abs(machine.weights).sum() / 50), flat=False))
    machine = replace(machine, weights=machine.weights * 0.98 ** np.arange(300)[:, None])
    stage = FastStopping(machine)
    found = stage.decide(rows)
    assert found.settled is not None
    for budget in (*stage.budgets, machine.n_points):
        settled = settled_between(machine, rows, *stage.interval(rows, budget))
        unlike = (found.settled & (np.asarray(found.evaluations) <= budget)) != settled
        assert np.mean(unlike) < 0.2  # sums in other parts round differently
    assert set(np.asarray(found.evaluations)[found.settled].tolist()) <= {*stage.budgets, machine.n_points}
    assert (np.asarray(found.evaluations)[~found.settled] == machine.n_points).all()


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.5, 1.0, 3)], ids=str)
@pytest.mark.parametrize("outputs", [1, 3, 6])
def test_decisions_do_not_depend_on_company(kernel: Kernel, outputs: int) -> None:
    machine, rows = _without_negatives(kernel, 700, 70, outputs, seed=4)
    machine = replace(machine, weights=machine.weights * 0.98 ** np.arange(700)[:, None])
    rows = np.vstack([rows, np.abs(machine.points[:60])])
    stage = FastStopping(machine)
    together = _columns(stage.decide(rows))
    many = np.vstack([np.resize(rows, (500, 70)), rows])
    alone = [_columns(stage.decide(row[None])) for row in rows]
    np.testing.assert_array_equal(together, np.hstack(alone))
    np.testing.assert_array_equal(together, _columns(stage.decide(many))[:, -len(rows) :])
    np.testing.assert_array_equal(together, _columns(stage.decide(checks.csr(rows))))
    assert len(set(together[2].tolist())) > 1


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.5, 1.0, 3), Normalized(Linear())], ids=str)
def test_numpy_stops_where_the_native_core_does(kernel: Kernel) -> None:
    machine, rows = _without_negatives(kernel, 300, 4, 1, seed=1)
    machine = replace(machine, weights=machine.weights * 0.95 ** np.arange(300)[:, None])
    slow = _columns(_in_numpy(machine).decide(rows))
    np.testing.assert_array_equal(_columns(FastStopping(machine).decide(rows)), slow)
    assert slow[2].min() < machine.n_points


@given(strategies.adversarial_machines())
@settings(max_examples=60)
def test_intervals_of_strange_numbers_contain_the_real_outputs(made: tuple[Machine, Floats]) -> None:
    """Points over and over with smaller weights, so that there are tails."""
    machine, rows = made
    if not machine.kernel.positive_semidefinite or machine.n_points == 0:
        return
    many = np.tile(np.arange(machine.n_points), 40 // machine.n_points + 1)
    weights = machine.weights[many] * 0.9 ** np.arange(len(many))[:, None]
    machine = replace(machine, points=machine.points[many], weights=weights)
    exact = naive.exact_outputs(machine, rows)
    for stage in (FastStopping(machine), _in_numpy(machine)):
        low, high = stage.interval(rows, STEP)
        assert naive.between(low, high, exact).all()


def test_terms_below_the_range_of_doubles_are_in_the_interval() -> None:
    machine = by_hand(Linear(), np.full((40, 1), 1e-207), np.full((40, 1), -1e-276))
    rows = np.full((1, 1), 1e-207)
    exact = naive.exact_outputs(machine, rows)
    for stage in (FastStopping(machine), _in_numpy(machine)):
        for budget in stage.budgets:
            assert naive.between(*stage.interval(rows, budget), exact).all()


def check_instruction_set() -> None:
    """Intervals hold and settled answers are right, at shapes that fill registers of all lengths."""
    for kernel in (*KERNELS, *ODD):
        for count, features, outputs in [(1, 1, 1), (33, 65, 3), (300, 7, 1), (600, 5, 3)]:
            machine, rows = _without_negatives(kernel, count, features, outputs, seed=0)
            stage, full = FastStopping(machine), FullSum(machine).outputs(rows)
            found = stage.decide(rows)
            assert found.settled is not None
            np.testing.assert_array_equal(found.answers[found.settled], machine.rule.answer(full)[found.settled])
            low, high = stage.interval(rows, 32)
            assert ((low <= full) & (full <= high)).all()


def test_a_row_far_from_a_few_heavy_points_stops_early() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 3))
    weights = np.r_[np.full(100, 50.0), np.full(1900, -1e-3)]
    machine = Machine(RBF(0.5), points, weights[:, None], np.array([-1.0]), Sign(np.array(["a", "b"])))
    found = FastStopping(machine).decide(points[:500])
    assert found.settled is not None
    assert found.settled.all()
    assert np.mean(found.evaluations == 32) > 0.9


def test_largest_terms_come_first() -> None:
    machine, _ = strategies.machine(Polynomial(0.5, 1.0, 3), 50, 4, 3)
    ordered = largest_first(machine)
    sizes = np.abs(ordered.weights).max(axis=1) * np.sqrt(ordered.kernel.diagonal(ordered.points))
    assert (np.diff(sizes) <= 0).all()
    rows = machine.points
    np.testing.assert_allclose(
        full_sum_reference.outputs(ordered, rows), full_sum_reference.outputs(machine, rows), atol=1e-9
    )


def test_values_within_tolerance_are_settled_with_their_value() -> None:
    machine, rows = strategies.machine(RBF(0.3), 400, 4, 1)
    machine = Machine(machine.kernel, machine.points, machine.weights, machine.bias, Value(tolerance=1.0))
    found = FastStopping(machine).decide(rows)
    full = FullSum(machine).outputs(rows)
    assert found.settled is not None
    assert found.settled.all()
    assert (np.abs(found.answers - full) <= 1.0).all()


def test_a_sigmoid_is_refused() -> None:
    machine, _ = strategies.machine(Sigmoid(0.1), 10, 3)
    with pytest.raises(ValueError, match="positive semi-definite"):
        FastStopping(machine)


@pytest.mark.parametrize("kernel", ["poly", "linear"])
def test_rewriting_keeps_points_without_negatives(kernel: str) -> None:
    """Only RBF machines are centered, and the points that rewriting keeps it keeps as they are."""
    X, y = load_digits(return_X_y=True)
    plan = dormie.compile(SVC(kernel=kernel, degree=3, coef0=1.0).fit(X[:400], y[:400] == 3), methods=["dense"]).plan
    expected = OneSided.ROWS_WITHOUT_NEGATIVES if kernel == "poly" else OneSided.NO_ROW  # one vector, of both signs
    assert OneSided.of(plan.machine) is expected

"""Fast stopping: the interval contains the output, the order is the paper's, and a row stops as soon as it may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Sign, Value
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping, reference
from dormie.methods.fast_stopping.stage import largest_first
from dormie.numerics import reference as full_sum_reference
from dormie.numerics.evaluate import FullSum
from tests.properties import strategies

KERNELS: tuple[Kernel, ...] = (
    RBF(0.3),
    Polynomial(0.5, 1.0, 2),
    Polynomial(0.5, 1.0, 3),
    Normalized(Polynomial(1.0, 0.5, 4)),
)


def _tail_interval(machine: Machine, rows: Floats, k: int) -> tuple[Floats, Floats]:
    """Muller's bound in plain loops: the two-sided tail of the terms after the first k."""
    low, high = np.empty((2, len(rows), machine.n_outputs))
    for i, x in enumerate(rows):
        values = machine.kernel.matrix(x[None], machine.points)[0]
        own = machine.kernel.diagonal(x[None])[0]
        sizes = np.sqrt(machine.kernel.diagonal(machine.points))
        for o in range(machine.n_outputs):
            head = sum(machine.weights[j, o] * values[j] for j in range(k)) + machine.bias[o]
            tail = np.sqrt(own) * sum(abs(machine.weights[j, o]) * sizes[j] for j in range(k, machine.n_points))
            low[i, o], high[i, o] = head - tail, head + tail
    return low, high


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
def test_interval_contains_the_output_and_is_within_the_papers(kernel: Kernel, outputs: int) -> None:
    machine, rows = strategies.machine(kernel, 600, 5, outputs, seed=1)
    stage, full = FastStopping(machine), FullSum(machine).outputs(rows)
    ordered = largest_first(machine)
    for k in (256, 512):
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


@given(st.integers(0, 1000), st.sampled_from(KERNELS))
@settings(max_examples=40)
def test_native_interval_agrees_with_the_reference(seed: int, kernel: Kernel) -> None:
    machine, rows = strategies.machine(kernel, 300, 7, 1, seed)
    low, high = FastStopping(machine).interval(rows, 256)
    slow_low, slow_high = reference.FastStopping(largest_first(machine)).interval(rows, 256)
    scale = np.abs(machine.weights).sum() * kernel.diagonal(np.vstack([machine.points, rows])).max()
    np.testing.assert_allclose(low, slow_low, atol=1e-4 * scale)
    np.testing.assert_allclose(high, slow_high, atol=1e-4 * scale)


def check_instruction_set() -> None:
    """Intervals hold and settled answers are right, at shapes that fill registers of all lengths."""
    for kernel in KERNELS:
        for count, features, outputs in [(1, 1, 1), (33, 65, 3), (300, 7, 1), (600, 5, 3)]:
            machine, rows = strategies.machine(kernel, count, features, outputs)
            stage, full = FastStopping(machine), FullSum(machine).outputs(rows)
            found = stage.decide(rows)
            assert found.settled is not None
            np.testing.assert_array_equal(found.answers[found.settled], machine.rule.answer(full)[found.settled])
            low, high = stage.interval(rows, 256)
            assert ((low <= full) & (full <= high)).all()


def test_a_row_far_from_a_few_heavy_points_stops_early() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 3))
    weights = np.r_[np.full(100, 50.0), np.full(1900, -1e-3)]
    machine = Machine(RBF(0.5), points, weights[:, None], np.array([-1.0]), Sign(np.array(["a", "b"])))
    found = FastStopping(machine).decide(points[:500])
    assert found.settled is not None
    assert found.settled.all()
    assert np.mean(found.evaluations == 256) > 0.9


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

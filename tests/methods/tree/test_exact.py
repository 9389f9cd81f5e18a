"""The exact balanced tree against all balanced trees, written down one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine, kernels, rules
from dormie.methods.tree import Tree, exact_balanced, greedy, reference
from dormie.numerics import reference as full_sum_reference
from tests.oracles.tree import balanced_trees, least_balanced_error


def machine_of(seed: int, points: int, outputs: int = 1) -> Machine:
    random = np.random.default_rng(seed)
    rule = rules.Sign(np.array([-1, 1])) if outputs == 1 else rules.Argmax(np.arange(outputs))
    weights, bias = random.normal(size=(points, outputs)), np.full(outputs, 0.3)
    return Machine(kernels.RBF(0.7), random.normal(size=(points, 3)), weights, bias, rule)


def rows_of(seed: int, n: int) -> Floats:
    return np.random.default_rng([seed, 1]).normal(size=(n, 3))


def error(machine: Machine, tree: Tree, rows: Floats) -> float:
    estimates = reference.Tree(machine, tree).walk(rows).values
    return float(np.sum((estimates - full_sum_reference.outputs(machine, rows)) ** 2))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([(1, 3), (2, 1), (2, 3), (3, 3), (5, 2), (5, 1)]), st.integers(1, 12),
    st.sampled_from([1, 1, 3]), st.booleans(),
)  # fmt: skip
def test_no_balanced_tree_is_better(
    seed: int, points_and_height: tuple[int, int], n: int, outputs: int, scales: bool
) -> None:
    points, height = points_and_height
    machine, rows = machine_of(seed, points, outputs), rows_of(seed, n)
    tree = exact_balanced(machine, rows, height=height, scales=scales)
    assert tree.depths.max() <= height
    X = machine.kernel.matrix(rows, machine.points).tolist()
    r = (full_sum_reference.outputs(machine, rows) - machine.bias).tolist()
    expected = least_balanced_error(X, r, height, None if scales else machine.weights.tolist())
    assert error(machine, tree, rows) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_equal_rows_stay_together_and_columns_may_repeat() -> None:
    machine = machine_of(1, 2)
    rows = np.repeat(rows_of(1, 3), [5, 1, 3], axis=0)
    X = machine.kernel.matrix(rows, machine.points).tolist()
    r = (full_sum_reference.outputs(machine, rows) - machine.bias).tolist()
    assert {tree.threshold for tree in balanced_trees(X, [*range(9)], 2) if tree.parts} <= {*np.ravel(X)}
    for weights, scales in ((machine.weights.tolist(), False), (None, True)):
        tree = exact_balanced(machine, rows, height=3, scales=scales)
        assert error(machine, tree, rows) == pytest.approx(least_balanced_error(X, r, 3, weights), rel=1e-6, abs=1e-12)


def test_weights_are_the_machine_s_unless_they_are_fitted() -> None:
    machine, rows = machine_of(2, 6), rows_of(2, 24)
    given_weights, fitted_weights = (exact_balanced(machine, rows, height=3, scales=scales) for scales in (False, True))
    assert set(given_weights.weights[:, 0]) <= set(machine.weights[:, 0])
    assert not set(fitted_weights.weights[:, 0]) & set(machine.weights[:, 0])
    assert error(machine, fitted_weights, rows) < error(machine, given_weights, rows)


def test_scales_fitted_one_after_the_other_can_be_worse() -> None:
    """A chain of two columns on all rows: the first scale is best alone, and both are best together."""
    machine, rows = machine_of(3, 2), rows_of(3, 30)
    machine = Machine(machine.kernel, machine.points, np.array([1.0, -1.0]), machine.bias, machine.rule)
    jointly = exact_balanced(machine, rows, height=2, leaf_rows=15, scales=True)
    one_by_one = greedy(machine, rows, height=2, leaf_rows=15, restarts=30)
    assert error(machine, jointly, rows) < 1e-20 < error(machine, one_by_one, rows)


@pytest.mark.parametrize("scales", [False, True])
def test_columns_of_zeros_and_one_row(scales: bool) -> None:
    rule = rules.Sign(np.array([-1, 1]))
    nothing = Machine(kernels.Linear(), np.zeros((3, 3)), np.ones(3), np.array([0.5]), rule)
    tree = exact_balanced(nothing, rows_of(4, 8), height=2, scales=scales)
    assert reference.Tree(nothing, tree).walk(rows_of(4, 8)).values == pytest.approx(0.5)
    assert exact_balanced(machine_of(4, 3), rows_of(4, 1), height=3, scales=scales).n_nodes == 1
    none = Machine(kernels.RBF(1.0), np.empty((0, 3)), np.empty((0, 1)), np.array([0.25]), rule)
    assert exact_balanced(none, rows_of(4, 3), height=3, scales=scales).n_nodes == 0


def test_leaf_rows_are_kept() -> None:
    machine, rows = machine_of(5, 4), rows_of(5, 32)
    walk = reference.Tree(machine, exact_balanced(machine, rows, height=4, leaf_rows=8)).walk(rows)
    assert np.bincount(walk.terminals).min() >= 8


@pytest.mark.parametrize("height", [6, 400])
def test_what_would_take_for_ever_is_refused(height: int) -> None:
    with pytest.raises(ValueError, match=rf"looks at every tree: 50 support vectors, 30 rows and height {height} "):
        exact_balanced(machine_of(0, 50), rows_of(0, 30), height=height)

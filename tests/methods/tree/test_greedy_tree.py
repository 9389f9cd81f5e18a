from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine, kernels, rules
from dormie.methods.tree import Tree, exact_balanced, fitted, greedy, reference
from dormie.methods.tree.columns import Columns
from dormie.methods.tree.greedy_tree import find_optimal_split
from dormie.methods.tree.growth import midway
from dormie.numerics import reference as full_sum_reference
from tests.oracles import tree as naive_tree

SIGN = rules.Sign(np.array([-1, 1]))
KERNELS = (
    kernels.RBF(0.7),
    kernels.Linear(),
    kernels.Polynomial(0.5, 1.0, 3),
    kernels.Sigmoid(0.3, 0.1),
    kernels.Normalized(kernels.Polynomial(1.0, 1.0, 2)),
)


def machine_of(seed: int, points: int, features: int = 3, kernel: kernels.Kernel = KERNELS[0]) -> Machine:
    random = np.random.default_rng(seed)
    return Machine(kernel, random.normal(size=(points, features)), random.normal(size=points), np.array([0.3]), SIGN)


def rows_of(seed: int, n: int, features: int = 3) -> Floats:
    return np.random.default_rng([seed, 1]).normal(size=(n, features))


def error(machine: Machine, tree: Tree, rows: Floats) -> float:
    return float(
        np.sum((reference.Tree(machine, tree).walk(rows).values - full_sum_reference.outputs(machine, rows)) ** 2)
    )


def parts(tree: Tree, machine: Machine, rows: Floats) -> set[frozenset[int]]:
    """Which rows end together."""
    terminals = reference.Tree(machine, tree).walk(rows).terminals
    return {frozenset(np.flatnonzero(terminals == t).tolist()) for t in np.unique(terminals)}


def leaves(node: naive_tree.Node | None) -> list[naive_tree.Node]:
    if node is None:
        return []
    return [node] if node.left is None else leaves(node.left) + leaves(node.right)


def twin(
    machine: Machine, rows: Floats, leaf_rows: int, restarts: int, seed: int, scales: bool
) -> tuple[naive_tree.Node, int]:
    def first(path: tuple[int, ...], n: int) -> list[int]:
        return [int(row) for row in np.random.default_rng([seed, *path]).integers(n, size=restarts)]

    X = machine.kernel.matrix(rows, machine.points)
    r = full_sum_reference.outputs(machine, rows)[:, 0] - machine.bias[0]
    builder = naive_tree.Builder(X.tolist(), leaf_rows, first, None if scales else machine.weights[:, 0].tolist())
    return builder.tree(r.tolist()), builder.close_calls


def twin_value(node: naive_tree.Node, X: Floats) -> Floats:
    """The paper's value of rows given as rows of X."""
    score = node.scale * X[:, node.column]
    if node.left is None or node.right is None:
        return score
    goes_left = score <= node.threshold
    below = np.where(goes_left, twin_value(node.left, X), twin_value(node.right, X))
    return np.asarray(score + below)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 25), st.integers(1, 6), st.integers(1, 3),
    st.sampled_from(KERNELS), st.booleans(),
)  # fmt: skip
def test_greedy_is_the_paper_s_algorithm(
    seed: int, points: int, n: int, leaf_rows: int, restarts: int, kernel: kernels.Kernel, scales: bool
) -> None:
    machine, rows = machine_of(seed, points, kernel=kernel), rows_of(seed, n)
    tree = greedy(machine, rows, leaf_rows=leaf_rows, scales=scales, restarts=restarts, seed=seed)
    expected, close_calls = twin(machine, rows, leaf_rows, restarts, seed, scales)
    assume(not close_calls)
    assert parts(tree, machine, rows) == {frozenset(leaf.rows) for leaf in leaves(expected)}
    X = machine.kernel.matrix(rows, machine.points)
    found = reference.Tree(machine, tree).walk(rows).values[:, 0] - machine.bias[0]
    np.testing.assert_allclose(found, twin_value(expected, X), rtol=1e-7, atol=1e-9 * np.abs(X).sum(axis=1).max())


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_greedy_comes_near_the_exact_tree_of_the_same_height(seed: int, scales: bool) -> None:
    """It may split anywhere, so it may even be better; on such small inputs it is never far worse than nothing."""
    machine, rows = machine_of(seed, 6), rows_of(seed, 16)
    one, exact = (error(machine, exact_balanced(machine, rows, height=h, scales=scales), rows) for h in (1, 3))
    found = error(machine, greedy(machine, rows, height=3, leaf_rows=1, scales=scales, restarts=8), rows)
    assert found <= exact + 0.5 * (one - exact)


def test_without_scales_every_weight_is_the_machine_s() -> None:
    machine, rows = machine_of(8, 20), rows_of(8, 150)
    tree = greedy(machine, rows, scales=False)
    assert tree.n_terminals > 5
    assert set(tree.weights[:, 0]) <= set(machine.weights[:, 0])
    assert error(machine, greedy(machine, rows), rows) < error(machine, tree, rows)


def test_without_scales_a_node_is_split_even_if_that_raises_the_error() -> None:
    """The same column four times, K: the sum is 0.8 K, the first weight -1; the next leads away, all four are right."""
    point, rows = rows_of(8, 1), rows_of(9, 40)
    machine = Machine(KERNELS[0], np.repeat(point, 4, axis=0), np.array([4.0, -1.0, -1.0, -1.2]), np.zeros(1), SIGN)
    one, two, four = (error(machine, greedy(machine, rows, scales=False, height=h), rows) for h in (1, 2, 4))
    assert two > 1.1 * one
    assert four < 1e-20


def test_a_split_is_the_best_of_all_thresholds_for_its_columns() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        values, r = random.normal(size=(30, 5)), random.normal(size=(30, 2))
        values = values[np.argsort(values[:, 0])]
        split = find_optimal_split(values, r, values[:, 0], np.array([3, 12, 25]))
        assert split is not None
        left, right = (r - values[:, [j]] * c for j, c in zip(split.columns, split.scales, strict=True))
        costs = [np.sum(left[:at] ** 2) + np.sum(right[at:] ** 2) for at in range(1, 30)]
        assert min(costs) >= split.cost - 1e-9
        assert costs[split.at - 1] == pytest.approx(split.cost)


def test_height_and_leaf_rows_and_evaluations_are_kept() -> None:
    machine, rows = machine_of(1, 40), rows_of(1, 300)
    free = reference.Tree(machine, greedy(machine, rows)).walk(rows)
    assert np.bincount(free.terminals).max() <= 5
    assert greedy(machine, rows, height=4).depths.max() <= 4
    for budget in (1, 2.5, 4.0, 6.3):
        few = reference.Tree(machine, greedy(machine, rows, evaluations=budget)).walk(rows)
        assert budget - 1.1 < few.evaluations.mean() <= budget
    errors = [error(machine, greedy(machine, rows, evaluations=budget), rows) for budget in (1, 3, 5, 7)]
    assert errors == sorted(errors, reverse=True)


def test_a_budget_goes_where_it_helps_most() -> None:
    """Half of the rows are far from all points, where the output is nothing: hardly an evaluation is spent there."""
    machine, near = machine_of(2, 30), rows_of(2, 200)
    rows = np.vstack([near, 400.0 + near])
    walk = reference.Tree(machine, greedy(machine, rows, evaluations=6.0)).walk(rows)
    assert walk.evaluations[:200].mean() > 1.5 * walk.evaluations[200:].mean()


def test_more_restarts_never_make_the_first_split_worse() -> None:
    machine, rows = machine_of(3, 30), rows_of(3, 200)
    errors = [error(machine, greedy(machine, rows, height=2, restarts=restarts), rows) for restarts in (1, 4, 16)]
    assert errors == sorted(errors, reverse=True)


def test_memory_is_bounded_by_offering_part_of_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, rows = machine_of(4, 60), rows_of(4, 200)
    seen: list[int] = []
    of_all = Columns.block

    def block(self: Columns, which: Any) -> Any:
        found = of_all(self, which)
        seen.append(found.values.size)
        return found

    whole = error(machine, greedy(machine, rows), rows)
    monkeypatch.setattr(Columns, "block", block)
    monkeypatch.setattr(Columns, "most_values", 2000)
    tree = greedy(machine, rows)
    assert max(seen) <= 2000
    assert len(seen) > 3  # nodes below the root looked at columns of their own
    assert error(machine, tree, rows) < 4 * whole


def test_several_outputs_share_a_tree() -> None:
    random = np.random.default_rng(5)
    machine = Machine(
        kernels.RBF(0.5),
        random.normal(size=(40, 3)),
        random.normal(size=(40, 3)),
        np.full(3, 0.1),
        rules.Argmax(np.arange(3)),
    )
    rows = random.normal(size=(400, 3))
    outputs = full_sum_reference.outputs(machine, rows)
    walk = reference.Tree(machine, greedy(machine, rows)).walk(rows)
    assert np.mean((walk.values - outputs) ** 2) < 0.1 * np.mean((outputs - machine.bias) ** 2)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_equal_rows_end_in_one_leaf(n: int) -> None:
    machine = machine_of(6, 5)
    rows = np.repeat(rows_of(6, 1), n, axis=0)
    tree = greedy(machine, rows)
    assert (tree.n_nodes, tree.n_terminals) == (1, 1)
    np.testing.assert_allclose(
        reference.Tree(machine, tree).walk(rows).values, full_sum_reference.outputs(machine, rows)
    )


def test_constant_columns_one_vector_and_none() -> None:
    rows = rows_of(7, 50)
    constant = Machine(kernels.Linear(), np.zeros((4, 3)), np.ones(4), np.array([0.5]), SIGN)
    assert reference.Tree(constant, greedy(constant, rows)).walk(rows).values == pytest.approx(0.5)
    one = machine_of(7, 1)
    tree = greedy(one, rows)
    np.testing.assert_allclose(reference.Tree(one, tree).walk(rows).values, full_sum_reference.outputs(one, rows))
    assert tree.n_nodes == 1
    none = Machine(kernels.RBF(1.0), np.empty((0, 3)), np.empty((0, 1)), np.array([0.25]), SIGN)
    walk = reference.Tree(none, greedy(none, rows)).walk(rows)
    assert walk.values == pytest.approx(0.25)
    assert not walk.evaluations.any()


def test_vanishing_kernel_values_are_not_blown_up() -> None:
    """Rows so far out that kernel values are next to nothing, beside one that is not: no weight grows with that."""
    machine = Machine(kernels.RBF(1.0), np.array([[0.0], [5.0]]), np.ones(2), np.zeros(1), SIGN)
    rows = np.linspace(-6, 6, 400)[:, None]
    tree = greedy(machine, rows, leaf_rows=20)
    assert np.abs(tree.weights).max() < 1e7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"leaf_rows": 0}, "leaf_rows must be a whole number of at least 1, got 0"),
        ({"height": 0}, "height must be a whole number of at least 1, got 0"),
        ({"height": 2.5}, "height must be a whole number"),
        ({"evaluations": 0.5}, "evaluations must be a number of at least 1, or None"),
        ({"evaluations": float("nan")}, "evaluations must be"),
        ({"restarts": 0}, "restarts must be"),
    ],
)
def test_what_makes_no_sense_is_said(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        greedy(machine_of(0, 3), rows_of(0, 5), **arguments)


def test_no_rows_and_bad_rows_are_said() -> None:
    machine = machine_of(0, 3)
    with pytest.raises(ValueError, match="there are no rows to grow a tree on"):
        greedy(machine, np.empty((0, 3)))
    rows = rows_of(0, 5)
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1 is NaN"):
        greedy(machine, rows)


def test_nodes_that_wait_hold_no_block_where_columns_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, rows = machine_of(4, 60), rows_of(4, 400)
    blocks: list[weakref.ref[Any]] = []
    held: list[int] = []
    of_all = Columns.block

    def block(self: Columns, which: Any) -> Any:
        found = of_all(self, which)
        blocks.append(weakref.ref(found.values))
        held.append(sum(ref() is not None for ref in blocks))
        return found

    monkeypatch.setattr(Columns, "block", block)
    monkeypatch.setattr(Columns, "most_values", 2000)
    greedy(machine, rows)
    fitted(machine, rows)
    assert len(held) > 20
    assert max(held) <= 3


def test_thresholds_lie_between_values_that_are_next_to_each_other() -> None:
    for low in (1.0, -1.0, 1e-300, 0.1, 1e300):
        high = float(np.nextafter(low, np.inf))
        assert low <= midway(high, low) < high

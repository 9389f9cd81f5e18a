"""The tree as data: the reference walk against the definition, and arrays that are no tree."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Linear
from dormie.machine.rows import mapped
from dormie.methods.tree import Tree
from tests.methods.tree.trees import depths_of, random_children, random_tree, small_tree, tree_of, trees, walked


@settings(max_examples=60)
@given(case=trees())
def test_a_batch_fares_as_its_rows_do_one_by_one(case: tuple[Machine, Tree, Floats]) -> None:
    made, tree, rows = case
    x = mapped(made, rows)
    values, terminals, evaluations = tree.walk(made.kernel, x)
    for i in range(len(x)):
        # one by one the sums are in another order, and a row on a threshold may fall to the other side
        if terminals[i] == walked(tree, made.kernel, x[i : i + 1])[1]:
            expected, _, count = walked(tree, made.kernel, x[i : i + 1])
            np.testing.assert_allclose(values[i], expected, rtol=1e-9, atol=1e-9)
            assert evaluations[i] == count
        else:
            assert _on_a_threshold(tree, made, x[i : i + 1])


def _on_a_threshold(tree: Tree, made: Machine, row: Floats) -> bool:
    k = made.kernel.matrix(row, tree.points)[0]
    return bool((np.abs(k - tree.thresholds) <= 1e-13 * (1 + np.abs(k))).any())


def test_every_row_of_a_small_tree_goes_where_it_should() -> None:
    tree, kernel = small_tree(), RBF(1.0)
    rows = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.1], [0.9, 0.0]])
    found = tree.walk(kernel, rows)
    assert found.terminals.tolist() == [2, 1, 0, 0]
    k = kernel.matrix(rows[:1], tree.points)[0]
    np.testing.assert_allclose(found.values[0], [8 * k[0] + 10 * k[2] + 3, 9 * k[0] + 11 * k[2] - 3])
    assert found.evaluations.tolist() == [2, 2, 2, 2]


def test_a_value_on_the_threshold_goes_left() -> None:
    tree = tree_of(np.array([[1.0]]), [2.0], [[~0, ~1]], [0, 1, 2], np.zeros((2, 1)), [[1.0], [2.0]])
    assert tree.walk(Linear(), np.array([[2.0], [np.nextafter(2, 3)]])).terminals.tolist() == [0, 1]


def test_paths_and_depths_are_those_of_the_children() -> None:
    tree = small_tree()
    assert tree.paths == ((0, 1), (0, 1), (0, 2))
    assert tree.depths.tolist() == [2, 2, 2]
    assert (tree.n_nodes, tree.n_terminals, tree.n_outputs, tree.root) == (3, 3, 2, 0)
    weights, constants = tree.model(1)
    assert (weights.tolist(), constants.tolist()) == ([[4, 5], [6, 7]], [1, 2])


def test_a_single_terminal_is_a_tree() -> None:
    tree = tree_of(np.empty((0, 2)), [], np.empty((0, 2), dtype=int), [0, 0], np.empty((0, 1)), [[3.0]])
    found = tree.walk(RBF(1.0), np.ones((4, 2)))
    assert found.values.tolist() == [[3.0]] * 4
    assert (found.terminals.tolist(), found.evaluations.tolist(), tree.paths) == ([0] * 4, [0] * 4, ((),))


def _common(a: Any, b: Any) -> list[list[int]]:
    """How many letters two words share; it has no answer for no words."""
    assert len(a)
    assert len(b)
    return [[len(set(u) & set(v)) for v in b] for u in a]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda words: np.array(words, dtype=object)])
def test_words_walk_a_tree_over_words(form: Callable[[Any], Any]) -> None:
    words = ["tree", "leaf", "root", "trunk", "bark"]
    tree = tree_of(
        form(["tea", "rot"]), [1.0, 2.0], [[~0, 1], [~1, ~2]], [0, 1, 3, 5], np.ones((5, 1)), np.zeros((3, 1))
    )
    found = tree.walk(Custom(_common), form(words))
    expected = [walked(tree, Custom(_common), [word]) for word in words]
    assert found.values.tolist() == [values for values, _, _ in expected]
    assert found.terminals.tolist() == [terminal for _, terminal, _ in expected] == [1, 1, 0, 0, 0]
    assert found.evaluations.tolist() == [2, 2, 1, 1, 1]


def test_no_rows_come_out_nowhere() -> None:
    nothing: tuple[Any, ...] = (np.empty((0, 2)), [])
    for rows in nothing:
        found = small_tree().walk(RBF(1.0), rows)
        assert [part.shape for part in found] == [(0, 2), (0,), (0,)]


def test_arrays_are_private_and_read_only() -> None:
    points = np.zeros((1, 2))
    tree = tree_of(points, [0.0], [[~0, ~0]], [0, 1], np.ones((1, 1)), np.ones((1, 1)))
    points[:] = 7
    assert not tree.points.any()
    for field in fields(tree):
        assert not getattr(tree, field.name).flags.writeable


def test_a_pickle_gives_the_same_tree() -> None:
    tree, words = small_tree(), tree_of(["ab"], [0.0], [[~0, ~0]], [0, 1], np.ones((1, 1)), np.ones((1, 1)))
    for one in (tree, words):
        other = pickle.loads(pickle.dumps(one))
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@given(seed=st.integers(0, 10_000), nodes=st.integers(0, 30))
def test_trees_of_any_shape_are_accepted(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, RBF(0.5), rng.normal(size=(4, 2)), rng.normal(size=(9, 2)), nodes, 2)
    assert tree.n_nodes == nodes
    assert tree.depths.tolist() == depths_of(tree.children)
    assert sorted({node for path in tree.paths for node in path}) == list(range(nodes))


@settings(max_examples=200)
@given(seed=st.integers(0, 10_000), nodes=st.integers(1, 12), data=st.data())
def test_a_child_exchanged_for_another_is_refused(seed: int, nodes: int, data: st.DataObject) -> None:
    """Whatever stands there instead, some node or terminal then has no parent, two, or one that comes later."""
    rng = np.random.default_rng(seed)
    children = random_children(rng, nodes)
    depths = depths_of(children)
    place = data.draw(st.integers(0, nodes - 1)), data.draw(st.integers(0, 1))
    before = children[place]
    other = data.draw(st.integers(~len(depths), nodes).filter(lambda child: child != before))
    children[place] = other
    offsets, total = np.concatenate([[0], np.cumsum(depths)]), sum(depths)
    with pytest.raises(ValueError, match="tree: "):
        tree_of(
            np.zeros((nodes, 1)), np.zeros(nodes), children, offsets, np.zeros((total, 1)), np.zeros((len(depths), 1))
        )


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no terminal": ({"constants": np.empty((0, 2))}, "offsets must have shape"),
    "flat constants": ({"constants": np.zeros(3)}, "constants must have shape"),
    "a threshold too many": ({"thresholds": np.zeros(4)}, r"thresholds must have shape \(3,\) for 3 points"),
    "a point too few": ({"points": np.zeros((2, 2))}, "must have shape"),
    "children in threes": ({"children": np.zeros((3, 3), dtype=int)}, r"children must have shape \(3, 2\)"),
    "children that are no numbers": ({"children": np.full((3, 2), 0.5)}, "children must be whole numbers"),
    "outputs that differ": ({"weights": np.zeros((6, 3))}, r"weights must have shape \(6, 2\)"),
    "NaN as threshold": ({"thresholds": [0.0, np.nan, 0.0]}, r"thresholds must be finite, found nan at \[1\]"),
    "an infinite weight": ({"weights": np.full((6, 2), np.inf)}, "weights must be finite"),
    "an infinite point": ({"points": np.full((3, 2), -np.inf)}, "points must be finite"),
    "a node past the end": ({"children": [[1, 3], [~1, ~0], [~2, ~2]]}, r"node 0 has children \[1, 3\]"),
    "a parent after its child": ({"children": [[1, 2], [0, ~0], [~2, ~1]]}, "node 1 has children"),
    "a terminal past the end": ({"children": [[1, 2], [~1, ~0], [~3, ~2]]}, "node 2 has children"),
    "a node twice": ({"children": [[1, 1], [~1, ~0], [~2, ~2]]}, "has 0 parents"),
    "a terminal at two nodes": ({"children": [[1, 2], [~1, ~0], [~1, ~2]]}, "terminal 1 has 2 parents"),
    "a terminal nowhere": ({"children": [[1, 2], [~0, ~0], [~2, ~2]]}, "terminal 1 has 0 parents"),
    "offsets that start late": ({"offsets": [1, 2, 4, 6]}, "terminal 0 has weights 1 to 2, but 2 nodes"),
    "offsets that fall": ({"offsets": [0, 4, 2, 6]}, "terminal 0 has weights 0 to 4, but 2 nodes"),
    "offsets of other depths": ({"offsets": [0, 2, 5, 6]}, "terminal 1 has weights 2 to 5, but 2 nodes"),
    "enormous offsets": ({"offsets": [0, 2, 4, 2**62]}, "weights must have shape"),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_tree_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    arrays = {field.name: getattr(small_tree(), field.name) for field in fields(Tree)}
    Tree(**arrays)
    with pytest.raises(ValueError, match=f"tree: .*{words}"):
        Tree(**(arrays | change))


def test_two_terminals_without_a_node_are_refused() -> None:
    with pytest.raises(ValueError, match="terminal 1 has 0 parents"):
        tree_of(np.empty((0, 2)), [], np.empty((0, 2), dtype=int), [0, 0, 0], np.empty((0, 1)), [[3.0], [4.0]])

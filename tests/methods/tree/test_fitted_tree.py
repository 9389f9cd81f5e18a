from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine, kernels, rules
from dormie.methods.tree import Tree, fitted, greedy, reference
from dormie.numerics import reference as full_sum_reference

SIGN = rules.Sign(np.array([-1, 1]))


def machine_of(seed: int, points: int, kernel: kernels.Kernel | None = None, features: int = 3) -> Machine:
    random = np.random.default_rng(seed)
    where, weights = random.normal(size=(points, features)), random.normal(size=points)
    return Machine(kernel or kernels.RBF(0.7), where, weights, np.array([0.3]), SIGN)


def rows_of(seed: int, n: int, features: int = 3) -> Floats:
    return np.random.default_rng([seed, 1]).normal(size=(n, features))


def error(machine: Machine, tree: Tree, rows: Floats) -> float:
    """The share of the outputs' variation that the tree leaves unexplained."""
    outputs = full_sum_reference.outputs(machine, rows)
    off = reference.Tree(machine, tree).walk(rows).values - outputs
    return float(np.mean(off**2) / np.mean((outputs - outputs.mean(axis=0)) ** 2))


def test_on_unseen_rows_it_is_better_than_the_greedy_tree_with_as_many_evaluations() -> None:
    for seed in range(3):
        machine, rows, unseen = machine_of(seed, 60), rows_of(seed, 400), rows_of(seed + 100, 2000)
        plain = greedy(machine, rows, evaluations=8, seed=seed)
        better = fitted(machine, rows, evaluations=8, seed=seed)
        taken = [reference.Tree(machine, tree).walk(unseen).evaluations.mean() for tree in (plain, better)]
        assert taken[1] < taken[0] + 0.5
        assert error(machine, better, unseen) < 0.5 * error(machine, plain, unseen)


def test_more_evaluations_leave_less_unexplained() -> None:
    machine, rows, unseen = machine_of(1, 60), rows_of(1, 3000), rows_of(2, 2000)
    trees = [fitted(machine, rows, evaluations=evaluations) for evaluations in (2, 6, 12)]
    for tree, evaluations in zip(trees, (2, 6, 12), strict=True):
        assert reference.Tree(machine, tree).walk(rows).evaluations.mean() <= evaluations
    assert all(error(machine, fewer, unseen) > 1.5 * error(machine, more, unseen) for fewer, more in pairwise(trees))


def test_every_row_passes_the_trunk_and_rows_part_after_it() -> None:
    machine, rows = machine_of(3, 60), rows_of(3, 500)
    tree = fitted(machine, rows, evaluations=8)
    shared = [node for node in range(tree.n_nodes) if all(node in path for path in tree.paths)]
    assert shared[:4] == [0, 1, 2, 3]
    assert len(tree.paths) > 1


def test_height_is_kept_and_leaves_have_rows() -> None:
    machine, rows = machine_of(4, 50), rows_of(4, 5000)
    tree = fitted(machine, rows, height=5, evaluations=None, leaf_rows=40)
    assert tree.depths.max() == 5
    assert np.bincount(reference.Tree(machine, tree).walk(rows).terminals).min() >= 40
    assert fitted(machine, rows, height=1).depths.tolist() == [1]


def test_the_input_map_comes_first_and_is_undone_for_synthetic_rows() -> None:
    machine, rows, unseen = machine_of(5, 40), rows_of(5, 60), rows_of(6, 500)
    to_mapped = Affine(np.full(3, 1000.0), np.full(3, 0.01))
    scaled = Machine(machine.kernel, machine.points, machine.weights, machine.bias, SIGN, to_mapped)
    plain = error(machine, fitted(machine, rows), unseen)
    assert error(scaled, fitted(scaled, to_mapped.inverse(rows)), to_mapped.inverse(unseen)) < 1.5 * plain < 0.1


def test_the_same_seed_gives_the_same_tree() -> None:
    machine, rows = machine_of(6, 40), rows_of(6, 200)
    one, same, other = (fitted(machine, rows, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.weights, same.weights)
    np.testing.assert_array_equal(one.points, same.points)
    assert one.weights.shape != other.weights.shape or (one.weights != other.weights).any()


def test_strings_have_no_reduced_vectors_and_no_synthetic_rows() -> None:
    words = ["abab", "abba", "aaab", "bbba", "caab", "ccab", "bcca", "acac", "cbcb", "aabb"] * 6

    def shared_letters(a: Any, b: Any) -> Floats:
        return np.array([[float(sum(u.count(c) * v.count(c) for c in "abc")) for v in b] for u in a])

    random = np.random.default_rng(7)
    kernel = kernels.Custom(shared_letters)
    machine = Machine(kernel, words[:10], random.normal(size=10), np.zeros(1), SIGN)
    tree = fitted(machine, words, leaf_rows=5, evaluations=4)
    assert set(tree.points) <= set(words)
    outputs = kernel.matrix(words, words[:10]) @ machine.weights
    walk = tree.walk(kernel, words)
    assert walk.evaluations.mean() <= 4
    assert np.mean((walk.values - outputs) ** 2) < 0.1 * np.var(outputs)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 30),
    st.integers(1, 40),
    st.sampled_from([1, 2.5, 9.0, None]),
    st.sampled_from([kernels.RBF(0.5), kernels.Linear(), kernels.Polynomial(0.3, 1.0, 2), kernels.Sigmoid(0.2, 0.1)]),
)
def test_any_machine_and_any_rows_give_a_finite_tree(
    seed: int, points: int, n: int, evaluations: float | None, kernel: kernels.Kernel
) -> None:
    machine, rows = machine_of(seed, points, kernel), rows_of(seed, n)
    walk = reference.Tree(machine, fitted(machine, rows, evaluations=evaluations, seed=seed)).walk(rows)
    outputs = full_sum_reference.outputs(machine, rows)
    assert walk.evaluations.mean() <= (evaluations or np.inf)
    assert np.abs(walk.values).max() <= 10 * np.abs(outputs).max() + 1


@pytest.mark.parametrize("n", [1, 5, 100])
def test_equal_rows_are_met_with_their_output(n: int) -> None:
    machine = machine_of(8, 20)
    rows = np.repeat(rows_of(8, 1), n, axis=0)
    walk = reference.Tree(machine, fitted(machine, rows)).walk(rows)
    np.testing.assert_allclose(walk.values, full_sum_reference.outputs(machine, rows), rtol=1e-2)


def test_constant_columns_one_vector_and_none() -> None:
    rows = rows_of(9, 50)
    constant = Machine(kernels.Linear(), np.zeros((4, 3)), np.ones(4), np.array([0.5]), SIGN)
    assert reference.Tree(constant, fitted(constant, rows)).walk(rows).values == pytest.approx(0.5)
    one = machine_of(9, 1)
    assert error(one, fitted(one, rows), rows) < 1e-4
    none = Machine(kernels.RBF(1.0), np.empty((0, 3)), np.empty((0, 1)), np.array([0.25]), SIGN)
    assert reference.Tree(none, fitted(none, rows)).walk(rows).values == pytest.approx(0.25)


def test_several_outputs_share_a_tree() -> None:
    random = np.random.default_rng(10)
    rule = rules.OneVsOneVote(np.arange(3))
    machine = Machine(kernels.RBF(0.5), random.normal(size=(50, 3)), random.normal(size=(50, 3)), np.zeros(3), rule)
    tree, unseen = fitted(machine, random.normal(size=(400, 3)), evaluations=12), random.normal(size=(1000, 3))
    assert error(machine, tree, unseen) < 0.05
    answers = rule.answer(reference.Tree(machine, tree).walk(unseen).values)
    assert np.mean(answers == rule.answer(full_sum_reference.outputs(machine, unseen))) > 0.9


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (kernels.RBF(1e-3), 1.0),
        (kernels.RBF(1e-6), 1.0),
        (kernels.Linear(), 1e-6),
        (kernels.Polynomial(1.0, 1.0, 3), 1e3),
    ],
    ids=str,
)
def test_kernel_values_of_any_size_and_hardly_any_spread_are_made_use_of(kernel: kernels.Kernel, scale: float) -> None:
    machine, rows = machine_of(11, 60, kernel), scale * rows_of(11, 300)
    machine = Machine(kernel, scale * machine.points, machine.weights, np.zeros(1), SIGN)
    assert error(machine, fitted(machine, rows), scale * rows_of(12, 500)) < 1e-3


def test_few_words_are_not_answered_with_a_constant() -> None:
    words = ["ab", "ba", "aa", "bb", "abb", "bba", "aab", "a", "b", "aaaa", "bbbb", "abab"]

    def of_length(a: Any, b: Any) -> Floats:
        return np.array([[float(len(u) * len(v)) for v in b] for u in a])

    machine = Machine(kernels.Custom(of_length), words[:6], np.ones(6), np.zeros(1), SIGN)
    tree = fitted(machine, words, evaluations=2)
    values, outputs = tree.walk(machine.kernel, words).values, full_sum_reference.outputs(machine, words)
    assert np.mean((values - outputs) ** 2) < 0.1 * np.var(outputs)


def test_support_vectors_that_are_all_zero_leave_the_bias() -> None:
    machine = Machine(kernels.Linear(), np.zeros((20, 3)), np.ones(20), np.array([0.5]), SIGN)
    rows = rows_of(13, 40)
    assert reference.Tree(machine, fitted(machine, rows)).walk(rows).values == pytest.approx(0.5)


def test_an_output_of_one_column_needs_no_split() -> None:
    machine = Machine(kernels.Linear(), np.array([[1.0, 2.0, 3.0]]), np.array([2.0]), np.zeros(1), SIGN)
    assert fitted(machine, rows_of(14, 300)).n_nodes == 1

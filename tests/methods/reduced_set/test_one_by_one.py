"""The paper's extraction against a slow twin that tries every start."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial
from dormie.machine.rules import OneVsOneVote, Sign
from dormie.methods.reduced_set import fit
from dormie.methods.reduced_set.one_by_one import extract
from dormie.numerics.evaluate import FullSum
from tests.oracles import reduced_set as naive_reduction


def _machine(kernel: Kernel, outputs: int, seed: int) -> Machine:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(12, 2)), rng.normal(size=(12, outputs))
    rule = Sign(np.array([0, 1])) if outputs == 1 else OneVsOneVote(np.arange(3))
    return Machine(kernel, points, weights, np.zeros(outputs), rule)


@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(0.3, 1.0, 3)], ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
def test_each_vector_takes_about_as_much_as_the_best_of_all_starts(kernel: Kernel, outputs: int) -> None:
    machine = _machine(kernel, outputs, seed=outputs)
    found, twin = extract(machine, 2, lambda _: None), naive_reduction.extracted(machine, 2)
    for k in (1, 2):
        ours, best = (naive_reduction.best_distance(machine, z[:k]).sum() for z in (found, twin))
        assert ours <= 1.2 * best + 1e-6


def test_an_output_that_is_done_takes_no_further_vectors() -> None:
    """One output is a single vector, another is many: the first vector may be its, the others must not be."""
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(12, 2)), np.zeros((12, 3))
    weights[0, 0], weights[1:, 1:] = 1.0, rng.normal(size=(11, 2))
    points[0] = 30.0
    machine = Machine(RBF(0.7), points, weights, np.zeros(3), OneVsOneVote(np.arange(3)))
    near = np.linalg.norm(extract(machine, 5, lambda _: None) - points[0], axis=1) < 5
    assert near.sum() <= 1


def test_more_vectors_than_w_needs_are_still_given() -> None:
    machine = Machine(RBF(0.7), np.zeros((3, 2)), np.ones(3), np.zeros(1), Sign(np.array([0, 1])))
    assert extract(machine, 2, lambda _: None).shape == (2, 2)


def test_every_further_vector_leaves_less_and_all_are_reported() -> None:
    machine = _machine(RBF(0.7), 3, seed=5)
    said: list[int] = []
    vectors = extract(machine, 6, said.append)
    left = [naive_reduction.best_distance(machine, vectors[:k]).sum() for k in range(7)]
    assert (np.diff(left) < 0).all()
    assert left[6] < 0.2 * left[0]
    assert said == [1, 2, 3, 4, 5, 6]


def test_by_name_it_gives_nested_sets_with_the_best_weights_of_each() -> None:
    machine = _machine(RBF(0.7), 1, seed=2)
    reduced = fit(machine, [2, 4], method="one_by_one")
    np.testing.assert_allclose(reduced.points, extract(machine, 4, lambda _: None), rtol=1e-4, atol=1e-4)
    for size in (2, 4):
        small = reduced.machine(size)
        best = naive_reduction.best_distance(machine, small.points)
        assert naive_reduction.squared_distance(machine, small.points, small.weights) <= best * 1.001 + 1e-9


@pytest.mark.parametrize("outputs", [1, 3])
def test_as_a_start_its_vectors_are_moved_all_together_and_come_closer(outputs: int) -> None:
    machine = _machine(RBF(0.7), outputs, seed=3)
    extracted = fit(machine, 4, method="one_by_one").points
    reduced = fit(machine, 4, start="one_by_one").machine()
    whole = naive_reduction.best_distance(machine, extracted[:0])
    before = naive_reduction.best_distance(machine, extracted) / whole
    after = naive_reduction.squared_distance(machine, reduced.points, reduced.weights) / whole
    assert after.sum() < 0.98 * before.sum()


def test_as_a_start_it_serves_rows_and_nested_sizes_too() -> None:
    machine = _machine(RBF(0.7), 3, seed=3)
    rows = np.random.default_rng(1).normal(size=(300, 2))
    reduced = fit(machine, [2, 5], rows, start="one_by_one")
    small, large = (FullSum(reduced.machine(size)).outputs(rows) - FullSum(machine).outputs(rows) for size in (2, 5))
    assert (large**2).sum() < (small**2).sum()

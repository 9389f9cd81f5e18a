"""How unlike the support vectors a row is: levels by the distances of the support vectors themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel
from dormie.predictor.dissimilarity import Dissimilarity
from tests.properties.strategies import by_hand


def _machine(count: int = 4000, kernel: Kernel | None = None) -> Machine:
    random = np.random.default_rng(count)
    points = random.normal(size=(count, 5)) + 8 * random.integers(0, 2, size=(count, 1))  # two clouds
    return by_hand(kernel or RBF(1.0), points, np.ones(count))


def _distance(found: Dissimilarity, row: Floats) -> float:
    return min(float(((row - center) ** 2).sum()) for center in found.centers)


def test_a_level_is_reached_by_a_quarter_as_many_support_vectors_as_the_one_before() -> None:
    machine = _machine()
    found = Dissimilarity.of(machine, 4)
    levels = found.levels(machine.points)
    assert found.highest == 4
    for level in range(5):
        assert np.mean(levels >= level) == pytest.approx(0.25**level, abs=2e-3)
    assert np.mean(2.0**levels) < 1.5
    for row, level in zip(machine.points[:50], levels[:50].tolist(), strict=True):
        assert level == sum(_distance(found, row) > begin for begin in found.begins.tolist())


def test_rows_further_than_all_support_vectors_have_the_highest_level() -> None:
    machine = _machine(100)
    found = Dissimilarity.of(machine, 6)
    rows = np.array([[4.0] * 5, [1e6] * 5, [-1e200, 0, 0, 0, 0], [1e300] * 5])
    assert found.levels(rows).tolist() == [6, 6, 6, 6]
    assert found.levels(machine.points).max() <= 6
    assert Dissimilarity.of(machine, 0).levels(rows).tolist() == [0, 0, 0, 0]


def test_rows_are_compared_in_the_coordinates_of_the_points_and_may_be_sparse() -> None:
    machine = _machine()
    input_map = Affine(np.full(5, 100.0), np.linspace(1, 50, 5))
    mapped = by_hand(RBF(1.0), machine.points, np.ones(4000))
    mapped = Machine(mapped.kernel, mapped.points, mapped.weights, mapped.bias, mapped.rule, input_map)
    rows = machine.points[:200] * 1.3
    expected = Dissimilarity.of(machine, 5).levels(rows)
    assert len(set(expected.tolist())) > 2
    np.testing.assert_array_equal(Dissimilarity.of(mapped, 5).levels(input_map.inverse(rows)), expected)
    np.testing.assert_array_equal(Dissimilarity.of(machine, 5).levels(scipy.sparse.csr_array(rows)), expected)


def test_machines_without_enough_support_vectors_or_distances_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 64; the plan's machine has 63"):
        Dissimilarity.of(_machine(63), 2)
    with pytest.raises(ValueError, match="a Python kernel may take any objects"):
        Dissimilarity.of(_machine(100, Custom(lambda a, b: a @ b.T)), 2)

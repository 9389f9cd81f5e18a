"""The full sum over sparse points: certified, the same bits however rows come, and as NumPy and definitions have it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear
from dormie.machine.rules import Value
from dormie.methods.dense import Dense
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum
from tests.oracles import full_sum as naive
from tests.properties import checks
from tests.properties.strategies import KERNELS, adversarial_machines, by_hand, machine, machines, sparse_machines

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def sparse(kernel: Kernel, count: int, features: int, outputs: int = 1, share: float = 0.2) -> tuple[Machine, Floats]:
    """An everyday machine with sparse points, and 9 sparse rows for it."""
    made, rows = machine(kernel, count, features, outputs)
    rng = np.random.default_rng(count)
    points = made.points * (rng.random(made.points.shape) < share)
    rows = rows * (rng.random(rows.shape) < share)
    return Machine(kernel, scipy.sparse.csr_array(points), made.weights, made.bias, made.rule), rows


@every_kernel
@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 300])
def test_outputs_are_right_at_the_edges_of_tiles_and_panels(kernel: Kernel, count: int) -> None:
    made, rows = sparse(kernel, count, 9)
    checks.outputs_agree(made, rows)
    checks.answers_agree(made, rows)


@every_kernel
@pytest.mark.parametrize("share", [0.01, 0.06, 0.3, 1.0])
def test_rare_and_frequent_columns_and_many_outputs(kernel: Kernel, share: float) -> None:
    made, rows = sparse(kernel, 270, 40, outputs=10, share=share)
    checks.outputs_agree(made, rows)
    checks.answers_agree(made, rows)
    checks.outputs_do_not_depend_on_company(made, rows)


@settings(max_examples=60, deadline=None)
@given(sparse_machines(machines()))
def test_everyday_machines(case: tuple[Machine, Floats]) -> None:
    checks.outputs_agree(*case)
    checks.answers_agree(*case)
    checks.outputs_do_not_depend_on_company(*case)


@settings(max_examples=150, deadline=None)
@given(sparse_machines(adversarial_machines()))
def test_intervals_hold_and_answers_agree_at_the_edges_of_floating_point(case: tuple[Machine, Floats]) -> None:
    checks.intervals_hold(*case)
    checks.source_sums_hold(*case)
    checks.answers_agree(*case)


@every_kernel
def test_bits_do_not_depend_on_the_form_of_equal_rows(kernel: Kernel) -> None:
    made, rows = sparse(kernel, 150, 70, outputs=3, share=0.4)
    rows = rows.astype(np.float32).astype(np.float64)
    core = checks.core(made)
    expected = core.outputs(rows, 1)[0]
    for form in (rows.astype(np.float32), np.asfortranarray(rows), *_odd_forms(rows)):
        np.testing.assert_array_equal(core.outputs(form, 2)[0], expected)


def _odd_forms(rows: Floats) -> list[Any]:
    """CSR rows of other types, with zeros stored, columns in any order, and values in two parts."""
    plain = scipy.sparse.csr_array(rows)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(plain.indptr[:-1], plain.indptr[1:], strict=True)])
    turned = scipy.sparse.csr_array((plain.data[order], plain.indices[order], plain.indptr), shape=rows.shape)
    halves = (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2)
    zeros = scipy.sparse.csr_array(np.ones_like(rows))
    zeros.data = rows.ravel().copy()
    return [plain.astype(np.float32), turned, scipy.sparse.csr_array(halves, shape=rows.shape), zeros]


def test_more_features_than_could_be_laid_out() -> None:
    features = 2**31 - 1
    columns = np.array([0, 5, 10**9, 5, features - 1])
    points = scipy.sparse.csr_array((np.arange(1.0, 6.0), columns, [0, 3, 5]), shape=(2, features))
    made = by_hand(RBF(0.01), points, [1.0, -2.0], 0.25)
    row = scipy.sparse.csr_array(([1.0, 1.0], [5, 7], [0, 2]), shape=(1, features))
    expected = np.exp(-0.01 * (1 + 1 + 1 + 9)) - 2 * np.exp(-0.01 * (9 + 1 + 25)) + 0.25
    full_sum = FullSum(made)
    assert full_sum.outputs(row)[0, 0] == pytest.approx(expected, rel=1e-14)
    assert full_sum.source_sum.outputs(row)[0, 0] == pytest.approx(expected, rel=1e-14)
    low, high = Dense(made).interval(row, 2)
    assert low[0, 0] <= expected <= high[0, 0]
    assert high[0, 0] - low[0, 0] < 1e-5


def test_far_from_the_origin_the_models_own_sum_decides() -> None:
    """Exponents of products cancel there, those of differences do not."""
    rng = np.random.default_rng(0)
    points = np.zeros((70, 30))
    points[:, :3] = 1e8 + rng.normal(size=(70, 3))
    made = by_hand(RBF(0.5), scipy.sparse.csr_array(points), rng.normal(size=(70, 1)), 0.1)
    rows = points[:9] + np.pad(rng.normal(size=(9, 3)), ((0, 0), (0, 27)))
    checks.outputs_agree(made, rows)
    middle, radius = FullSum(made).interval(rows)
    assert naive.contained(middle, radius, naive.exact_outputs(made, rows)).all()
    assert (radius < 1e-3).all()
    checks.answers_agree(made, rows)


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
def test_without_the_native_core_it_is_the_same(kernel: Kernel, outputs: int) -> None:
    made, rows = sparse(kernel, 90, 25, outputs)
    exact = naive.exact_outputs(made, rows)
    with backend.numpy_only():
        numpy = Dense(made)
        assert naive.contained(*numpy.full_sum.interval(checks.csr(rows)), exact).all()
        answers = numpy.decide(checks.csr(rows)).answers
        own = numpy.full_sum.source_sum.outputs(rows)
    np.testing.assert_array_equal(Dense(made).decide(rows).answers, answers)
    np.testing.assert_array_equal(FullSum(made).source_sum.outputs(rows), own)


def test_scaled_sparse_rows_are_multiplied_by_the_inverse_as_in_scikit_learn() -> None:
    made, rows = sparse(Linear(), 40, 12)
    scale = np.random.default_rng(1).uniform(0.1, 3, size=12)
    made = Machine(Linear(), made.points, made.weights, made.bias, made.rule, Affine(np.zeros(12), scale))
    dense = Machine(Linear(), made.points.toarray(), made.weights, made.bias, made.rule, made.input_map)
    for form in (rows, checks.csr(rows)):
        own, theirs = (FullSum(each).source_sum.outputs(form) for each in (made, dense))
        np.testing.assert_array_equal(own, theirs)


def test_values_within_a_tolerance() -> None:
    made, rows = sparse(RBF(0.3), 200, 50)
    machine = Machine(made.kernel, made.points, made.weights, made.bias, Value(tolerance=1e-6))
    found = Dense(machine).decide(checks.csr(rows)).answers
    np.testing.assert_allclose(found, naive.outputs(machine, rows), atol=1e-6, rtol=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named(value: float) -> None:
    made, rows = sparse(RBF(0.3), 20, 9)
    rows[4, 7] = value
    for form in (rows, checks.csr(rows)):
        for method in (checks.core(made).outputs, checks.core(made).interval, Dense(made).decide):
            with pytest.raises(ValueError, match=r"row 4, column 7 is"):
                method(form)
        with pytest.raises(ValueError, match=r"row 4, column 7 is"):
            FullSum(made).source_sum.outputs(form)


def test_a_pickled_stage_answers_the_same() -> None:
    made, rows = sparse(RBF(0.3), 50, 20, 3)
    stage = Dense(made)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(stage)).full_sum.outputs(rows), stage.full_sum.outputs(rows)
    )


def test_the_native_core_refuses_points_that_are_not_canonical() -> None:
    made, _ = sparse(RBF(0.3), 3, 4)
    numbers: dict[str, object] = {"kind": 2, "gamma": 0.3, "coef0": 0.0, "degree": 1, "normalized": False}
    rule: dict[str, object] = {"kind": 0, "classes": 2, "zero": False, "tolerance": 0.0}
    rule |= {"break_ties": False, "last_of_equal": False}
    margin: dict[str, object] = {"constant": np.zeros(1), "slope": np.zeros(1), "gain": 1.0, "start": 0.0, "degree": 1}
    for columns, starts in (([1, 1], [0, 2]), ([1, 4], [0, 2]), ([-1, 1], [0, 2]), ([1, 2], [0, 3]), ([1, 2], [1, 2])):
        parts = np.ones(2), np.array(columns, dtype=np.int32), np.array(starts, dtype=np.int64)
        with pytest.raises(ValueError, match="canonical"):
            backend.extension.SparseMachine(numbers, rule, parts, 4, np.ones((1, 1)), np.zeros(1), None, None, margin)
    assert made.n_points == 3

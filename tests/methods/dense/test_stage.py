"""The native dense stage: the same outputs and answers as NumPy and the definition, whatever the shape or the form."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Matern, Polynomial, Sigmoid
from dormie.machine.rules import DecisionValue, OneVsOneVote, Score, Value, ValueRule
from dormie.methods.dense import METHOD, Dense, Float32Dense, cheapest
from dormie.numerics import reference
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor
from tests.methods.files import RISK
from tests.methods.stages import on_numpy, traced
from tests.oracles import full_sum as naive
from tests.properties import checks
from tests.properties.strategies import BY_DIFFERENCES, KERNELS, by_hand, machine, machines, pixels

# Of a length, which rows and points are about as far apart as.
PIXEL_KERNELS: dict[str, Callable[[float], Kernel]] = {
    "rbf": lambda length: RBF(0.5 / length**2),
    "matern": lambda length: Matern(2.5, length),
    "polynomial": lambda length: Polynomial(1 / length**2, 1.0, 3),
    "sigmoid": lambda length: Sigmoid(1 / length**2, 0.1),
    "linear": lambda length: Linear(),  # noqa: ARG005
}
PIXELS_APART = 500.0  # units
every_kernel = pytest.mark.parametrize("kernel", KERNELS + BY_DIFFERENCES, ids=str)


@every_kernel
@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 256, 257, 300])
def test_outputs_are_right_at_the_edges_of_tiles_and_panels(kernel: Kernel, count: int) -> None:
    made, rows = machine(kernel, count, features=3)
    checks.outputs_agree(made, rows)
    checks.answers_agree(made, rows)


@every_kernel
@pytest.mark.parametrize("features", [1, 2, 63, 64, 65, 127, 128, 129, 200])
def test_outputs_are_right_at_the_edges_of_chunks(kernel: Kernel, features: int) -> None:
    made, rows = machine(kernel, 40, features)
    checks.outputs_agree(made, rows)
    checks.answers_agree(made, rows)


@every_kernel
@pytest.mark.parametrize("outputs", [2, 3, 10, 45])
def test_outputs_are_right_with_sparse_weights(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 300, 5, outputs)
    checks.outputs_agree(made, rows)
    checks.answers_agree(made, rows)


@settings(max_examples=40)
@given(machines())
def test_numpy_and_native_outputs_and_answers_agree(case: tuple[Machine, Floats]) -> None:
    _numpy_and_native_agree(*case)


@pytest.mark.slow
@settings(max_examples=1000)
@given(machines())
def test_numpy_and_native_agree_for_many_machines(case: tuple[Machine, Floats]) -> None:
    _numpy_and_native_agree(*case)


def _numpy_and_native_agree(made: Machine, rows: Floats) -> None:
    found, expected = checks.core(made).outputs(rows, 1)[0], reference.outputs(made, rows)
    assert (np.abs(found - expected) <= 1e-13 * checks.sizes(made, rows)).all()
    checks.answers_agree(made, rows)


@every_kernel
@pytest.mark.parametrize(("count", "features", "outputs"), [(70, 5, 3), (300, 130, 1), (257, 64, 10)])
def test_a_rows_outputs_are_its_own(kernel: Kernel, count: int, features: int, outputs: int) -> None:
    checks.outputs_do_not_depend_on_company(*machine(kernel, count, features, outputs))


@pytest.mark.parametrize("rows", [1, 2, 5, 130])
def test_threads_change_nothing(rows: int) -> None:
    """Large enough that threads are really started; few rows share out the panels instead of the rows."""
    made, some = machine(RBF(0.1), 40_000, 100, 3)
    batch, core = np.resize(some, (rows, 100)), checks.core(made)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(core.outputs(batch, threads)[0], core.outputs(batch, 1)[0])
        for stage in (core.certified_stage(), core.float32_stage(False), core.float32_stage(True)):
            for mine, theirs in zip(traced(stage, batch, threads), traced(stage, batch, 1), strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_a_call_for_no_threads_has_the_default_number() -> None:
    made, rows = machine(RBF(0.1), 40_000, 100)
    core = checks.core(made)
    one = core.outputs(rows, 1)[0]
    for found in (core.outputs(rows), core.outputs(rows, 0), core.outputs(rows, -5)):
        np.testing.assert_array_equal(found[0], one)


def _layouts(rows: Floats) -> dict[str, np.ndarray[Any, Any]]:
    n, d = rows.shape
    wide = np.full((2 * n, 3 * d), np.nan, dtype=rows.dtype)
    wide[::2, 1::3] = rows
    offset = np.full(n * d + 1, np.nan, dtype=rows.dtype)
    offset[1:] = rows.ravel()
    frozen = rows.copy()
    frozen.setflags(write=False)
    return {
        "fortran": np.asfortranarray(rows),
        "strided": wide[::2, 1::3],
        "columns reversed": np.ascontiguousarray(rows[:, ::-1])[:, ::-1],
        "rows reversed": np.ascontiguousarray(rows[::-1])[::-1],
        "both reversed, fortran": np.asfortranarray(rows[::-1, ::-1])[::-1, ::-1],
        "offset": offset[1:].reshape(n, d),
        "read-only": frozen,
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", list(_layouts(np.zeros((1, 1)))))
def test_the_layout_of_rows_changes_nothing(layout: str, dtype: Any) -> None:
    made, rows = machine(Polynomial(0.5, 1.0, 3), 50, 7, 3)
    rows = rows.astype(dtype)
    laid_out = _layouts(rows)[layout]
    assert laid_out.dtype == dtype
    np.testing.assert_array_equal(laid_out, rows)
    core = checks.core(made)
    np.testing.assert_array_equal(core.outputs(laid_out, 1)[0], core.outputs(rows.astype(np.float64), 1)[0])


def test_one_row_stands_for_many_where_its_stride_is_zero() -> None:
    made, rows = machine(RBF(0.2), 50, 7)
    repeated = np.broadcast_to(rows[0], (20, 7))
    outputs = checks.core(made).outputs(repeated, 1)[0]
    assert (outputs == checks.core(made).outputs(rows[:1], 1)[0]).all()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unordered_repeated_and_stored_zero_entries_of_csr_count_as_in_scipy(index: Any, dtype: Any) -> None:
    made, _ = machine(Polynomial(0.5, 1.0, 3), 50, 7)
    data = np.array([1.0, 0.0, 2.0, -1.5, 0.25, 4.0], dtype=dtype)
    indices, indptr = np.array([6, 1, 0, 6, 3, 3], dtype=index), np.array([0, 4, 4, 6], dtype=index)
    sparse = scipy.sparse.csr_array((data, indices, indptr), shape=(3, 7))
    assert sparse.indices.dtype == index
    assert not sparse.has_canonical_format
    dense = sparse.astype(np.float64).toarray()
    assert dense[0, 6] == -0.5
    core = checks.core(made)
    np.testing.assert_array_equal(core.outputs(sparse, 1)[0], core.outputs(dense, 1)[0])


def test_no_rows_give_no_outputs_and_no_answers() -> None:
    made, rows = machine(RBF(0.2), 50, 7, 3)
    core = checks.core(made)
    assert core.outputs(rows[:0], 2)[0].shape == (0, 3)
    assert core.outputs(checks.csr(rows[:0]), 2)[0].shape == (0, 3)
    assert traced(core.certified_stage(), rows[:0], 2).answers.shape == (0,)


def test_evaluations_count_every_pass() -> None:
    """At a point whose term cancels the bias float32 cannot tell the sign, nor can float64, nor differences."""
    made = by_hand(RBF(1.0), [[0.0]], [1.0], -1.0)
    found = Dense(made).decide(np.array([[0.0], [5.0], [1e-5]]))
    assert np.asarray(found.evaluations).tolist() == [4, 1, 2]
    assert found.settled is None
    assert found.by_source.tolist() == [0]


@pytest.mark.parametrize("unit", [1 / 255, 1.0, 0.3, 1e-12])
@pytest.mark.parametrize("kernel", PIXEL_KERNELS)
def test_points_that_are_kept_as_bytes_have_certified_intervals(kernel: str, unit: float) -> None:
    """Points of more than 64 features, all whole multiples of one number: see native/tiles/packed.hpp."""
    for count, features in [(5, 65), (40, 130)]:
        made, rows = pixels(PIXEL_KERNELS[kernel](PIXELS_APART * unit), count, features, 3, unit)
        checks.intervals_hold(made, rows)
        checks.outputs_agree(made, rows)
        checks.answers_agree(made, rows)


@pytest.mark.parametrize("kernel", PIXEL_KERNELS)
def test_points_in_bytes_give_a_row_the_same_bits_alone_and_in_company(kernel: str) -> None:
    for outputs in (1, 3):
        made, rows = pixels(PIXEL_KERNELS[kernel](PIXELS_APART / 255), 300, 70, outputs, 1 / 255)
        checks.outputs_do_not_depend_on_company(made, rows)


@given(st.integers(0, 1000), st.sampled_from([2.0**-50, 2.0**-48, 1e-9, 1e-3]))
@settings(max_examples=20)
def test_points_that_are_nearly_multiples_of_one_number_are_certified_too(seed: int, off: float) -> None:
    made, rows = pixels(RBF(0.1), 20, 66, 2, 1 / 255, seed)
    moved = made.points * (1 + off * np.random.default_rng(seed).uniform(-1, 1, made.points.shape))
    checks.intervals_hold(replace(made, points=moved), rows[:8])


def check_instruction_set() -> None:
    """Sums and answers at shapes that fill registers of all lengths, the exponential function and the logarithm."""
    checks.exp2_keeps_to_its_error(200_000)
    checks.log2_keeps_to_its_error(200_000)
    for kernel in KERNELS + BY_DIFFERENCES:
        for count, features, outputs in [(1, 1, 1), (33, 65, 3), (257, 5, 10), (70, 130, 1)]:
            made, rows = machine(kernel, count, features, outputs)
            checks.outputs_agree(made, rows)
            checks.answers_agree(made, rows)
            checks.outputs_do_not_depend_on_company(made, rows)
        checks.intervals_hold(*machine(kernel, 35, 3, 3))
    for of_length in PIXEL_KERNELS.values():
        made, rows = pixels(of_length(PIXELS_APART / 255), 70, 70, 3, 1 / 255)
        checks.intervals_hold(made, rows[:8])
        checks.outputs_do_not_depend_on_company(made, rows)


def test_the_definition_agrees_with_real_numbers() -> None:
    """The loops in floats are themselves checked against mpmath."""
    for kernel in KERNELS:
        made, rows = machine(kernel, 5, 3, 3)
        exact = np.array([[float(value) for value in row] for row in naive.exact_outputs(made, rows)])
        assert (np.abs(naive.outputs(made, rows) - exact) <= 1e-14 * checks.sizes(made, rows)).all()


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3, 45])
def test_float32_answers_differ_from_exact_ones_at_the_decision_boundary_only(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 300, 5, outputs)
    exact = Dense(made)
    float32 = cheapest(exact, rows)
    assert isinstance(float32, Float32Dense)
    assert float32.full_sum is exact.full_sum
    assert (exact.certified, float32.certified) == (True, False)
    assert (str(exact), str(float32)) == ("dense", "dense(float32)")
    different = exact.decide(rows).answers != float32.decide(rows).answers
    middle, radius = checks.core(made).interval(rows, 1)  # float32
    assert (np.abs(middle) <= radius)[different].any(axis=1).all()
    assert (np.asarray(float32.decide(rows).evaluations) == made.n_points).all()


@every_kernel
@pytest.mark.parametrize(
    ("outputs", "rule"),
    [(1, Value(0.1)), (3, Value(0.1, flat=False)), (1, Score(0.5, 0.1)), (3, DecisionValue(OneVsOneVote([1, 2, 3])))],
)
def test_float32_values_are_off_by_rounding_alone(kernel: Kernel, outputs: int, rule: ValueRule) -> None:
    made, rows = machine(kernel, 300, 5, outputs)
    made = made.changed(rule=rule)
    stage, (middle, radius) = Float32Dense(made), checks.core(made).interval(rows, 1)
    found = stage.decide(rows)
    assert found.settled is None
    np.testing.assert_array_equal(found.answers, rule.values(middle))
    exact = np.asarray(naive.outputs(made, rows))
    assert (np.abs(middle - exact) <= radius * (1 + 1e-6)).all()
    for row, answer in zip(rows, found.answers, strict=True):
        np.testing.assert_array_equal(stage.decide(row[None]).answers[0], answer)
    in_numpy = on_numpy(stage).decide(rows).answers
    np.testing.assert_allclose(in_numpy, rule.values(exact), rtol=1e-9, atol=1e-9)


def test_values_out_of_the_range_of_float32_are_those_of_float64() -> None:
    made = by_hand(Linear(), [[1e30], [2.0]], [1e30, 1.0], 0.0, Value(0.1))
    rows = np.array([[1.0], [0.0], [1e-30]])
    stage = Float32Dense(made)
    found = stage.decide(rows)
    np.testing.assert_allclose(found.answers[:, 0], [1e60, 0.0, 1e30], rtol=1e-6)
    np.testing.assert_array_equal(found.evaluations, [4, 2, 2])
    plan = Plan(made, Cascade.of(stage), replace(RISK, tolerance=0.1), Source("a test", 2))
    np.testing.assert_array_equal(Predictor(plan).predict(rows), found.answers[:, 0])
    np.testing.assert_array_equal(Predictor(plan).trace(rows).evaluations, found.evaluations)


def test_float32_ends_plans_with_a_risk_where_it_rounds_little() -> None:
    made, rows = machine(RBF(0.5), 40, 3)
    for tolerance, kind in ((1e-2, Float32Dense), (1e-8, Dense)):
        assert type(cheapest(Dense(made.changed(rule=Value(tolerance))), rows)) is kind


def test_a_float32_stage_stays_so_in_files_and_pickles() -> None:
    made, rows = machine(RBF(0.5), 40, 3)
    float32 = Float32Dense(made)
    assert METHOD.stage(certified=False) is Float32Dense
    assert METHOD.stage(certified=True) is Dense
    for stage in (float32, Dense(made)):
        for again in (type(stage).restore(made, *stage.state()), pickle.loads(pickle.dumps(stage))):
            assert type(again) is type(stage)
            np.testing.assert_array_equal(again.decide(rows).answers, stage.decide(rows).answers)
        for numbers in ({"certified": True}, {"certified": 0.5}, {"caution": 1.0}):
            with pytest.raises(ValueError, match="dense: the arrays or numbers of another stage"):
                type(stage).restore(made, numbers, {})


def test_a_plan_that_begins_with_the_full_sum_answers_by_a_deadline_too() -> None:
    """No plan is compiled so, but a file may hold one."""
    made, rows = machine(RBF(0.5), 40, 3, 3)
    plan = Plan(made, Cascade.of(Dense(made), Dense(made)), Exact(), Source("a test", 40))
    found = Predictor(plan).predict(rows, deadline=60.0)
    assert found.settled.all()
    np.testing.assert_array_equal(found.labels, Predictor(plan).predict(rows))

"""Machines whose rows are prepared: native, NumPy and the definition agree, and nothing certified is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Linear, Polynomial, Sigmoid
from dormie.machine.preparation import Impute, Preparation, Projection
from dormie.machine.rows import mapped_norms
from dormie.machine.rules import Sign, Value
from dormie.methods.dense import Dense
from dormie.numerics.backend import numpy_only
from dormie.numerics.rounding import margin
from dormie.numerics.source_sum import SourceSum
from tests.oracles import long_double
from tests.properties import checks
from tests.properties.strategies import adversarial_machines, machine, machines, prepared, prepared_machines

KERNELS = [Linear(), Polynomial(0.5, 1.0, 3), RBF(0.5), Sigmoid(0.1, 0.2)]


def _by_numpy(make: Any) -> Any:
    with numpy_only():
        return make()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("features", [1, 3, 17, 64, 130])
def test_the_native_sum_is_that_of_numpy(kernel: Any, features: int) -> None:
    made, rows = prepared(*machine(kernel, 40, features), np.random.default_rng(features))
    native, twin = SourceSum(made).outputs(rows), _by_numpy(lambda: SourceSum(made).outputs(rows))
    np.testing.assert_array_equal(native, twin)
    np.testing.assert_array_equal(SourceSum(made).outputs(checks.csr(rows)), _by_numpy(
        lambda: SourceSum(made).outputs(checks.csr(rows))
    ))  # fmt: skip
    found, expected = Dense(made).estimate(rows), long_double.outputs(made, rows)
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@settings(max_examples=60, deadline=None)
@given(prepared_machines(machines()))
def test_bits_of_a_row_are_its_own(case: tuple[Machine, Floats]) -> None:
    checks.outputs_do_not_depend_on_company(*case)


@pytest.mark.parametrize("result", [1, 3, 9, 50, 130])
def test_rows_with_zeros_have_their_bits_beside_rows_without(result: int) -> None:
    rng = np.random.default_rng(result)
    steps = [Projection(rng.normal(size=(300, result)))]
    made = Machine(RBF(0.01), rng.normal(size=(20, result)), rng.normal(size=20), 0.1, Sign([0, 1]),
                   preparation=Preparation(300, steps))  # fmt: skip
    rows = rng.normal(size=(41, 300)) * (rng.random(size=(41, 300)) < np.linspace(0, 1, 41)[:, None])
    checks.outputs_do_not_depend_on_company(made, rows)


@settings(max_examples=150, deadline=None)
@given(prepared_machines(st.one_of(machines(), adversarial_machines())))
def test_intervals_and_margins_contain_the_real_value(case: tuple[Machine, Floats]) -> None:
    made, rows = case
    real = long_double.outputs(made, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        for low, high in (Dense(made).interval(rows, made.n_points), _by_numpy(lambda: Dense(made).interval(rows, 1))):
            wider = margin(made)(mapped_norms(made, rows))
            known = np.isfinite(real) & np.isfinite(low - wider) & np.isfinite(high + wider)
            assert ((low - wider <= real) & (real <= high + wider))[known].all()
        middle, radius = SourceSum(made).interval(rows)
        known = np.isfinite(real) & np.isfinite(radius)
        assert (np.abs(middle - real) <= radius * (1 + 1e-9))[known].all()


@pytest.mark.parametrize("rule", [Sign([0, 1]), Value(1e-3)])
def test_stages_answer_as_the_full_sum_does(rule: Any) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 8)) / 5
    points, weights = rng.normal(size=(300, 8)), rng.normal(size=300)
    made = Machine(RBF(0.1), points, weights, 0.1, rule, preparation=Preparation(30, [Projection(matrix)]))
    rows = rng.normal(size=(500, 30))
    real = long_double.outputs(made, rows)[:, 0].astype(float)
    for method in ("geometry", "fast_stopping", "reduced_set"):
        fast = dormie.compile(made, rows, methods=[method])
        for found in (fast.predict(rows), _by_numpy(lambda: dormie.Predictor(fast.plan).predict(rows))):  # noqa: B023
            if isinstance(rule, Sign):
                np.testing.assert_array_equal(found, (real > 0).astype(int))
            else:
                assert np.abs(found - real).max() <= 1e-3


def test_a_row_of_unknown_error_is_left_to_the_source() -> None:
    huge = Preparation(2, [Projection([[1e200], [-1e200]])])
    made = Machine(RBF(1.0), [[0.0], [1.0]], [1.0, -1.0], 0.0, Sign([0, 1]), preparation=huge)
    fast = dormie.compile(made)
    rows = np.array([[1e-200, 0.0], [1.0, 1.0], [3e-201, 2e-201]])
    np.testing.assert_array_equal(fast.predict(rows), [0, 1, 1])


def test_nan_reaches_the_native_core_where_it_is_imputed() -> None:
    made = Machine(RBF(1.0), [[0.0, 0.0]], [1.0], -0.5, Sign([0, 1]), preparation=Preparation(2, [Impute([0.0], at=1)]))
    fast = dormie.compile(made)
    assert fast.predict([[0.0, np.nan]]).tolist() == [1]
    with pytest.raises(ValueError, match="row 1, column 0 is NaN"):
        fast.predict(np.array([[0.0, np.nan], [np.nan, 0.0]]))

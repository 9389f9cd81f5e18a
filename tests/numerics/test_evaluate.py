"""The promise of the float32 pass: intervals that contain the real value, and answers that float64 would give.

Small machines are compared with real numbers (mpmath), large ones with extended precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneVsOneVote
from tests.methods.stages import traced
from tests.oracles import long_double
from tests.properties import checks
from tests.properties.strategies import BY_DIFFERENCES, KERNELS, adversarial_machines, by_hand, machine


@settings(max_examples=250)
@given(adversarial_machines())
def test_intervals_hold_and_answers_agree_at_the_edges_of_floating_point(case: tuple[Machine, Floats]) -> None:
    checks.intervals_hold(*case)
    checks.answers_agree(*case)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(adversarial_machines())
def test_they_hold_and_agree_for_many_machines_at_the_edges(case: tuple[Machine, Floats]) -> None:
    checks.intervals_hold(*case)
    checks.answers_agree(*case)


@pytest.mark.parametrize("kernel", KERNELS + BY_DIFFERENCES, ids=str)
def test_intervals_of_everyday_machines_hold_and_are_narrow(kernel: Kernel) -> None:
    made, rows = machine(kernel, 60, 6, 3)
    checks.intervals_hold(made, rows)
    size = np.maximum(checks.sizes(made, rows).max(), 1)
    assert (checks.core(made).interval(rows, 1)[1] <= 3e-5 * size).all()
    assert (checks.core(made).interval64(rows, 1)[1] <= 1e-11 * size).all()


def _extended_outputs(made: Machine, rows: Any) -> Any:
    """The outputs in extended precision: some 11 bits past what a float64 sum would lose."""
    x: Any = np.asarray(rows, dtype=np.longdouble)
    s = made.points.astype(np.longdouble)
    if made.input_map is not None:
        x = (x - made.input_map.center) / made.input_map.scale.astype(np.longdouble)
    return long_double.kernel_matrix(made.kernel, x, s) @ made.weights.astype(np.longdouble) + made.bias


@pytest.mark.parametrize("kernel", KERNELS + BY_DIFFERENCES, ids=str)
@pytest.mark.parametrize(("count", "features"), [(300, 70), (600, 8), (40, 700)])
@pytest.mark.parametrize("style", ["ordinary", "far off", "alternating", "sparse"])
def test_intervals_of_larger_machines_hold(kernel: Kernel, count: int, features: int, style: str) -> None:
    made, rows = machine(kernel, count, features, 3, seed=len(style))
    points, weights = made.points.copy(), made.weights.copy()
    if style == "far off":
        points, rows = points + 30, rows + 30
    if style == "alternating":
        weights += 1e6 * np.where(np.arange(count) % 2, 1.0, -1.0)[:, None]
        points[1::2] = points[::2][: len(points[1::2])] * (1 + 1e-6)
    if style == "sparse":
        rows = rows * (np.random.default_rng(1).random(rows.shape) < 0.05)
    changed = Machine(made.kernel, points, weights, made.bias, made.rule)
    exact = _extended_outputs(changed, rows)
    for method in (checks.core(changed).interval, checks.core(changed).interval64):
        middle, radius = method(rows, 1)
        assert np.isfinite(radius).all()
        assert (np.abs(middle - exact) <= radius).all()
    checks.answers_agree(changed, rows)


def test_intervals_hold_under_an_input_map_and_for_float32_rows() -> None:
    made, rows = machine(RBF(0.5), 20, 3, 3)
    input_map = Affine(np.array([1e3, -2.0, 0.0]), np.array([1e-3, 3.0, -0.1]))
    changed = Machine(made.kernel, made.points, made.weights, made.bias, made.rule, input_map)
    raw = (rows * input_map.scale + input_map.center).astype(np.float32)
    checks.intervals_hold(changed, raw)


def test_a_term_that_vanished_by_rounding_stays_in_the_radius() -> None:
    """2^v with v in the hundreds of millions: float32 loses tens of bits of v, and a real 2^-60 comes out as 0."""
    rng = np.random.default_rng(0)
    gamma = 1e8 * np.log(2)
    for x in rng.uniform(1, 2, size=200):
        made = by_hand(RBF(gamma), [[x]], [-1.0], 2.0**-70)
        row = np.array([[x + np.sqrt(60 / 1e8)]])
        checks.intervals_hold(made, row)
        checks.answers_agree(made, row)


def test_a_term_of_size_one_that_vanished_by_rounding_stays_in_the_radius() -> None:
    """A row that is a point: K is 1, but the float32 exponent is off by hundreds."""
    for gamma in np.geomspace(1e6, 1e12, 25):
        for x in np.random.default_rng(1).uniform(1, 2, size=40):
            made = by_hand(RBF(gamma), [[x]], [-1.0], 0.5)
            checks.intervals_hold(made, [[x]])


def _spread_weights(panels: int) -> Floats:
    """Two large weights in one lane of the first panel, whose float32 sum overflows; all others outweigh them."""
    weights = np.zeros(256 * panels)
    weights[[0, 32]] = 3e38
    weights[256::256] = -3e38
    return weights


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, 30.0), Linear(), RBF(1e-9), Polynomial(1.0, 0.0, 1)], ids=str)
def test_sums_that_overflow_in_float32_settle_nothing(kernel: Kernel) -> None:
    made = by_hand(kernel, np.ones((256 * 5, 1)), _spread_weights(5))
    assert checks.core(made).outputs(np.ones((1, 1)), 1)[0][0, 0] < -1e38
    assert np.isinf(checks.core(made).interval(np.ones((1, 1)), 1)[1]).all()
    checks.answers_agree(made, np.ones((1, 1)))


def test_powers_that_overflow_in_float32_settle_nothing() -> None:
    made = by_hand(Polynomial(1.0, 0.0, 2), [[1e10], [1e9]], [1e-30, -1.0])
    checks.intervals_hold(made, [[1e10]])
    checks.answers_agree(made, np.array([[1e10]]))
    assert traced(checks.core(made).certified_stage(), np.array([[1e10]])).answers.tolist() == [0]


def test_points_and_rows_too_far_out_for_their_norms_are_far_apart() -> None:
    made = by_hand(RBF(1.0), [[1e200, 0.0]], [-1.0], 0.5)
    rows = np.array([[1e120, 0.0], [0.0, 1.0], [-1e300, 1e300], [1.0, 0.0], [1e-300, 5e-324]])
    np.testing.assert_array_equal(checks.core(made).outputs(rows, 1)[0], np.full((5, 1), 0.5))


@pytest.mark.parametrize("size", [1e-200, 1e-162, 1e-145, 1e145, 1e160, 1e200])
def test_a_normalized_kernel_claims_nothing_where_a_norm_leaves_the_range_of_doubles(size: float) -> None:
    kernel = Normalized(Polynomial(1.0, 0.0, 3))
    small, plain = [[size, 0.3 * size]], [[1.0, 2.0]]
    checks.intervals_hold(by_hand(kernel, small, [1.0], 0.1), plain)
    checks.intervals_hold(by_hand(kernel, plain, [1.0], 0.1), small)


@pytest.mark.parametrize("size", [1e-150, 1e-155, 1e-162, 1e-187, 1e-300])
def test_vectors_whose_squares_underflow_still_have_a_size(size: float) -> None:
    """The norm comes out as 0 or nearly so; the products with large weights are far from it."""
    vector = np.array([[3.3 * size, -1.7 * size]])
    for kernel in (Linear(), Polynomial(0.7, 0.0, 1), Sigmoid(0.7), RBF(1e6)):
        checks.intervals_hold(by_hand(kernel, vector, [2.7e17]), [[2e-24, 1e-24], [1.1, 2.3]])
        checks.intervals_hold(by_hand(kernel, [[2e-24, 1e-24], [1.1, 2.3]], [2.7e17, 1.0]), vector)


def test_high_powers_hold_or_claim_nothing() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(6, 2))
    for degree in (20, 300, 999, 1001, 20_000):
        made = by_hand(Normalized(Polynomial(1.0, 0.5, degree)), points, rng.normal(size=6))
        checks.intervals_hold(made, points * (1 + rng.normal(size=(6, 1)) * 1e-3))


@given(gamma=st.floats(-4, 4), coef0=st.floats(-100, 100), seed=st.integers(0, 2**32 - 1))
def test_sigmoids_hold_from_their_steepest_point_to_saturation(gamma: float, coef0: float, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(8, 2))
    made = by_hand(Sigmoid(gamma, coef0), points, np.where(np.arange(8) % 2, 1.0, -1.0), 0.0)
    checks.intervals_hold(made, points[::2] * 1e-3)
    checks.intervals_hold(made, points[::2])


@pytest.mark.parametrize("panels", [1, 2, 4])
def test_outputs_are_charged_for_every_panel_they_have_a_weight_in(panels: int) -> None:
    """Each output lives in one panel; the error of a large term must not be booked on another output."""
    count = 256 * panels
    rng = np.random.default_rng(panels)
    weights = np.zeros((count, panels + 1))
    for panel in range(panels):
        weights[256 * panel + 17, panel] = 1e5
        weights[256 * panel + 200, panels] = 1e-3
    made = by_hand(RBF(0.3), rng.normal(size=(count, 4)), weights, 0.0, Argmax(np.arange(panels + 1)))
    rows = rng.normal(size=(20, 4))
    middle, radius = checks.core(made).interval(rows, 1)
    assert (np.abs(middle - _extended_outputs(made, rows)) <= radius).all()


def test_near_ties_are_refined_and_clear_rows_are_not() -> None:
    """Every point twice, with weights that all but cancel: float32 cannot tell the signs of what is left."""
    rng = np.random.default_rng(4)
    points, weights = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    rule, rows = OneVsOneVote(np.arange(3)), rng.normal(size=(200, 2))
    tied = by_hand(RBF(1.0), np.vstack([points, points]), np.vstack([weights, -weights * (1 + 1e-10)]), 0.0, rule)
    checks.answers_agree(tied, rows)
    assert np.mean(traced(checks.core(tied).certified_stage(), rows).evaluations == 160) > 0.5
    clear = by_hand(RBF(1.0), points, rng.uniform(-0.01, 0.01, size=(40, 3)), np.array([3.0, 3.0, -3.0]), rule)
    assert (traced(checks.core(clear).certified_stage(), rows).evaluations == 40).all()


def test_exp2_keeps_to_its_stated_error() -> None:
    checks.exp2_keeps_to_its_error(1_000_000)


def test_log2_keeps_to_its_stated_error() -> None:
    checks.log2_keeps_to_its_error(500_000)


@pytest.mark.parametrize(("coef0", "size"), [(1e80, 1.0), (1e77, 1.0), (0.0, 3.58e-41), (0.0, 1e-38), (1e-90, 1e-45)])
def test_scales_and_offsets_that_leave_the_range_of_float32_settle_nothing(coef0: float, size: float) -> None:
    """All values are about 1, but what they are made of is not; a full tile, so that no padded lane turns it to NaN."""
    made = by_hand(Normalized(Polynomial(1.0, coef0, 1)), np.full((32, 1), 2.0), np.ones(32), -100.0)
    rows = np.array([[size]])
    checks.intervals_hold(made, rows)
    assert traced(checks.core(made).certified_stage(), rows).answers.tolist() == [0]


def _lost_in_sums(features: int, unit: float) -> Floats:
    """A vector whose squares, summed in order, are all lost but the first: each is just under half a unit of 1."""
    vector = np.full(features, np.sqrt(0.99 * unit))
    vector[0] = 1
    return vector


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 1), Sigmoid(0.1), Normalized(Linear())], ids=str)
@pytest.mark.parametrize(("features", "unit"), [(64, 2.0**-24), (64, 2.0**-53), (4096, 2.0**-24)])
def test_dot_products_whose_roundings_all_go_the_same_way_hold(kernel: Kernel, features: int, unit: float) -> None:
    vector = _lost_in_sums(features, unit)
    checks.intervals_hold(by_hand(kernel, [vector], [1.0]), [vector])


@pytest.mark.parametrize("features", [64, 4096])
def test_norms_whose_roundings_all_go_the_same_way_hold(features: int) -> None:
    """Beside a point at the origin nothing but the row's norm counts; a large gamma brings its error forward."""
    vector = _lost_in_sums(features, 2.0**-53)
    checks.intervals_hold(by_hand(RBF(400.0), [np.zeros(features)], [1.0]), [vector])
    checks.intervals_hold(by_hand(RBF(400.0), [vector], [1.0]), [np.zeros(features)])


def test_sums_over_points_whose_roundings_all_go_the_same_way_hold() -> None:
    """One large weight and then many that are each lost beside it, in every lane."""
    weights = np.full(256, 0.99 * 2.0**-24)
    weights[:32] = 1
    checks.intervals_hold(by_hand(Sigmoid(0.0, 30.0), np.ones((256, 1)), weights), [[1.0]])
    checks.intervals_hold(by_hand(RBF(1e-30), np.ones((256, 1)), weights), [[1.0]])

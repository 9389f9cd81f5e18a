"""The bounds on rounding are bounds: asked of real numbers (fractions and mpmath), on data that rounds badly."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Value
from dormie.numerics import backend as native
from dormie.numerics.evaluate import FullSum
from dormie.numerics.feature_space import FeatureVector, InnerProducts
from dormie.numerics.rounding import UNIT, exact_gram_error, kernel_value_error, tile_value_error
from tests.oracles import full_sum as naive
from tests.properties import checks
from tests.properties.strategies import POINTS, WEIGHTS, by_hand, machine


def _largest_error(kernel: Kernel, a: Floats, b: Floats, values: Floats) -> Any:
    """How far any of the values is from the real one."""
    with mpmath.workdps(60):
        x = [[mpmath.mpf(value) for value in row] for row in a.tolist()]
        y = [[mpmath.mpf(value) for value in row] for row in b.tolist()]
        exact = [[naive.kernel_value(kernel, u, v, mpmath.mpf) for v in y] for u in x]
        errors = [abs(mpmath.mpf(float(values[i, j])) - exact[i][j]) for i in range(len(a)) for j in range(len(b))]
        return max(errors)


def _tile_values(kernel: Kernel, a: Floats, b: Floats) -> Floats:
    """Kernel values of the native float64 tiles, each the output of a machine with one weight of 1."""
    return FullSum(Machine(kernel, b, np.eye(len(b)), np.zeros(len(b)), Value(flat=False))).outputs(a)


def _assert_bounded(kernel: Kernel, a: Floats, b: Floats) -> None:
    with np.errstate(all="ignore"):
        bounds = {
            "matrix": (kernel.matrix(a, b), kernel_value_error(kernel, a, b)),
            "tile": (_tile_values(kernel, a, b), tile_value_error(kernel, a, b)),
        }
    for name, (values, bound) in bounds.items():
        if math.isfinite(bound):
            assert np.isfinite(values).all(), name
            assert _largest_error(kernel, a, b, values) <= bound, name


@st.composite
def _inner_products(draw: st.DrawFn) -> Kernel:
    gamma, degree = 10.0 ** draw(st.floats(-6, 6)), draw(st.integers(1, 30))
    coef0 = draw(st.sampled_from([0.0, 1.0, 1e-3, 1e3, 1e-30]))
    poly = Polynomial(gamma, coef0, degree)
    return draw(
        st.sampled_from([Linear(), RBF(gamma), poly, Normalized(Linear()), Normalized(poly), Normalized(RBF(gamma))])
    )


@settings(max_examples=250)
@given(
    kernel=_inner_products(),
    styles=st.tuples(*2 * [st.sampled_from(sorted(POINTS))]),
    features=st.sampled_from([1, 2, 3, 20, 90]),
    seed=st.integers(0, 2**32 - 1),
)
def test_kernel_values_are_within_their_bounds(
    kernel: Kernel, styles: tuple[str, str], features: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (POINTS[style](rng, (3, features)) for style in styles)
    b[0] = a[0]
    _assert_bounded(kernel, a, b)


@pytest.mark.parametrize("direction", [0.6, 1.4])
@pytest.mark.parametrize("kernel", [RBF(300.0), Normalized(Polynomial(1.0, 0.0, 7)), Linear()], ids=str)
def test_sums_that_round_the_same_way_every_time_are_within_the_bounds(kernel: Kernel, direction: float) -> None:
    """One large square, then two thousand that are each rounded up (or down) when added to it."""
    d = 2000
    row = np.full(d, math.sqrt(direction * UNIT))
    row[0] = 1.0
    _assert_bounded(kernel, row[None], np.vstack([row, np.eye(d)[0], 0.5 * row]))


def test_values_normalised_by_what_leaves_the_range_of_doubles_have_no_bound() -> None:
    kernel = Normalized(Polynomial(1.0, 0.0, 7))
    usual, tiny, huge = np.ones((1, 1)), np.full((1, 1), 1e-40), np.full((1, 1), 1e40)
    assert kernel_value_error(kernel, usual, usual) < 1e-13
    assert kernel_value_error(kernel, usual, np.zeros((1, 1))) < 1e-13
    for odd in (tiny, huge):
        assert kernel_value_error(kernel, usual, odd) == math.inf
        assert tile_value_error(kernel, odd, usual) == math.inf


def test_bounds_never_overflow_into_an_error() -> None:
    huge = np.full((1, 2), 1e200)
    assert tile_value_error(RBF(1.0), huge, huge) == 1.0
    assert kernel_value_error(Polynomial(1.0, 0.0, 7), huge, huge) == math.inf
    assert kernel_value_error(Linear(), huge, huge) == math.inf


def test_a_python_function_has_no_bound() -> None:
    with pytest.raises(TypeError, match="no bound on the rounding of Custom"):
        kernel_value_error(Custom(lambda a, b: a @ b.T), np.eye(2), np.eye(2))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0])
def test_sigmoid_values_are_within_their_bound(scale: float) -> None:
    rng = np.random.default_rng(0)
    kernel = Sigmoid(0.7, -0.3)
    a, b = scale * rng.normal(size=(2, 5, 40))
    assert _largest_error(kernel, a, b, kernel.matrix(a, b)) <= kernel_value_error(kernel, a, b)


def _real_gram_error(factor: Floats, gram: Floats) -> list[list[Fraction]]:
    rows = [[Fraction(value) for value in row] for row in factor.tolist()]
    products = [[sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0)) for v in rows] for u in rows]
    return [[products[i][j] - Fraction(gram[i, j]) for j in range(len(rows))] for i in range(len(rows))]


@pytest.mark.parametrize("kernel", [RBF(0.05), RBF(5.0), Polynomial(0.7, 1.0, 6), Linear()], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 17, 40])
def test_the_error_of_a_factor_is_found_almost_exactly(kernel: Kernel, count: int) -> None:
    """Far below the rounding of one product, which is what an ordinary product would leave of it."""
    made, _ = machine(kernel, count, 70)
    gram = kernel.matrix(made.points, made.points) + 1e-8 * np.eye(count)
    factor = scipy.linalg.cholesky(gram, lower=True)
    found, exact = exact_gram_error(factor, gram), _real_gram_error(factor, gram)
    largest = max(abs(Fraction(found[i, j]) - exact[i][j]) for i in range(count) for j in range(count))
    assert largest <= 1e-4 * UNIT * float(np.abs(gram).max())


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(-100, 100), spread=st.floats(0, 12))
def test_the_error_of_any_triangle_is_found_almost_exactly(seed: int, scale: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    factor = np.tril(rng.normal(size=(6, 6)) * 10.0 ** (scale - rng.uniform(0, spread, size=(6, 6))))
    gram = factor @ factor.T
    found, exact = exact_gram_error(factor, gram), _real_gram_error(factor, gram)
    largest = max(abs(Fraction(found[i, j]) - exact[i][j]) for i in range(6) for j in range(6))
    assert largest <= 1e-4 * UNIT * float(np.abs(gram).max())


@st.composite
def _sums(draw: st.DrawFn) -> tuple[Machine, Floats]:
    """A machine, and points that may or may not be its own."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    features, outputs = draw(st.sampled_from([1, 2, 5, 70])), draw(st.sampled_from([1, 3]))
    styles = ["ordinary", "whole", "far off", "near duplicates", "mixed sizes", "zero"]
    points, others = (POINTS[draw(st.sampled_from(styles))](rng, (5, features)) for _ in range(2))
    weights = WEIGHTS[draw(st.sampled_from(["ordinary", "alternating", "mixed sizes", "many zeros"]))](
        rng, (5, outputs)
    )
    made = Machine(draw(_inner_products()), points, weights, np.zeros(outputs), Value(flat=False))
    return made, np.vstack([others, points[:2], points[:2] * (1 + 1e-9)])


@pytest.mark.parametrize("path", ["native", "numpy"])
@settings(max_examples=60)
@given(case=_sums())
def test_inner_products_with_w_are_within_their_bounds(path: str, case: tuple[Machine, Floats]) -> None:
    with native.numpy_only() if path == "numpy" else nullcontext():
        _assert_inner_products_hold(*case)


@pytest.mark.slow
@settings(max_examples=2000)
@given(case=_sums())
def test_many_inner_products_with_w_are_within_their_bounds(case: tuple[Machine, Floats]) -> None:
    _assert_inner_products_hold(*case)


def _assert_inner_products_hold(made: Machine, points: Floats) -> None:
    known, expansion = InnerProducts.with_w(made, points), _expansion(made)
    exact = naive.exact_outputs(made, points)
    finite = np.isfinite(known.values) & np.isfinite(known.errors)
    held = naive.contained(np.where(finite, known.values, 0.0), np.where(finite, known.errors, np.inf), exact)
    assert held.all(), (np.argwhere(~held), known.values[~held], known.errors[~held])
    if expansion is not None and np.isfinite(expansion.squared_norm_error).all():
        own = naive.exact_outputs(made, made.points)
        with mpmath.workdps(120):
            for o, (found, error) in enumerate(zip(expansion.squared_norm, expansion.squared_norm_error, strict=True)):
                real = sum(
                    mpmath.mpf(beta) * row[o] for beta, row in zip(made.weights[:, o].tolist(), own, strict=True)
                )
                assert abs(real - mpmath.mpf(float(found))) <= mpmath.mpf(float(error))


def _expansion(made: Machine) -> FeatureVector | None:
    try:
        return FeatureVector.of(made)
    except ValueError:  # too small or too large to say anything
        return None


def test_one_far_out_point_does_not_spoil_what_is_known_of_the_others() -> None:
    rng = np.random.default_rng(0)
    made, _ = machine(RBF(0.2), 100, 4)
    outlier = replace(made, points=np.vstack([made.points, [[1e3, 0, 0, 0]]]), weights=np.append(made.weights, 1.0))
    rows = rng.normal(size=(20, 4))
    usual, beside = InnerProducts.with_w(made, rows), InnerProducts.with_w(outlier, rows)
    assert (beside.errors <= 1.5 * usual.errors).all()
    radius, with_outlier = (checks.core(one).interval(rows, 1)[1] for one in (made, outlier))
    assert (with_outlier <= 3 * radius).all()


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1), log_gamma=st.floats(-3, 3), log_far=st.floats(0, 4))
def test_rows_beside_a_far_out_point_are_within_their_radius(seed: int, log_gamma: float, log_far: float) -> None:
    """There its value counts, and so does the error of its exponent."""
    rng = np.random.default_rng(seed)
    far = rng.normal(size=2) * 10.0**log_far
    made = by_hand(RBF(10.0**log_gamma), np.vstack([rng.normal(size=(3, 2)), far]), rng.normal(size=4))
    near = 10.0 ** rng.uniform(-4, 1, size=(6, 1)) / np.sqrt(10.0**log_gamma)
    checks.intervals_hold(made, np.vstack([far + rng.normal(size=(6, 2)) * near, rng.normal(size=(2, 2))]))

"""The geometry stage against DeCoste's own equations, against real numbers, and against machines made to break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value
from dormie.methods.fitting import CannotFit
from dormie.methods.geometry import Geometry
from dormie.numerics.evaluate import FullSum
from dormie.numerics.greedy_order import w_greedy
from tests.methods.stages import on_numpy, traced
from tests.oracles import full_sum as naive
from tests.oracles import geometry as naive_geometry
from tests.properties.strategies import (
    BY_DIFFERENCES,
    KERNELS,
    UNCERTIFIABLE,
    adversarial_machines,
    by_hand,
    machine,
    rule_for,
    takes_shares,
)
from tests.slow import soak

INNER_PRODUCTS = [kernel for kernel in KERNELS + BY_DIFFERENCES if kernel.positive_semidefinite]
every_kernel = pytest.mark.parametrize("kernel", INNER_PRODUCTS, ids=str)


def _built(made: Machine, landmarks: Any) -> Geometry:
    """The stage, or none where its numbers leave nothing to certify."""
    try:
        return Geometry.build(made, np.asarray(landmarks))
    except (ValueError, CannotFit):
        assume(False)
        raise


def _decide(stage: Geometry, rows: Any) -> Any:
    return stage.decide(rows)


def _walk(stage: Geometry, row: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Middles and radii of one row's outputs after each landmark."""
    for middles, radii in stage._core.walk(row):
        yield from zip(middles, radii, strict=True)


def _exact_answer(made: Machine, outputs: list[Any]) -> int:
    """What the rule says of real numbers."""
    match made.rule:
        case Sign(zero=zero):
            return naive.sign(outputs, zero)
        case Argmax(last_of_equal=last):
            return naive.argmax(outputs, last)
        case OneVsOneVote(classes=classes, break_ties=True):
            return naive.argmax(naive.confidences(outputs, len(classes)), False)
        case OneVsOneVote(classes=classes):
            return naive.vote(outputs, len(classes))
    raise TypeError(made.rule)


def _holds(stage: Geometry, rows: Any) -> None:
    """Every interval contains the real value, and every settled answer is that of the real outputs.

    Answers are judged in real numbers, which leaves no decision boundary to make allowances for: float64 itself may be
    on the other side of it, and `soak` compares with float64.
    """
    made, exact = stage.machine, naive.exact_outputs(stage.machine, rows)
    for k in range(1, stage.budget + 1):
        middle, radius = stage._core.interval(rows, k)
        finite = np.isfinite(middle) & ~np.isnan(radius)
        held = naive.contained(np.where(finite, middle, 0.0), np.where(finite, radius, np.inf), exact)
        assert held.all(), (k, np.argwhere(~held), middle[~held], radius[~held])
        low, high = stage.interval(rows, k)
        held = naive.between(low, high, exact)
        assert held.all(), (k, np.argwhere(~held), low[~held], high[~held])
    found = _decide(stage, rows)
    for i in np.flatnonzero(found.settled):
        if isinstance(made.rule, Value):
            off = [abs(float(value) - a) for value, a in zip(found.answers[i], exact[i], strict=True)]
            assert max(off) <= made.rule.tolerance * (1 + 1e-12)
        else:
            assert found.answers[i] == _exact_answer(made, exact[i]), (i, exact[i])


def _svm(kernel: Kernel, count: int = 7, features: int = 3, seed: int = 0) -> tuple[Machine, Floats]:
    """A machine whose weights sum to zero, as the paper wants them, and a few rows."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0 if takes_shares(kernel) else -6, 7, size=(count, features)) / 4 + 0.125
    weights = rng.integers(1, 9, size=count) / 4 * np.where(np.arange(count) % 2, 1.0, -1.0)
    weights[0] -= weights.sum()
    rows = np.vstack([rng.normal(size=(3, features)), points[2], 8 * rng.normal(size=features)])
    rows = np.abs(rows) if takes_shares(kernel) else rows
    return by_hand(kernel, points, weights, 0.375), rows


@every_kernel
def test_the_papers_interval_contains_ours_and_both_contain_the_output(kernel: Kernel) -> None:
    made, rows = _svm(kernel)
    stage = _full_stage(made)
    for row, (exact,) in zip(rows, naive.exact_outputs(made, rows), strict=True):
        paper = naive_geometry.paper_intervals(made, stage.span.points, row)
        span = [outputs[0] for outputs in naive_geometry.span_intervals(made, stage.span.points, row)]
        for (low, high), (middle, radius) in zip(paper, span, strict=True):
            slack = 1e-30 * (1 + abs(low) + abs(high))
            assert low - slack <= middle - radius <= exact + slack
            assert exact - slack <= middle + radius <= high + slack


def _full_stage(made: Machine) -> Geometry:
    return Geometry.build(made, made.points[w_greedy(made, made.n_points)])


@every_kernel
def test_real_intervals_are_nested_and_computed_ones_are_those_but_for_rounding(kernel: Kernel) -> None:
    """Only running intersections shrink strictly: computed ends may step back by the little that rounding adds."""
    made, rows = _svm(kernel)
    stage = _full_stage(made)
    for row in rows:
        size = float(np.sqrt(kernel.diagonal(row[None])[0]) * stage.span.rho[0, 0]) + 1
        before = (-np.inf, np.inf)
        exact = naive_geometry.span_intervals(made, stage.span.points, row)
        for (found_middle, found_radius), ((middle, radius),) in zip(_walk(stage, row), exact, strict=True):
            low, high = middle - radius, middle + radius
            assert low >= before[0] - 1e-30
            assert high <= before[1] + 1e-30
            assert abs(found_middle[0] - middle) <= 1e-9 * size
            assert radius <= found_radius[0] <= radius + 1e-5 * size
            before = (low, high)


@every_kernel
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33])
def test_a_walk_and_intervals_after_k_landmarks_agree(kernel: Kernel, count: int) -> None:
    """To the last few bits only: one at a time, landmarks may be multiplied and added in one rounding or in two."""
    made, rows = machine(kernel, count, 3, 3)
    stage = _full_stage(made)
    for i, row in enumerate(rows):
        for k, (middle, radius) in enumerate(_walk(stage, row), start=1):
            found = stage._core.interval(rows, k)
            np.testing.assert_allclose(found[0][i], middle, rtol=0, atol=1e-13 * stage.span.rho[0].max())
            np.testing.assert_allclose(found[1][i], radius, rtol=1e-6, atol=1e-9 * stage.span.rho[0].max())
        assert k == stage.budget


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
def test_everyday_machines_hold(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 25, 4, outputs, seed=outputs)
    _holds(_full_stage(made), rows)
    _holds(Geometry.build(made, made.points[1:][::-1]) if made.points[1:].any() else _full_stage(made), rows)


@settings(max_examples=400)
@given(case=adversarial_machines(), order=st.sampled_from(["greedy", "any", "twice", "near", "free"]), data=st.data())
def test_machines_at_the_edges_of_floating_point_hold(
    case: tuple[Machine, Floats], order: str, data: st.DataObject
) -> None:
    made, rows = case
    assume(made.kernel.positive_semidefinite and made.n_points)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    with np.errstate(all="ignore"):
        stage = _built(made, _landmarks(made, order, rng))
    _holds(stage, rows)


def _landmarks(made: Machine, order: str, rng: np.random.Generator) -> Floats:
    points = np.asarray(made.points)
    try:
        greedy = points[w_greedy(made, made.n_points)]
    except ValueError:
        assume(False)
    return {
        "greedy": greedy,
        "any": rng.permutation(points),
        "twice": np.repeat(points, 2, axis=0),
        "near": np.vstack([points, points * (1 + 1e-9)]),
        "free": rng.normal(size=points.shape),
    }[order]


@settings(max_examples=200)
@given(
    gamma=st.floats(-6, 6),
    weight=st.floats(-12, 12),
    style=st.sampled_from(["ordinary", "duplicates", "near duplicates", "alternating", "zeros"]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_rows_on_the_decision_boundary_hold(
    gamma: float, weight: float, style: str, seed: int, data: st.DataObject
) -> None:
    """The bias is set so that one row's output is 0 to within 1e-12 of the terms, or as near as float64 comes."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(9, 2))
    weights = rng.normal(size=9) * 10.0**weight
    if style == "duplicates":
        points[4:] = points[:5]
    elif style == "near duplicates":
        points[4:] = points[:5] * (1 + rng.normal(size=(5, 1)) * 10.0 ** rng.uniform(-15, -5))
    elif style == "alternating":
        points[4:], weights[4:] = points[:5] * (1 + 1e-7), -weights[:5] * (1 + 1e-9)
    elif style == "zeros":
        points[:4] = 0
    g, degree = 10.0**gamma, data.draw(st.integers(1, 7))
    kernels = [RBF(g), Polynomial(g, 1.0, degree), Polynomial(g, 0.0, degree), Linear(), Normalized(Linear())]
    kernels += [Normalized(Polynomial(g, 0.0, degree)), Normalized(Polynomial(g, 1.0, degree))]
    made = by_hand(data.draw(st.sampled_from(kernels)), points, weights)
    rows = np.vstack([rng.normal(size=(2, 2)), points[3], points[8] * (1 + 1e-8), np.zeros(2), 1e4 * points[1]])
    at = data.draw(st.integers(0, 5))
    nudge = data.draw(st.sampled_from([0.0, 1e-16, -1e-16, 1e-14, -1e-14, 1e-12, -1e-12]))
    bias = -FullSum(made).outputs(rows)[at] + nudge * float(np.abs(weights).max())
    tight = replace(made, bias=bias, rule=Sign(np.array([0, 1]), zero=data.draw(st.integers(0, 1))))
    _holds(_built(tight, points[rng.permutation(9)[: data.draw(st.integers(1, 9))]]), rows)


def test_rank_deficient_gram_matrices_end_the_landmarks_and_tell_everything() -> None:
    """Degree 2 in the plane: 6 dimensions, however many points."""
    rng = np.random.default_rng(5)
    made = by_hand(Polynomial(0.5, 1.0, 2), rng.normal(size=(30, 2)), rng.normal(size=30))
    stage = Geometry.build(made, made.points)
    assert stage.budget == 6
    rows = rng.normal(size=(200, 2))
    found = _decide(stage, rows)
    assert found.settled.mean() > 0.95
    _holds(stage, rows[:20])


@pytest.mark.parametrize("kernel", [Normalized(Linear()), Normalized(Polynomial(0.5, 0.0, 3))], ids=str)
def test_zero_vectors_of_a_normalised_kernel_give_the_bias(kernel: Kernel) -> None:
    rng = np.random.default_rng(6)
    points = rng.normal(size=(12, 2))
    points[3] = 0
    made = by_hand(kernel, points, rng.normal(size=12), -0.25)
    stage = _full_stage(made)
    rows = np.vstack([np.zeros(2), rng.normal(size=(5, 2))])
    _holds(stage, rows)
    assert stage._core.interval(rows, 1)[0][0, 0] == -0.25
    assert _decide(stage, rows[:1]).answers.tolist() == [0]
    with pytest.raises(CannotFit, match="no usable landmark"):
        Geometry.build(made, np.zeros((1, 2)))


def test_an_output_without_weights_is_its_bias() -> None:
    made, rows = machine(RBF(0.3), 20, 3, 3)
    weights = made.weights.copy()
    weights[:, 1] = 0
    stage = _full_stage(replace(made, weights=weights))
    middle, radius = stage._core.interval(rows, 5)
    assert (middle[:, 1] == made.bias[1]).all()
    assert (radius[:, 1] <= 1e-15).all()
    _holds(stage, rows)


def test_one_point_and_one_landmark_hold() -> None:
    made = by_hand(RBF(0.7), [[1.0, -1.0]], [2.0], -1.0)
    rows = np.array([[1.0, -1.0], [0.0, 0.0], [1.0, -0.01], [50.0, 0.0]])
    _holds(Geometry.build(made, made.points), rows)
    _holds(Geometry.build(made, np.array([[0.5, 0.0]])), rows)
    assert _decide(Geometry.build(made, made.points), rows).answers.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("size", [1e-170, 1e-120, 1e-24, 1e18, 1e150])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 7), RBF(1.0)], ids=str)
def test_rows_whose_squares_leave_the_range_of_doubles_are_not_settled_by_what_was_lost(
    kernel: Kernel, size: float
) -> None:
    """The landmark knows of the first feature only, and speaks for the other answer."""
    made = by_hand(kernel, [[1.0, 0.0], [0.0, 1.0]], [1.0, -3.0])
    _holds(Geometry.build(made, made.points[:1]), np.array([[size, size], [size, -size]]))


@pytest.mark.parametrize("size", [1e-170, 1e-110, 1e110, 1e170, 1e300])
def test_weights_whose_squares_leave_the_range_of_doubles_are_refused(size: float) -> None:
    made = by_hand(RBF(1.0), [[1.0, 0.0], [0.0, 1.0]], [size, -3 * size])
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="far too small or too large"):
        Geometry.build(made, made.points)


def test_input_maps_float32_and_sparse_rows_hold_and_agree() -> None:
    rng = np.random.default_rng(3)
    made, rows = machine(RBF(0.5), 20, 4, 3)
    input_map = Affine(np.array([1e3, -2.0, 0.0, 7.0]), np.array([1e-3, 3.0, -0.1, 2.0]))
    stage = _full_stage(replace(made, input_map=input_map))
    raw = rows * input_map.scale + input_map.center
    raw[:, 2:] *= rng.random((len(raw), 2)) < 0.5
    _holds(stage, raw)
    form: Any
    for form in (raw.astype(np.float32), scipy.sparse.csr_array(raw), scipy.sparse.csr_array(raw.astype(np.float32))):
        plain = (form.toarray() if scipy.sparse.issparse(form) else form).astype(np.float64)
        for mine, theirs in zip(stage.interval(form, 7), stage.interval(plain, 7), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(_decide(stage, form).answers, _decide(stage, plain).answers)


@pytest.mark.parametrize("kernel", UNCERTIFIABLE.values(), ids=UNCERTIFIABLE)
def test_a_kernel_that_is_not_surely_an_inner_product_never_gets_here(kernel: Kernel) -> None:
    points = np.eye(3)
    good = Geometry.build(by_hand(Linear(), points, np.ones(3)), points)
    bad = by_hand(kernel, points, np.ones(3))
    with pytest.raises(ValueError, match="positive semi-definite"):
        Geometry.build(bad, points)
    with pytest.raises(ValueError, match="positive semi-definite"):
        Geometry(bad, good.span, 1)
    with pytest.raises(ValueError, match="positive semi-definite"):
        Geometry.restore(bad, *good.state())


def _ordinary(outputs: int = 3, rows: int = 700) -> tuple[Geometry, Floats]:
    rng = np.random.default_rng(outputs)
    made = Machine(
        RBF(0.4), rng.normal(size=(300, 3)), rng.normal(size=(300, outputs)), np.zeros(outputs), rule_for(outputs, 2)
    )
    return Geometry.build(made, made.points[w_greedy(made, 100)]), rng.normal(size=(rows, 3))


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_row_fares_the_same_in_any_company(outputs: int) -> None:
    stage, rows = _ordinary(outputs)
    whole = _decide(stage, rows)
    assert whole.settled.mean() > 0.2
    assert len(set(whole.evaluations.tolist())) > 3
    for some in (slice(0, 1), slice(5, 6), slice(0, 31), slice(17, 300), slice(None, None, -1), slice(1, None, 2)):
        part = _decide(stage, rows[some])
        for mine, theirs in zip(part, whole, strict=True):
            np.testing.assert_array_equal(mine, theirs[some])


def check_instruction_set() -> None:
    """Answers, and the steps they take, are those of NumPy, and so the same on all instruction sets."""
    for outputs in (1, 3):
        stage, rows = _ordinary(outputs)
        for mine, theirs in zip(_decide(stage, rows), _decide(on_numpy(stage), rows), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_threads_change_nothing() -> None:
    stage, rows = _ordinary(rows=3000)
    core: Any = stage._core
    for found in (
        lambda threads: traced(stage.native(1.0), rows, threads),
        lambda threads: core.interval(rows, stage.budget, threads),
    ):
        for threads in (2, 3, 7):
            for mine, theirs in zip(found(threads), found(1), strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("outputs", [1, 3])
def test_settled_answers_and_steps_are_those_of_the_intervals(outputs: int) -> None:
    stage, rows = _ordinary(outputs, 200)
    found, rule = _decide(stage, rows), stage.machine.rule
    for k in [*range(16, stage.budget, 16), stage.budget]:
        middle, radius = stage._core.interval(rows, k)
        now = rule.settled(middle - radius, middle + radius)
        np.testing.assert_array_equal(found.settled & (found.evaluations <= k), now | (found.evaluations < k) & now)
        here = found.settled & (found.evaluations == k)
        np.testing.assert_array_equal(found.answers[here], rule.answer(middle)[here])
    assert (found.evaluations[~found.settled] == stage.budget).all()


def test_fewer_landmarks_are_the_first_of_them() -> None:
    stage, rows = _ordinary()
    short = stage.limited(37)
    assert short.budget == 37
    (middle, radius), (same_middle, same_radius) = (each._core.interval(rows, 37) for each in (short, stage))
    np.testing.assert_array_equal(middle, same_middle)
    np.testing.assert_allclose(radius, same_radius, rtol=1e-7)  # what may round is bounded by the largest landmark
    assert len(list(short.steps(rows[:1]))) == 37
    assert stage.limited(10_000).budget == stage.budget


def test_values_are_settled_within_their_tolerance() -> None:
    stage, rows = _ordinary(3, 100)
    made = replace(stage.machine, rule=Value(tolerance=0.01, flat=False))
    found = _decide(Geometry(made, stage.span, stage.budget), rows)
    outputs = FullSum(made).outputs(rows)
    assert 0 < found.settled.sum() < len(rows)
    assert (np.abs(found.answers - outputs)[found.settled] <= 0.01).all()


@pytest.mark.parametrize("outputs", [1, 3])
@every_kernel
def test_without_the_native_core_intervals_hold_and_answers_are_the_same(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 40, 4, outputs, seed=1)
    stage = _full_stage(replace(made, input_map=Affine(np.ones(4), np.full(4, 1.5))))
    raw = rows * 1.5 + 1
    slow = on_numpy(stage)
    _holds(slow, raw)
    fast, found = _decide(stage, raw), _decide(slow, raw)
    both = fast.settled & found.settled
    assert both.sum() >= fast.settled.sum() - 1
    np.testing.assert_array_equal(found.answers[both], fast.answers[both])
    for (middle, radius), (mine, my_radius) in zip(_walk(slow, raw[1]), _walk(stage, raw[1]), strict=True):
        assert (np.abs(middle - mine) <= radius + my_radius).all()
        assert (np.abs(radius - my_radius) <= 1e-5 * (1 + radius)).all()
    with pytest.raises(ValueError, match="row 0, column 2 is NaN"):
        _decide(slow, np.array([[0.0, 1.0, np.nan, 0.0]]))


def test_a_value_that_is_not_finite_is_named() -> None:
    stage, rows = _ordinary()
    rows[4, 1] = np.inf
    with pytest.raises(ValueError, match="row 4, column 1 is infinite"):
        _decide(stage, rows)
    with pytest.raises(ValueError, match="column 1 is infinite"):
        next(stage.steps(rows[4:5]))


def test_no_rows_are_decided_without_complaint() -> None:
    stage, rows = _ordinary()
    found = _decide(stage, rows[:0])
    assert (len(found.answers), len(found.evaluations)) == (0, 0)


def test_the_soak_finds_a_certificate_that_is_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Geometry.build

    def boastful(made: Machine, landmarks: Floats) -> Geometry:
        stage = build(made, landmarks)
        return Geometry(made, replace(stage.span, rho=stage.span.rho * 0.7), stage.budget)

    monkeypatch.setattr(Geometry, "build", boastful)
    with pytest.raises(soak.Disagreement, match=r"geometry(.|\n)*again: python -m tests.slow.soak 1 "):
        list(soak.soak(200_000))

"""The reduced_set stage against its definition, against real numbers, and against machines made to break it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.distance_kernels import Radial
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial
from dormie.machine.rules import OneVsOneVote, Sign, Value
from dormie.methods.dense import Dense
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.numerics.evaluate import FullSum
from dormie.numerics.feature_space import FeatureVector
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.plan.explain import explain
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.methods.stages import on_numpy, traced
from tests.oracles import full_sum as naive
from tests.properties import checks
from tests.properties.strategies import KERNELS, UNCERTIFIABLE, adversarial_machines, by_hand, machine, rule_for
from tests.slow import soak

INNER_PRODUCTS = [kernel for kernel in KERNELS if kernel.positive_semidefinite]
every_kernel = pytest.mark.parametrize("kernel", INNER_PRODUCTS, ids=str)


def _levels(stage: ReducedSet) -> list[Floats]:
    return np.split(stage.levels.weights, np.cumsum(stage.sizes)[:-1])


def _interval(stage: ReducedSet | CalibratedReducedSet, rows: Any, level: int) -> tuple[Floats, Floats]:
    """Middles and radii at a level."""
    return stage._core.interval(rows, level)


def _sizes(n: int) -> list[int]:
    return sorted({max(1, n // 3), max(1, n // 2), n})


def _contains(stage: ReducedSet, rows: Any) -> None:
    """Every interval of every level contains the real value, and every settled answer is that of the real outputs."""
    made, exact = stage.machine, naive.exact_outputs(stage.machine, rows)
    for level in range(len(stage.sizes)):
        middle, radius = _interval(stage, rows, level)
        assert not np.isnan(radius).any()
        held = naive.contained(middle, radius, exact)
        assert held.all(), (level, np.argwhere(~held), middle[~held], radius[~held])
        low, high = stage.interval(rows, stage.sizes[level])
        held = naive.between(low, high, exact)
        assert held.all(), (level, np.argwhere(~held), low[~held], high[~held])
    found = stage.decide(rows)
    assert found.settled is not None
    for i in np.flatnonzero(found.settled):
        if isinstance(made.rule, Value):
            off = [abs(float(value) - a) for value, a in zip(found.answers[i], exact[i], strict=True)]
            assert max(off) <= made.rule.tolerance * (1 + 1e-12)
        elif isinstance(made.rule, Sign):
            assert found.answers[i] == naive.sign(exact[i], made.rule.zero)


def _agrees_with_its_intervals(stage: ReducedSet, rows: Any) -> None:
    """A row stops at the first level that settles it, or at the last, with that level's answer."""
    found, rule = stage.decide(rows), stage.machine.rule
    evaluations, settled = np.broadcast_to(found.evaluations, len(found.answers)), np.zeros(len(found.answers), bool)
    for level, size in enumerate(stage.sizes):
        middle, radius = _interval(stage, rows, level)
        with np.errstate(invalid="ignore"):
            now = rule.settled(middle - radius, middle + radius) & ~settled
        assert (evaluations[now] == size).all()
        np.testing.assert_array_equal(found.answers[now], rule.answer(middle)[now])
        settled |= now
    np.testing.assert_array_equal(found.settled, settled)
    assert (evaluations[~settled] == stage.sizes[-1]).all()


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
def test_middles_and_radii_are_those_of_the_definition(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 9, 3, outputs)
    vectors = np.vstack([made.points[2:5], np.random.default_rng(0).normal(size=(3, 3))])
    stage = ReducedSet.project(made, vectors, [2, 6])
    for level, gamma in enumerate(_levels(stage)):
        for form in (stage, on_numpy(stage)):
            middle, radius = _interval(form, rows, level)
            for i, row in enumerate(rows):
                for o, (m, r) in enumerate(naive.reduced_set_interval(made, vectors[: len(gamma)], gamma, row)):
                    size = float(np.abs(gamma).sum()) * float(np.abs(kernel.matrix(row[None], vectors)).max()) + 1
                    assert abs(float(m) - middle[i, o]) <= 1e-5 * size
                    assert -1e-12 <= radius[i, o] - float(r) <= 1e-4 * size


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
def test_everyday_machines_hold(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 25, 4, outputs, seed=outputs)
    for vectors in (made.points, made.points[::-2], rows * 1.1):
        stage = ReducedSet.project(made, vectors, _sizes(len(vectors)))
        _contains(stage, rows)
        _contains(on_numpy(stage), rows)
        _agrees_with_its_intervals(stage, rows)
        _agrees_with_its_intervals(on_numpy(stage), rows)


@every_kernel
def test_rows_along_w_come_as_close_to_the_radius_as_they_can(kernel: Kernel) -> None:
    """With one vector of weight 0, w' is 0 and a row along w is as far off as the radius says, but for rounding."""
    s = np.array([[1.0, -0.5, 2.0]])
    made = by_hand(kernel, s, [3.0], 0.25)
    stage = ReducedSet.build(made, s, [np.zeros((1, 1))])
    middle, radius = _interval(stage, s, 0)
    exact = FullSum(made).outputs(s)
    assert middle[0, 0] == 0.25
    assert abs(exact[0, 0] - 0.25) <= radius[0, 0] <= abs(exact[0, 0] - 0.25) * (1 + 1e-6)


@every_kernel
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_machines_own_points_and_weights_leave_nothing_but_rounding(kernel: Kernel, outputs: int) -> None:
    made, rows = machine(kernel, 40, 4, outputs)
    stage = ReducedSet.build(made, made.points, [made.weights])
    length = np.sqrt(FeatureVector.of(made).squared_norm)
    assert (stage.half_widths <= 2e-5 * length.max()).all()
    middle, _ = _interval(stage, rows, 0)
    assert (np.abs(middle - FullSum(made).outputs(rows)) <= 1e-5 * checks.sizes(made, rows)).all()
    _contains(stage, rows)


@pytest.mark.parametrize(
    ("kernel", "off"),
    [(RBF(0.3), 1e-2), (RBF(0.3), 1e-6), (Polynomial(0.5, 1.0, 3), 1e-5), (Linear(), 1e-6)],
    ids=str,
)
def test_a_distance_far_smaller_than_w_is_still_told(kernel: Kernel, off: float) -> None:
    """rho^2 is what is left of numbers 1e12 times its size."""
    rng = np.random.default_rng(1)
    made = by_hand(kernel, rng.normal(size=(20, 3)), rng.normal(size=20))
    gamma = made.weights.copy()
    gamma[0] += off * float(np.sqrt(FeatureVector.of(made).squared_norm[0]))
    [real] = naive.reduced_set_rho(made, made.points, gamma)
    [[found]] = ReducedSet.build(made, made.points, [gamma]).half_widths
    assert real <= found <= 2 * real


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), log_gamma=st.floats(-4, 3), far=st.floats(0, 6), near=st.floats(-12, 0))
def test_rho_is_never_less_than_the_distance(seed: int, log_gamma: float, far: float, near: float) -> None:
    """Vectors beside points, far from the origin, with weights of both signs: everything cancels."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(6, 2)) + 10.0**far
    kernel = rng.choice(np.array([RBF(10.0**log_gamma), Normalized(RBF(10.0**log_gamma)), Linear()], dtype=object))
    made = by_hand(kernel, points, rng.normal(size=6))
    vectors = points[:4] * (1 + 10.0**near * rng.normal(size=(4, 1)))
    for gamma in (made.weights[:4], made.weights[:4] * (1 + 1e-9), rng.normal(size=(4, 1))):
        [[found]] = ReducedSet.build(made, vectors, [gamma]).half_widths
        assert naive.reduced_set_rho(made, vectors, gamma)[0] <= found


@settings(max_examples=400)
@given(
    case=adversarial_machines(),
    style=st.sampled_from(["own", "twice", "near", "free", "zero", "one", "any weights"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_machines_at_the_edges_of_floating_point_hold(case: tuple[Machine, Floats], style: str, seed: int) -> None:
    made, rows = case
    assume(made.kernel.positive_semidefinite and made.n_points)
    with np.errstate(all="ignore"):
        stage = _stage_of(made, style, np.random.default_rng(seed))
    _contains(stage, rows)
    _contains(on_numpy(stage), rows)


def _stage_of(made: Machine, style: str, rng: np.random.Generator) -> ReducedSet:
    """A stage over vectors of that style, or none where its numbers leave nothing to certify."""
    points = np.asarray(made.points)
    vectors = {
        "twice": np.repeat(points, 2, axis=0),
        "near": np.vstack([points, np.clip(points * (1 + 1e-9), -1e300, 1e300)]),
        "free": rng.normal(size=(5, points.shape[1])),
        "zero": np.zeros((2, points.shape[1])),
        "one": points[:1],
    }.get(style, points)
    sizes = _sizes(len(vectors))
    try:
        if style == "any weights":
            size = 10.0 ** rng.uniform(-40, 40)
            return ReducedSet.build(made, vectors, [rng.normal(size=(k, made.n_outputs)) * size for k in sizes])
        if style == "own":
            return ReducedSet.build(made, vectors, [made.weights])
        return ReducedSet.project(made, vectors, sizes)
    except (ValueError, CannotFit):
        assume(False)
        raise


@settings(max_examples=80)
@given(
    count=st.sampled_from([1, 2, 31, 32, 33, 64, 65, 255, 256, 257, 300, 530]),
    features=st.sampled_from([1, 3, 22, 64, 65, 130]),
    outputs=st.sampled_from([1, 3, 10]),
    kernel=st.sampled_from(INNER_PRODUCTS),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_native_and_numpy_agree_at_all_shapes(
    count: int, features: int, outputs: int, kernel: Kernel, seed: int, data: st.DataObject
) -> None:
    made, rows = machine(kernel, count, features, outputs, seed)
    sizes = sorted({*data.draw(st.lists(st.integers(1, count), max_size=4)), count})
    weights = [np.random.default_rng(size).normal(size=(size, outputs)) for size in sizes]
    stage = ReducedSet.build(made, made.points, weights)
    for level, gamma in enumerate(weights):
        reduced = replace(made, points=made.points[: len(gamma)], weights=gamma)
        for (middle, radius), (other, other_radius) in [
            (_interval(stage, rows, level), _interval(on_numpy(stage), rows, level))
        ]:
            np.testing.assert_array_less(np.abs(middle - other), radius + other_radius + 1e-300)
            room = 3e-5 * (checks.sizes(reduced, rows).max() + 1)
            # A radial kernel's native bound follows the row, its twin's is one for all rows.
            share = 0.25 if isinstance(kernel, Radial) and not isinstance(kernel, RBF) else 1e-6
            np.testing.assert_array_less(np.abs(radius - other_radius), room + share * other_radius)
            np.testing.assert_allclose(other, naive.outputs(reduced, rows), atol=1e-7 * room)
    _agrees_with_its_intervals(stage, rows)


def test_a_level_that_ends_inside_a_tile_uses_none_of_the_vectors_after_it() -> None:
    """The vectors after it overflow float32 or are enormous; they must not reach its sums."""
    made, rows = machine(Linear(), 10, 2)
    vectors = np.vstack([made.points, [[1e9, 1e9]] * 3])
    stage = ReducedSet.build(made, vectors, [made.weights, np.vstack([made.weights, np.zeros((3, 1))])])
    np.testing.assert_array_equal(_interval(stage, rows, 0)[0], _interval(stage, rows, 1)[0])
    _contains(stage, rows)


def _ordinary(outputs: int = 3, rows: int = 700) -> tuple[ReducedSet, Floats]:
    rng = np.random.default_rng(outputs)
    points = rng.normal(size=(300, 2))
    made = Machine(RBF(0.4), points, rng.normal(size=(300, outputs)), np.zeros(outputs), rule_for(outputs, 2))
    order = np.concatenate([w_greedy(made, 100), np.arange(300)])[:200]
    return ReducedSet.project(made, points[order], [10, 20, 40, 200]), rng.normal(size=(rows, 2))


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_cascade_settles_most_rows_early_and_all_of_them_rightly(outputs: int) -> None:
    stage, rows = _ordinary(outputs)
    _settles_rightly(stage, rows)
    _agrees_with_its_intervals(stage, rows)


def _settles_rightly(stage: ReducedSet, rows: Floats) -> None:
    found, expected = stage.decide(rows), stage.machine.rule.answer(FullSum(stage.machine).outputs(rows))
    assert found.settled is not None
    assert found.settled.mean() > 0.9
    assert set(np.asarray(found.evaluations).tolist()) == set(stage.sizes)
    np.testing.assert_array_equal(found.answers[found.settled], expected[found.settled])


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_row_fares_the_same_in_any_company(outputs: int) -> None:
    stage, rows = _ordinary(outputs)
    whole = stage.decide(rows)
    for some in (slice(0, 1), slice(5, 6), slice(0, 31), slice(17, 300), slice(None, None, -1), slice(1, None, 2)):
        for mine, theirs in zip(stage.decide(rows[some]), whole, strict=True):
            np.testing.assert_array_equal(mine, theirs[some])  # type: ignore[index]


@every_kernel
def test_layouts_types_and_sparse_rows_give_the_same_bits(kernel: Kernel) -> None:
    made, rows = machine(kernel, 70, 5, 3)
    input_map = Affine(np.array([1.0, -2.0, 0.0, 7.0, 0.5]), np.array([0.5, 3.0, -1.0, 2.0, 1.0]))
    stage = ReducedSet.project(replace(made, input_map=input_map), made.points, [20, 70])
    raw = (rows * input_map.scale + input_map.center).astype(np.float32).astype(np.float64)
    raw[:, 2] = 0
    forms: list[Any] = [raw.astype(np.float32), np.asfortranarray(raw), np.repeat(raw, 2, axis=0)[::2]]
    forms += [scipy.sparse.csr_array(raw), scipy.sparse.csr_array(raw.astype(np.float32))]
    for form in forms:
        for level in (0, 1):
            for mine, theirs in zip(_interval(stage, form, level), _interval(stage, raw, level), strict=True):
                np.testing.assert_array_equal(mine, theirs)
        for part, whole in zip(stage.decide(form), stage.decide(raw), strict=True):
            np.testing.assert_array_equal(part, whole)
        np.testing.assert_array_equal(on_numpy(stage).decide(form).settled, on_numpy(stage).decide(raw).settled)
    _contains(stage, raw)


def test_threads_change_nothing() -> None:
    stage, rows = _ordinary(rows=3000)
    core: Any = stage._core
    for found in (
        lambda threads: traced(stage.native(1.0), rows, threads),
        lambda threads: core.interval(rows, 1, threads),
    ):
        for threads in (2, 3, 7):
            for mine, theirs in zip(found(threads), found(1), strict=True):
                np.testing.assert_array_equal(mine, theirs)


def check_instruction_set() -> None:
    """Intervals hold at shapes that fill vectors of all lengths, and answers are those of float64."""
    for kernel in INNER_PRODUCTS:
        for count, features, outputs in [(1, 1, 1), (33, 5, 3), (70, 65, 1)]:
            made, rows = machine(kernel, count, features, outputs)
            _contains(ReducedSet.project(made, made.points, _sizes(count)), rows[::3])
    for outputs in (1, 3):
        _settles_rightly(*_ordinary(outputs))


def _calibrated(stage: ReducedSet, half_widths: Floats) -> CalibratedReducedSet:
    return CalibratedReducedSet(stage.machine, stage.levels, half_widths)


@pytest.mark.parametrize("form", [copy.copy, on_numpy], ids=["native", "numpy"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_caution_scales_measured_half_widths_and_no_others(outputs: int, form: Callable[[Any], Any]) -> None:
    stage, rows = _ordinary(outputs, 200)
    measured: Floats = np.outer([0.5, 0.2, 0.1, 0.05], np.arange(1.0, outputs + 1))
    shares: list[float] = []
    for caution in (0.0, 0.5, 1.0, 4.0, 1e10):
        found = form(_calibrated(stage, measured)).decide(rows, caution)
        for mine, theirs in zip(found, form(_calibrated(stage, caution * measured)).decide(rows), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        shares.append(found.settled.mean())
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > (0.99 if outputs == 1 else 0.7)  # of a vote, rows that some class wins all pairs of
    assert shares[-1] == 0
    for mine, theirs in zip(form(stage).decide(rows, 0.0), form(stage).decide(rows), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("classes", [3, 4, 7, 26])
@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.5, 1.0, 3), Linear()], ids=str)
def test_a_measured_vote_is_settled_by_a_class_that_wins_all_its_pairs(
    kernel: Kernel, classes: int, break_ties: bool
) -> None:
    """Found without working out the other pairs: now and then one is missed, and never is another one found."""
    rng, pairs = np.random.default_rng(classes), classes * (classes - 1) // 2
    first, second = np.triu_indices(classes, 1)
    scores = rng.normal(size=(80, classes))  # differences of which the pairs are, about
    weights = scores[:, first] - scores[:, second] + 0.2 * rng.normal(size=(80, pairs))
    made = by_hand(kernel, rng.normal(size=(80, 3)), weights, 0.0, OneVsOneVote(np.arange(classes), break_ties))
    stage = ReducedSet.project(made, made.points, [40, 80])
    rows = rng.normal(size=(400, 3))
    bold = CalibratedReducedSet(made, stage.levels, np.full((2, pairs), 0.05))
    found, twin = bold.decide(rows), on_numpy(bold).decide(rows)
    settled, could_be = np.asarray(found.settled), np.asarray(twin.settled)
    assert could_be[settled].all()
    assert settled.sum() >= 0.95 * could_be.sum()
    assert could_be.any()
    np.testing.assert_array_equal(found.answers[settled], twin.answers[settled])
    middle, radius = _interval(bold, rows, 1)
    assert isinstance(made.rule, OneVsOneVote)
    champion = made.rule.champion(middle - radius, middle + radius)
    last = settled & (np.asarray(found.evaluations) == 80)
    np.testing.assert_array_equal(found.answers[last], champion[last])


@pytest.mark.parametrize("form", [copy.copy, on_numpy], ids=["native", "numpy"])
def test_a_caution_that_overflows_half_widths_settles_nothing(form: Callable[[Any], Any]) -> None:
    stage, rows = _ordinary(3, 50)
    found = form(_calibrated(stage, np.full((4, 3), 10.0))).decide(rows, 1e308)
    assert not found.settled.any()
    assert (found.evaluations == stage.sizes[-1]).all()


def test_values_are_settled_within_their_tolerance() -> None:
    stage, rows = _ordinary(3, 100)
    made = replace(stage.machine, rule=Value(tolerance=0.5, flat=False))
    values = ReducedSet(made, stage.levels, stage.half_widths)
    for form in (values, on_numpy(values)):
        found = form.decide(rows)
        assert found.settled is not None
        assert found.settled.sum() > 0
        assert (np.abs(found.answers - FullSum(made).outputs(rows))[found.settled] <= 0.5).all()
        last = _interval(form, rows, 3)[0]
        np.testing.assert_array_equal(found.answers[~found.settled], last[~found.settled])


def test_an_output_without_weights_is_its_bias() -> None:
    made, rows = machine(RBF(0.3), 20, 3, 3)
    weights = made.weights.copy()
    weights[:, 1] = 0
    stage = ReducedSet.project(replace(made, weights=weights), made.points[:8], [3, 8])
    assert (stage.half_widths[:, 1] == 0).all()
    for level in (0, 1):
        middle, radius = _interval(stage, rows, level)
        assert (middle[:, 1] == made.bias[1]).all()
        assert (radius[:, 1] <= 1e-11).all()
    _contains(stage, rows)


def test_duplicated_vectors_share_their_weight() -> None:
    made, rows = machine(RBF(0.3), 12, 3)
    plain, twice = (ReducedSet.project(made, np.repeat(made.points, k, axis=0), [12 * k]) for k in (1, 2))
    assert np.abs(twice.levels.weights).sum() <= 2 * np.abs(plain.levels.weights).sum()
    _contains(twice, rows)


def test_projected_weights_are_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    made = by_hand(RBF(0.3), rng.normal(size=(30, 3)), rng.normal(size=30))
    vectors = made.points[:6]
    stage = ReducedSet.project(made, vectors, [4, 6])
    gram = made.kernel.matrix(vectors, vectors)
    g = made.kernel.matrix(vectors, made.points) @ made.weights
    for gamma, k in zip(_levels(stage), stage.sizes, strict=True):
        np.testing.assert_allclose(gamma, np.linalg.solve(gram[:k, :k], g[:k]), rtol=1e-5)
    assert stage.half_widths[1, 0] < stage.half_widths[0, 0]


def test_weights_of_nearly_dependent_vectors_stay_moderate() -> None:
    """Without a ridge they would be about 1e7, and float32 would know nothing of the sum."""
    made, rows = machine(RBF(0.3), 30, 3)
    stage = ReducedSet.project(made, np.vstack([made.points, made.points * (1 + 1e-8)]), [60])
    assert np.abs(stage.levels.weights).sum() < 100 * np.abs(made.weights).sum()
    assert (_interval(stage, rows, 0)[1] < 0.01).all()


def test_it_is_named_by_its_sizes_and_explained() -> None:
    stage, _ = _ordinary()
    assert str(stage) == "reduced_set(10, 20, 40, 200)"
    plan = Plan(stage.machine, Cascade.of(stage, Dense(stage.machine)), Exact(), Source("a test", 300, {}))
    assert "Burges" in explain(plan)


@pytest.mark.parametrize("kernel", UNCERTIFIABLE.values(), ids=UNCERTIFIABLE)
def test_a_kernel_that_is_not_surely_an_inner_product_never_gets_here(kernel: Kernel) -> None:
    points = np.eye(3)
    good = ReducedSet.project(by_hand(Linear(), points, np.ones(3)), points, [3])
    bad = by_hand(kernel, points, np.ones(3))
    with pytest.raises(ValueError, match=r"positive semi-definite|more of a kernel than a Python function tells"):
        ReducedSet.build(bad, points, [np.ones(3)])
    with pytest.raises(ValueError, match=r"positive semi-definite|more of a kernel than a Python function tells"):
        ReducedSet.project(bad, points, [3])
    with pytest.raises(ValueError, match=r"positive semi-definite|more of a kernel than a Python function tells"):
        ReducedSet(bad, good.levels, good.half_widths)
    with pytest.raises(ValueError, match=r"positive semi-definite|more of a kernel than a Python function tells"):
        ReducedSet.restore(bad, *good.state())


def test_what_does_not_fit_is_refused_in_words() -> None:
    made, _ = machine(RBF(0.3), 10, 3, 3)
    ones = np.ones((10, 3))
    with pytest.raises(ValueError, match=r"vectors must be n x 3, n >= 1, got \(10, 2\)"):
        ReducedSet.build(made, made.points[:, :2], [ones])
    with pytest.raises(ValueError, match=r"n >= 1, got \(0, 3\)"):
        ReducedSet.build(made, made.points[:0], [ones])
    with pytest.raises(ValueError, match=r"weights of level 2 must have a column for each of the 3 outputs"):
        ReducedSet.build(made, made.points, [ones[:4], ones[:, :2]])
    with pytest.raises(ValueError, match=r"at most 10 rows, got \(11, 3\)"):
        ReducedSet.build(made, made.points, [np.ones((11, 3))])
    for levels in ([], [ones[:4]], [ones, ones], [ones, ones[:4]], [ones[:0], ones]):
        with pytest.raises(ValueError, match="sizes must"):
            ReducedSet.build(made, made.points, levels)
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        ReducedSet.build(made, np.where(np.arange(30).reshape(10, 3) == 7, np.nan, made.points), [ones])
    for weight in (np.nan, np.inf, 1e300):
        with pytest.raises(CannotFit, match="so large that nothing can be certified"):
            ReducedSet.build(made, made.points, [ones * weight])
    for level in (-1, 1):
        with pytest.raises(ValueError, match="there is no such level"):
            _interval(ReducedSet.build(made, made.points, [ones]), made.points, level)
    with pytest.raises(ValueError, match="sizes must ascend"):
        ReducedSet.project(made, made.points, [3, 5])


def test_a_value_that_is_not_finite_is_named() -> None:
    stage, rows = _ordinary()
    rows[4, 1] = np.inf
    for form in (stage, on_numpy(stage)):
        with pytest.raises(ValueError, match="row 4, column 1 is infinite"):
            form.decide(rows)


def test_no_rows_are_decided_without_complaint() -> None:
    stage, rows = _ordinary()
    for form in (stage, on_numpy(stage)):
        found = form.decide(rows[:0])
        assert (len(found.answers), len(np.asarray(found.evaluations))) == (0, 0)


def test_the_vectors_given_may_change_afterwards() -> None:
    made, rows = machine(RBF(0.3), 10, 3)
    vectors, weights = made.points[:5].copy(), made.weights[:5].copy()
    stage = ReducedSet.build(made, vectors, [weights])
    before = _interval(stage, rows, 0)
    vectors[:], weights[:] = 0, 0
    for mine, theirs in zip(_interval(stage, rows, 0), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_soak_finds_a_certificate_that_is_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    project = ReducedSet.project

    def boastful(made: Machine, vectors: Floats, sizes: list[int]) -> ReducedSet:
        stage = project(made, vectors, sizes)
        return ReducedSet(made, stage.levels, stage.half_widths * 0.5)

    monkeypatch.setattr(ReducedSet, "project", boastful)
    with pytest.raises(soak.Disagreement, match=r"reduced_set"):
        list(soak.soak(200_000))

"""The nearest stage against the paper's definition, in both forms, and against samples made to break it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value
from dormie.methods.fitting import CannotFit
from dormie.methods.nearest import Nearest
from dormie.methods.nearest.sketch import (
    approximate_kernel,
    prediction_slope,
    principal_directions,
    scores,
    sketch_points,
    sketch_rows,
)
from dormie.methods.thresholds import NEVER, Thresholds, positive, relevant
from dormie.numerics.evaluate import FullSum
from tests.methods.stages import on_numpy
from tests.oracles import nearest as naive_nearest
from tests.properties import checks
from tests.properties.strategies import KERNELS, by_hand, machine, rule_for

SHARP = Normalized(Polynomial(1.0, 0.0, 9))
both_forms = pytest.mark.parametrize("form", ["query", "cells"])


def ordinary(outputs: int = 1, count: int = 150, rows: int = 600, kernel: Kernel = SHARP) -> tuple[Machine, Floats]:
    """A machine over two clouds a class, with a kernel whose far terms vanish, and rows from the same clouds."""
    rng = np.random.default_rng([outputs, count])
    classes = 2 if outputs == 1 else 3
    middles = rng.normal(size=(2 * classes, 8))
    points, cloud = _around(rng, middles, count)
    if outputs == 1:
        weights = np.where(cloud % 2, 1.0, -1.0)[:, None] * rng.uniform(0.2, 1, size=(count, 1))
    else:
        first, second = OneVsOneVote(np.arange(classes)).pairs
        mine = (cloud % classes)[:, None]
        weights = ((mine == first) * 1.0 - (mine == second)) * rng.uniform(0.2, 1, size=(count, 1))
    made = Machine(kernel, points, weights, np.full(outputs, 0.05), rule_for(outputs, 2))
    return made, _around(rng, middles, rows)[0]


def _around(rng: np.random.Generator, middles: Floats, count: int) -> tuple[Floats, Any]:
    cloud = rng.integers(len(middles), size=count)
    return middles[cloud] + 0.5 * rng.normal(size=(count, middles.shape[1])), cloud


def _holds_together(stage: Nearest, rows: Floats, slack: float, caution: float = 1.0) -> None:
    """Orders are tugs of war, sums are those of their exact terms, and answers are by the first threshold crossed."""
    made, steps, [factor] = stage.machine, stage.ordering.steps, stage.ordering.foresight
    order, (sums, cells) = stage.order(rows), stage.sums(rows)
    sizes = checks.sizes(made, rows)
    for i, row in enumerate(rows.tolist()):
        if stage.ordering.form == "query":
            expected = naive_nearest.scores(made, stage.ordering.basis, row)
            assert naive_nearest.is_tug_of_war(made, expected, order[i].tolist(), slack)
        predicted = factor * np.array(naive_nearest.approximate_kernel(made, stage.ordering.basis, row))
        exact = np.array(naive_nearest.partial_sums(made, order[i].tolist(), row, predicted.tolist()))[steps]
        predicted_sizes = np.abs(predicted) @ np.abs(made.weights)
        np.testing.assert_allclose(sums[i], exact, rtol=0, atol=slack * (sizes[i].max() + predicted_sizes.max() + 1))
    _decides_by_its_sums(stage, rows, caution, sums, cells)


def _decides_by_its_sums(stage: Nearest, rows: Any, caution: float, sums: Floats, cells: Any) -> None:
    found, rule = stage.decide(rows, caution), stage.machine.rule
    if isinstance(rule, Argmax):  # the largest wins the vote of its differences
        pairs = itertools.combinations(range(sums.shape[2]), 2)
        sums, rule = np.stack([sums[..., a] - sums[..., b] for a, b in pairs], axis=2), OneVsOneVote(rule.classes, True)
    low, high = (stage.thresholds.middle + side * caution * stage.thresholds.half for side in (-1, 1))
    settled = np.zeros(len(cells), dtype=bool)
    for k, count in enumerate(stage.ordering.steps):
        above, below = sums[:, k] > high[k, cells], sums[:, k] < low[k, cells]
        ends = np.where(above, 1.0, -1e9), np.where(below, -1.0, 1e9)
        now = rule.settled(*ends) & ~settled
        np.testing.assert_array_equal(found.answers[now], rule.answer((ends[0] + ends[1]) / 2)[now])
        assert (np.asarray(found.evaluations)[now] == count).all()
        settled |= now
    np.testing.assert_array_equal(found.settled, settled)
    assert (np.asarray(found.evaluations)[~settled] == stage.ordering.steps[-1]).all()
    assert (found.answers[~settled] == -1).all()


@settings(max_examples=60)
@given(
    kernel=st.sampled_from(KERNELS),
    count=st.sampled_from([1, 2, 5, 31, 32, 33, 64, 70]),
    features=st.sampled_from([1, 2, 5, 17]),
    outputs=st.sampled_from([1, 3]),
    form=st.sampled_from(["query", "cells"]),
    budget=st.sampled_from([1, 5, 40, 256]),
    caution=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_native_numpy_and_the_definition_agree(
    kernel: Kernel, count: int, features: int, outputs: int, form: str, budget: int, caution: float, seed: int
) -> None:
    made, rows = machine(kernel, count, features, outputs, seed)
    sample = np.random.default_rng(seed).normal(size=(50, features)) / np.sqrt(features) * 2
    stage = Nearest.fit(made, sample, form=form, budget=budget, cells=3)
    _holds_together(stage, rows, 2e-5, caution)
    _holds_together(on_numpy(stage), rows, 1e-9, caution)


@both_forms
@pytest.mark.parametrize("outputs", [1, 3])
def test_it_settles_most_rows_with_few_terms_and_those_rightly(form: str, outputs: int) -> None:
    made, rows = ordinary(outputs)
    stage = Nearest.fit(made, rows[:300], form=form, components=6, budget=100)
    found, answers = stage.decide(rows[300:]), made.rule.answer(FullSum(made).outputs(rows[300:]))
    assert found.settled is not None
    assert found.settled.mean() > 0.6
    assert (found.answers == answers)[found.settled].mean() > 0.97
    assert np.median(np.asarray(found.evaluations)) < 40
    assert stage.ordering.form == form
    assert str(stage) == f"nearest({form}, 100)"


@both_forms
@pytest.mark.parametrize("window", [0, 1, 4])
def test_thresholds_are_those_of_the_paper(form: str, window: int) -> None:
    made, rows = ordinary()
    rows = rows[:90]
    stage = Nearest.fit(made, rows, form=form, mode="paper", window=window, cells=1, steps=range(1, 41))
    sums, cells = stage.sums(rows)
    assert set(cells.tolist()) == {0}
    up = (FullSum(made).outputs(rows)[:, 0] > 0).tolist()
    found = naive_nearest.thresholds(sums[:, :, 0].tolist(), up, window)
    low, high = np.array(found, dtype=np.float64).T
    middle, half = stage.thresholds.middle[:, 0, 0], stage.thresholds.half[:, 0, 0]
    np.testing.assert_allclose(middle - half, low, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(middle + half, high, rtol=1e-12, atol=1e-12)
    decided = stage.decide(rows)
    for i, row in enumerate(sums[:, :, 0].tolist()):
        ends = list(zip(middle - half, middle + half, strict=True))
        expected = naive_nearest.stop(row, ends)
        assert (None if decided.answers[i] < 0 else int(decided.answers[i])) == (expected and expected[0])
        if expected:
            assert np.asarray(decided.evaluations)[i] == expected[1] + 1


@both_forms
def test_the_papers_thresholds_never_err_on_the_rows_they_came_from(form: str) -> None:
    """Duplicates and rows on the threshold included: it must be passed, not met. Smoothed, no gap is cut through."""
    for outputs in (1, 3):
        made, rows = ordinary(outputs)
        rows = np.repeat(rows[:150], 2, axis=0)
        stage = Nearest.fit(made, rows, form=form, mode="paper", cells=4)
        gap = (stage.thresholds.half == 0).any()
        found, answers = stage.decide(rows), made.rule.answer(FullSum(made).outputs(rows))
        assert np.asarray(found.settled).any()
        if not gap:
            np.testing.assert_array_equal(found.answers[found.settled], answers[found.settled])


def test_a_gap_between_the_thresholds_is_cut_in_the_middle() -> None:
    made = by_hand(RBF(1.0), [[0.0], [4.0]], [1.0, -1.0])
    stage = Nearest.fit(made, np.array([[0.0], [0.2], [3.9], [4.0]]), mode="paper", steps=[2], components=1)
    assert stage.thresholds.half[0, 0, 0] == 0
    low, high = -np.exp(-0.01), np.exp(-0.04)
    np.testing.assert_allclose(stage.thresholds.middle[0, 0, 0], (low + high) / 2, rtol=1e-5)
    assert stage.decide(np.array([[0.1], [4.3], [1.9]])).answers.tolist() == [1, 0, 1]


@both_forms
@pytest.mark.parametrize("mode", ["paper", "calibrated"])
def test_samples_of_one_sign_leave_it_silent(form: str, mode: str) -> None:
    made, rows = ordinary()
    g = FullSum(made).outputs(rows)[:, 0]
    for some in (rows[g > 0][:40], rows[g < 0][:40], rows[:1], np.repeat(rows[:1], 9, axis=0)):
        stage = Nearest.fit(made, some, form=form, mode=mode)
        assert (stage.thresholds.half == NEVER).all()
        for one, caution in ((stage, 1.0), (on_numpy(stage), 1.0), (stage, 1e10)):
            assert not np.asarray(one.decide(rows[:50], caution).settled).any()


def test_a_cell_without_rows_of_a_sign_has_the_thresholds_of_all() -> None:
    made, rows = ordinary()
    stage = Nearest.fit(made, rows, form="cells", mode="paper", cells=12, components=8)
    sums, cells = stage.sums(rows)
    up = FullSum(made).outputs(rows)[:, 0] > 0
    pure = [cell for cell in range(12) if (cells == cell).any() and up[cells == cell].all()]
    assert pure
    whole = sums[~up, :, 0].max(axis=0)
    own = sums[up & (cells == pure[0]), :, 0].min(axis=0)
    middle, half = stage.thresholds.middle[:, pure[0], 0], stage.thresholds.half[:, pure[0], 0]
    np.testing.assert_allclose(middle, (whole + own) / 2)
    np.testing.assert_allclose(half, np.maximum(whole - own, 0) / 2, atol=1e-15)


@both_forms
@pytest.mark.parametrize("outputs", [1, 3])
def test_calibrated_thresholds_are_what_is_to_come_near_the_decision_boundary(form: str, outputs: int) -> None:
    made, rows = ordinary(outputs)
    stage = Nearest.fit(made, rows, form=form, cells=1)
    sums, outs = stage.sums(rows)[0], FullSum(made).outputs(rows)
    for o in range(outputs):
        mine = relevant(made.rule, outs)[:, o]
        near = mine & (np.abs(outs[:, o]) <= np.median(np.abs(outs[mine, o])))
        rest = (outs[:, None] - sums)[near, :, o]
        np.testing.assert_allclose(stage.thresholds.middle[:, 0, o], -rest.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(stage.thresholds.half[:, 0, o], rest.std(axis=0), atol=1e-12)


def test_a_cell_with_few_rows_has_mostly_the_thresholds_of_all() -> None:
    made, rows = ordinary()
    stage, whole = (Nearest.fit(made, rows, form="cells", cells=cells, components=8) for cells in (20, 1))
    sums, cells = stage.sums(rows)
    g = FullSum(made).outputs(rows)[:, 0]
    near = np.abs(g) <= np.median(np.abs(g))
    of_all = (g[near, None] - sums[near, :, 0]).std(axis=0)
    for cell in np.unique(cells[near]):
        mine = near & (cells == cell)
        own = (g[mine, None] - sums[mine, :, 0]).std(axis=0)
        share = mine.sum() / (mine.sum() + 20)
        expected = of_all + share * (own - of_all)
        np.testing.assert_allclose(stage.thresholds.half[:, cell, 0], expected, atol=1e-12)
    assert whole.thresholds.half.shape[1] == 1


@pytest.mark.parametrize("outputs", [1, 3])
def test_predicted_outputs_settle_most_rows_before_their_first_term(outputs: int) -> None:
    made, rows = ordinary(outputs)
    stage = Nearest.fit(made, rows[:300], components=6)
    assert stage.ordering.steps[0] == 0
    assert 0.5 < stage.ordering.foresight[0] < 2
    found, answers = stage.decide(rows[300:], 2), made.rule.answer(FullSum(made).outputs(rows[300:]))
    at_once = np.asarray(found.evaluations) == 0
    assert at_once.mean() > 0.4
    assert (found.answers == answers)[at_once].mean() > 0.98


def test_the_prediction_slope_is_that_of_a_regression_on_the_predicted_outputs() -> None:
    made, rows = ordinary()
    basis, outputs = principal_directions(made.points, 6), FullSum(made).outputs(rows)
    sums = approximate_kernel(made, basis, rows) @ made.weights
    [slope, _] = np.polyfit(sums[:, 0], outputs[:, 0], 1)
    np.testing.assert_allclose(prediction_slope(made, basis, rows, outputs), slope, rtol=1e-9)
    np.testing.assert_allclose(prediction_slope(made, np.eye(8), rows, outputs), 1, rtol=1e-5)
    assert prediction_slope(made, basis, rows[:1], outputs[:1]) == 0


@both_forms
def test_the_paper_predicts_no_terms(form: str) -> None:
    made, rows = ordinary()
    stage = Nearest.fit(made, rows, form=form, mode="paper")
    assert stage.ordering.foresight.tolist() == [0]
    assert stage.ordering.steps[0] == 1
    sums, order = stage.sums(rows[:9])[0], stage.order(rows[:9])
    values = made.kernel.matrix(rows[:9], made.points)
    first = made.bias + made.weights[order[:, 0]] * values[np.arange(9), order[:, 0]][:, None]
    np.testing.assert_allclose(sums[:, 0], first, atol=1e-5)


def one_vs_rest(classes: int = 4, kernel: Kernel = SHARP) -> tuple[Machine, Floats]:
    """A machine with an output for each class, of which the largest is the answer, and rows around its points.

    The outputs have a level in common, so that their signs say nothing.
    """
    rng = np.random.default_rng(classes)
    middles = rng.normal(size=(2 * classes, 8))
    points, cloud = _around(rng, middles, 200)
    weights = np.where((cloud % classes)[:, None] == np.arange(classes), 1.0, -0.3)
    weights = weights * rng.uniform(0.2, 1, size=(200, 1))
    made = Machine(kernel, points, weights, np.full(classes, 5.0), Argmax(np.arange(classes)))
    return made, _around(rng, middles, 700)[0]


@both_forms
@pytest.mark.parametrize("mode", ["paper", "calibrated"])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_largest_of_several_outputs_is_settled_by_differences(form: str, mode: str, classes: int) -> None:
    made, rows = one_vs_rest(classes)
    stage = Nearest.fit(made, rows[:400], form=form, mode=mode, components=6, budget=100, cells=3)
    assert stage.thresholds.middle.shape[2] == classes * (classes - 1) // 2
    answers = made.rule.answer(FullSum(made).outputs(rows[400:]))
    assert set(answers.tolist()) == set(range(classes))
    for one in (stage, on_numpy(stage)):
        found = one.decide(rows[400:], 2.0)
        assert found.settled is not None
        assert found.settled.mean() > 0.4
        assert (found.answers == answers)[found.settled].mean() > 0.96
        _decides_by_its_sums(one, rows[400:], 2.0, *one.sums(rows[400:]))


def test_differences_need_the_winner_to_be_ahead_of_all_others() -> None:
    made = Machine(Linear(), np.eye(3), np.eye(3), np.zeros(3), Argmax(np.array(["a", "b", "c"])))
    fit = Nearest.fit(made, np.eye(3), steps=[3], components=3, mode="paper")
    thresholds = Thresholds(np.array([[[0.0, 0.0, 5.0]]]), np.ones((1, 1, 3)))  # of a - b, a - c, b - c
    stage = Nearest(made, fit.ordering, thresholds)
    rows = np.array([[2.0, 0, 0], [2, 1.5, 0], [0, 2, 0], [0, 9, 0], [0, 2, 4], [-5, -5, 0]])
    for one in (stage, on_numpy(stage)):
        assert one.decide(rows).answers.tolist() == [0, -1, -1, 1, 2, 2]


def test_a_reduced_machine_stops_by_the_signs_of_the_machine_it_stands_in_for() -> None:
    made, rows = ordinary()
    few = replace(made, points=made.points[:60], weights=made.weights[:60], bias=made.bias + 0.3)
    outputs = FullSum(made).outputs(rows)
    for mode in ("paper", "calibrated"):
        stage = Nearest.fit(few, rows[:400], outputs=outputs[:400], mode=mode, components=6)
        assert stage.overhead < Nearest.fit(made, rows[:400], components=6).overhead
        found = stage.decide(rows[400:], 2.0)
        assert found.settled is not None
        assert found.settled.any()
        right = made.rule.answer(outputs[400:])
        own = few.rule.answer(FullSum(few).outputs(rows[400:]))
        assert (found.answers != right)[found.settled].mean() < 0.03 < (own != right).mean()
    sums = stage.sums(rows[:400])[0][:, -1, 0]
    g = outputs[:400, 0]
    near = np.abs(g) <= np.median(np.abs(g))
    np.testing.assert_allclose(stage.thresholds.half[-1, 0, 0], (g - sums)[near].std(), rtol=1e-9)


@both_forms
@pytest.mark.parametrize("outputs", [1, 3])
def test_more_caution_keeps_rows_longer(form: str, outputs: int) -> None:
    made, rows = ordinary(outputs)
    stage = Nearest.fit(made, rows, form=form)
    before = stage.decide(rows, 0.1)
    for caution in (0.5, 1.0, 3.0):
        found = stage.decide(rows, caution)
        assert (np.asarray(found.evaluations) >= np.asarray(before.evaluations)).all()
        assert np.asarray(found.evaluations).sum() > np.asarray(before.evaluations).sum()
        before = found
    fresh = Nearest.fit(made, rows, form=form)
    for part, again in zip(stage.decide(rows, 1.0), fresh.decide(rows), strict=True):
        np.testing.assert_array_equal(part, again)


def test_a_pair_of_classes_has_the_thresholds_of_their_own_rows() -> None:
    made, rows = ordinary(3)
    made = replace(made, rule=OneVsOneVote(np.arange(3)))
    answers = made.rule.answer(FullSum(made).outputs(rows))
    assert set(answers.tolist()) == {0, 1, 2}
    whole, without = (Nearest.fit(made, some, mode="paper") for some in (rows, rows[answers != 2]))
    np.testing.assert_allclose(whole.thresholds.middle[:, :, 0], without.thresholds.middle[:, :, 0], atol=1e-12)
    assert not np.allclose(whole.thresholds.middle[:, :, 1], without.thresholds.middle[:, :, 1])


def test_equal_scores_are_taken_in_the_order_of_the_points() -> None:
    points = np.repeat([[1.0, 0.0], [0.0, 1.0]], 40, axis=0)
    made = by_hand(RBF(1.0), points, np.tile([1.0, -1.0], 40))
    stage = Nearest.fit(made, np.eye(2), components=2, steps=[80])
    for one in (stage, on_numpy(stage)):
        [order] = one.order(np.array([[0.9, 0.1]]))
        assert order[:40].tolist() == [i + j for i in range(0, 40, 2) for j in (0, 1)]
        assert sorted(order.tolist()) == list(range(80))


def test_a_side_that_runs_out_leaves_the_rest_to_the_other() -> None:
    rng = np.random.default_rng(0)
    for weights in ([1.0] * 9, [-1.0] * 9, [3.0] + [-0.1] * 8, [0.0] * 9):
        made = by_hand(RBF(0.3), rng.normal(size=(9, 2)), weights, bias=0.3)
        stage = Nearest.fit(made, rng.normal(size=(30, 2)), components=2)
        rows = rng.normal(size=(5, 2))
        for one in (stage, on_numpy(stage)):
            _holds_together(one, rows, 2e-5)
            assert all(sorted(order) == list(range(9)) for order in one.order(rows).tolist())


def test_one_support_vector_and_fewer_than_the_budget_will_do() -> None:
    rows = np.linspace(-3, 3, 40)[:, None]
    for points, weights in (([[0.5]], [1.0]), ([[0.5], [1.0], [-1.0]], [1.0, -2.0, 0.5])):
        made = by_hand(RBF(0.5), points, weights, bias=-0.3)
        for form in ("query", "cells"):
            stage = Nearest.fit(made, rows, form=form, mode="paper", budget=100)
            assert stage.ordering.steps[-1] == len(points)
            _holds_together(stage, rows, 2e-5)
            answers = made.rule.answer(FullSum(made).outputs(rows))
            found = stage.decide(rows)
            np.testing.assert_array_equal(found.answers[found.settled], answers[found.settled])


def test_constant_outputs_settle_nothing() -> None:
    made = by_hand(Linear(), np.zeros((3, 2)), [1.0, -1.0, 1.0], bias=0.0)
    rows = np.random.default_rng(0).normal(size=(20, 2))
    for form in ("query", "cells"):
        assert not np.asarray(Nearest.fit(made, rows, form=form).decide(rows).settled).any()


def test_the_sketch_keeps_the_points_norms_and_most_of_the_products() -> None:
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(40, 6)) * [5, 3, 1, 0.1, 0.1, 0.1], rng.normal(size=(7, 6))
    basis = principal_directions(points, 3)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.norm(points - points @ basis.T @ basis) < 0.1 * np.linalg.norm(points)
    s, x = sketch_points(basis, points), sketch_rows(basis, rows)
    np.testing.assert_allclose(np.linalg.norm(s, axis=1), np.linalg.norm(points, axis=1))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), np.linalg.norm(rows, axis=1))
    np.testing.assert_allclose(x @ s.T, (rows @ basis.T) @ (points @ basis.T).T, atol=1e-12)
    made = by_hand(RBF(0.1), points, np.ones(40))
    values = approximate_kernel(made, np.eye(6), rows)
    np.testing.assert_allclose(scores(made, values), made.kernel.matrix(rows, points), rtol=1e-6)


@both_forms
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_row_fares_the_same_in_any_company_layout_and_team(form: str, outputs: int) -> None:
    made, rows = ordinary(outputs)
    input_map = Affine(np.linspace(-1, 1, 8), np.linspace(0.5, 2, 8))
    raw = input_map.inverse(rows).astype(np.float32).astype(np.float64)
    raw[::4, 2] = 0
    stage = Nearest.fit(replace(made, input_map=input_map), raw, form=form)
    whole, (sums, cells) = stage.decide(raw), stage.sums(raw)
    layouts: list[Any] = [raw.astype(np.float32), np.asfortranarray(raw), scipy.sparse.csr_array(raw)]
    layouts.append(scipy.sparse.csr_array(raw.astype(np.float32)))
    for layout in layouts:
        np.testing.assert_array_equal(stage.sums(layout)[0], sums)
        for mine, theirs in zip(stage.decide(layout), whole, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(on_numpy(stage).decide(layout).answers, on_numpy(stage).decide(raw).answers)
    for some in (slice(0, 1), slice(5, 6), slice(0, 31), slice(17, 300), slice(None, None, -1)):
        np.testing.assert_array_equal(stage.sums(raw[some])[0], sums[some])
        np.testing.assert_array_equal(stage.sums(raw[some])[1], cells[some])
        for mine, theirs in zip(stage.decide(raw[some]), whole, strict=True):
            np.testing.assert_array_equal(mine, theirs[some])  # type: ignore[index]
    core: Any = stage._core
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(core.sums(np.tile(raw, (10, 1)), threads)[0], np.tile(sums, (10, 1, 1)))


def check_instruction_set() -> None:
    """At shapes that fill registers of all lengths; how soon a row is settled may differ by rounding, sums hardly."""
    for kernel in (SHARP, RBF(0.2), Linear()):
        for count, features in [(1, 1), (33, 5), (70, 65)]:
            made, rows = machine(kernel, count, features)
            for form in ("query", "cells"):
                stage = Nearest.fit(made, np.vstack([made.points, rows]), form=form, budget=40, cells=2)
                _holds_together(stage, rows[::3], 2e-5)


@both_forms
@pytest.mark.parametrize("kernel", [RBF(0.2), SHARP, Polynomial(1.0, 0.0, 9), Linear()], ids=str)
def test_numbers_that_overflow_settle_nothing_and_harm_no_neighbour(form: str, kernel: Kernel) -> None:
    made, rows = machine(kernel, 40, 5)
    stage = Nearest.fit(made, np.vstack([made.points, rows]), form=form)
    huge = np.full((1, 5), 1e200)
    for one in (stage, on_numpy(stage)):
        found = one.decide(np.vstack([rows, huge, rows, huge]), 0)
        assert np.asarray(found.settled)[[9, 19]].tolist() == [False, False]
        for mine, theirs in zip(found, one.decide(rows, 0), strict=True):
            np.testing.assert_array_equal(np.asarray(mine)[:9], theirs)
        assert not np.asarray(one.decide(huge, 0).settled).any()


def test_the_sketch_has_a_price_in_evaluations() -> None:
    made, rows = ordinary()
    assert Nearest.fit(made, rows, components=4).overhead == 4 + 6 * 150 / 8
    assert Nearest.fit(made, rows, components=4, form="cells", cells=3).overhead == 4 + 6 * 3 / 8


def test_steps_and_components_may_be_chosen() -> None:
    made, rows = ordinary()
    stage = Nearest.fit(made, rows)
    assert stage.ordering.steps.tolist() == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 150]
    assert len(stage.ordering.basis) == 2
    assert Nearest.fit(made, rows, budget=10).ordering.steps.tolist() == [0, 1, 2, 3, 4, 6, 8, 10]
    assert Nearest.fit(made, rows, budget=1).ordering.steps.tolist() == [0, 1]
    assert Nearest.fit(made, rows, mode="paper", budget=5).ordering.steps.tolist() == [1, 2, 3, 4, 5]
    assert Nearest.fit(made, rows, steps=[2, 9]).ordering.steps.tolist() == [2, 9]
    assert len(Nearest.fit(made, rows, components=7).ordering.basis) == 7
    assert len(Nearest.fit(made, rows, form="cells").ordering.centers) == 6
    first, second = (Nearest.fit(made, rows, form="cells", seed=seed).ordering.centers for seed in (0, 1))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"form": "grouped"}, "form must be one of 'query', 'cells', got 'grouped'"),
        ({"mode": "bold"}, "mode must be one of 'paper', 'calibrated', got 'bold'"),
        ({"components": 0}, "components must be between 1 and 8, got 0"),
        ({"components": 9}, "components must be between 1 and 8, got 9"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"window": -1}, "window must be at least 0, got -1"),
        ({"cells": 0}, "cells must be at least 1, got 0"),
        ({"steps": [0, 3], "mode": "paper"}, "steps must ascend from at least 1"),
        ({"steps": [0, 3], "form": "cells"}, "steps must ascend from at least 1"),
        ({"steps": [-1, 3]}, "steps must ascend from at least 0"),
        ({"steps": [0]}, "steps must ascend"),
        ({"steps": [3, 3]}, "steps must ascend"),
        ({"steps": [4, 151]}, "at most the 150 points"),
        ({"steps": []}, "steps must be a list"),
    ],
    ids=str,
)
def test_wishes_that_cannot_be_met_are_refused_in_words(wish: dict[str, Any], said: str) -> None:
    made, rows = ordinary()
    with pytest.raises(ValueError, match=said):
        Nearest.fit(made, rows, **wish)


def test_what_it_cannot_serve_is_refused_in_words() -> None:
    made, rows = ordinary()
    with pytest.raises(ValueError, match="no rows to measure"):
        Nearest.fit(made, rows[:0])
    with pytest.raises(ValueError, match="serves classifiers only"):
        Nearest.fit(replace(made, rule=Value()), rows)
    with pytest.raises(ValueError, match="a Python kernel may take any objects"):
        Nearest.fit(replace(made, kernel=Custom(lambda a, b: a @ b.T)), rows)
    with pytest.raises(ValueError, match="no points"):
        Nearest.fit(by_hand(RBF(1.0), np.empty((0, 8)), np.empty(0)), rows)
    with pytest.raises(CannotFit, match="squares overflow"):
        Nearest.fit(replace(made, points=made.points * 1e200), rows)
    for caution in (-1.0, np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match="caution must be a finite number"):
            Nearest.fit(made, rows).decide(rows, caution)  # type: ignore[arg-type]
    rows[4, 1] = np.inf
    for form in ("query", "cells"):
        stage = Nearest.fit(made, rows[10:], form=form)
        for one in (stage, on_numpy(stage)):
            with pytest.raises(ValueError, match="row 4, column 1 is infinite"):
                one.decide(rows)


@both_forms
def test_no_rows_are_decided_without_complaint(form: str) -> None:
    made, rows = ordinary(3)
    stage = Nearest.fit(made, rows, form=form)
    for one in (stage, on_numpy(stage)):
        found = one.decide(rows[:0])
        assert (len(found.answers), len(np.asarray(found.evaluations))) == (0, 0)


@pytest.mark.parametrize("zero", [0, 1])
def test_the_answer_at_zero_goes_with_the_rule(zero: int) -> None:
    """A full output of exactly 0 counts as the sign that the rule gives it."""
    made = by_hand(Linear(), [[1.0], [1.0]], [1.0, -1.0], rule=Sign(np.array([-1, 1]), zero=zero))
    assert positive(made.rule, np.zeros((1, 1)))[0, 0] == bool(zero)
    stage = Nearest.fit(made, np.array([[1.0], [2.0]]), mode="paper", components=1)
    assert (stage.thresholds.half == NEVER).all()

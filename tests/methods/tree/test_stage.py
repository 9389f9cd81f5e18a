"""The tree stage against its definition, native and NumPy, and against rows made to break it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rows import mapped
from dormie.machine.rules import Sign, Value
from dormie.methods.dense import Dense
from dormie.methods.thresholds import NEVER
from dormie.methods.tree import Tree
from dormie.methods.tree.stage import TreeWalk
from dormie.methods.tree.structure import Walk
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.plan.explain import explain
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor
from tests.methods.files import RISK
from tests.methods.stages import on_numpy
from tests.methods.tree.trees import random_tree, small_tree, trees, walked
from tests.properties import checks
from tests.properties.strategies import KERNELS, adversarial_machines, by_hand, machine, rule_for


def _stage(made: Machine, tree: Tree, half_width: float = 0.3) -> TreeWalk:
    return TreeWalk(made, tree, np.full((tree.n_terminals, made.n_outputs), half_width))


def _ordinary(outputs: int = 3, count: int = 900, nodes: int = 60) -> tuple[TreeWalk, Floats]:
    rng = np.random.default_rng(outputs)
    points, rows = rng.normal(size=(80, 2)), rng.normal(size=(count, 2))
    made = Machine(RBF(0.7), points, rng.normal(size=(80, outputs)), np.zeros(outputs), rule_for(outputs, 2))
    tree = random_tree(rng, made.kernel, points, rows[:100], nodes, outputs)
    return TreeWalk(made, tree, rng.uniform(0.1, 1, size=(tree.n_terminals, outputs))), rows


def _follows_the_definition(made: Machine, tree: Tree, rows: Any, walk: Walk) -> None:
    """Every turn is the one that the kernel value tells, unless it is on the threshold up to rounding; and the value is
    that of the terminal's model."""
    x = mapped(made, rows)
    k, sizes = made.kernel.matrix(x, tree.points), checks.term_sizes(made.kernel, x, tree.points)
    rounding = 1e-13 * (sizes + np.abs(tree.thresholds))
    for i, terminal in enumerate(walk.terminals.tolist()):
        path = list(tree.paths[terminal])
        for node, child in zip(path, [*path, ~terminal][1:], strict=True):
            right = 0 if k[i, node] <= tree.thresholds[node] else 1
            on_it = abs(k[i, node] - tree.thresholds[node]) <= rounding[i, node]
            assert tree.children[node, right] == child or (on_it and tree.children[node, 1 - right] == child)
        weights, constants = tree.model(terminal)
        room = 1e-12 * (np.abs(weights).T @ sizes[i, path] + np.abs(constants))
        assert (np.abs(walk.values[i] - (k[i, path] @ weights + constants)) <= room).all()
        assert walk.evaluations[i] == len(path)


def _agrees_with_its_half_widths(stage: TreeWalk, rows: Any, caution: float = 1.0) -> None:
    found, (middle, terminals, evaluations), rule = stage.decide(rows, caution), stage.walk(rows), stage.machine.rule
    radius = caution * stage.half_widths[terminals]
    settled = rule.settled(middle - radius, middle + radius)
    np.testing.assert_array_equal(found.settled, settled)
    expected = middle if isinstance(rule, Value) else np.where(settled, rule.answer(middle), -1)
    np.testing.assert_array_equal(found.answers, expected)
    np.testing.assert_array_equal(found.evaluations, evaluations)
    np.testing.assert_array_equal(stage.estimate(rows), middle)


@settings(max_examples=150)
@given(case=trees(), caution=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_native_and_numpy_follow_the_definition(case: tuple[Machine, Tree, Floats], caution: float) -> None:
    made, tree, rows = case
    stage = _stage(made, tree)
    for form in (stage, on_numpy(stage)):
        _follows_the_definition(made, tree, rows, form.walk(rows))
        _agrees_with_its_half_widths(form, rows, caution)


@settings(max_examples=100)
@given(case=trees(), cut=st.integers(0, 40), threads=st.integers(1, 4))
def test_a_rows_bits_are_its_own(case: tuple[Machine, Tree, Floats], cut: int, threads: int) -> None:
    """Not those of its batch, of its place in it, of its layout, or of the threads."""
    made, tree, rows = case
    rows = rows.astype(np.float32).astype(np.float64)
    core: Any = _stage(made, tree)._core
    whole = core.walk(rows, 1)
    alone = [np.concatenate(parts) for parts in zip(*(core.walk(row[None], 1) for row in rows), strict=True)]
    halves = [np.concatenate(parts) for parts in zip(core.walk(rows[:cut], 1), core.walk(rows[cut:], 1), strict=True)]
    forms = [
        alone,
        halves,
        [part[::-1] for part in core.walk(rows[::-1], 1)],
        core.walk(np.asfortranarray(rows), threads),
        core.walk(rows.astype(np.float32), threads),
        core.walk(scipy.sparse.csr_array(rows), threads),
        [part[-len(rows) :] for part in core.walk(np.vstack([rows[:5] * 1e200, rows]), threads)],
    ]
    for form in forms:
        for mine, theirs in zip(form, whole, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("outputs", [1, 3])
def test_threads_and_blocks_change_nothing(outputs: int) -> None:
    stage, rows = _ordinary(outputs, 10_000)
    core: Any = stage._core
    one = core.walk(rows, 1)
    for threads in (2, 3):
        for mine, theirs in zip(core.walk(rows, threads), one, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    small = [np.concatenate(parts) for parts in zip(*(core.walk(part, 1) for part in np.split(rows, 40)), strict=True)]
    for mine, theirs in zip(small, one, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert len(set(one[1].tolist())) > 20
    _agrees_with_its_half_widths(stage, rows)


def test_layouts_and_sparse_rows_give_the_same_decisions() -> None:
    stage, rows = _ordinary()
    rows[::3, 1] = 0
    rows = rows.astype(np.float32).astype(np.float64)
    forms: list[Any] = [rows.astype(np.float32), np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]]
    forms += [scipy.sparse.csr_array(rows), scipy.sparse.csr_array(rows.astype(np.float32))]
    for each in (stage, on_numpy(stage)):
        whole = each.decide(rows)
        for form in forms:
            for mine, theirs in zip(each.decide(form), whole, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def check_instruction_set() -> None:
    """Rows, paths and outputs that fill vectors of all lengths; and no row is moved by its neighbours."""
    for kernel in KERNELS:
        for features, nodes, outputs in [(1, 3, 1), (7, 30, 3), (8, 9, 2), (15, 20, 1), (33, 12, 1), (65, 40, 5)]:
            made, rows = machine(kernel, 20, features, outputs)
            rng = np.random.default_rng(features)
            rows = np.vstack([rows, rng.normal(size=(22, features))])
            tree = random_tree(rng, kernel, made.points, rows, nodes, outputs)
            stage = _stage(made, tree)
            whole = stage.walk(rows)
            _follows_the_definition(made, tree, rows, whole)
            for i in range(len(rows)):
                for mine, theirs in zip(stage.walk(rows[i : i + 1]), whole, strict=True):
                    np.testing.assert_array_equal(mine[0], theirs[i])


def test_a_single_terminal_answers_all_rows_alike() -> None:
    made = by_hand(RBF(1.0), [[0.0, 0.0]], [1.0])
    tree = Tree(
        np.empty((0, 2)), np.empty(0), np.empty((0, 2), int), np.zeros(2, int), np.empty((0, 1)), np.ones((1, 1))
    )
    for form in (_stage(made, tree), on_numpy(_stage(made, tree))):
        found = form.decide(np.zeros((5, 2)))
        assert found.answers.tolist() == [1] * 5
        assert np.asarray(found.evaluations).tolist() == [0] * 5
        assert not np.asarray(_stage(made, tree, 1.5).decide(np.zeros((5, 2))).settled).any()
    assert str(_stage(made, tree)) == "tree(0 nodes)"


def test_a_point_alone_is_met_by_all_rows() -> None:
    made = by_hand(Linear(), [[2.0]], [1.0])
    ones = np.ones((1, 1))
    tree = Tree(2 * ones, np.zeros(1), np.array([[~0, ~0]]), np.array([0, 1]), 3 * ones, -6 * ones)
    rows = np.array([[-1.0], [0.0], [1.0], [1.2]])
    for form in (_stage(made, tree, 0.5), on_numpy(_stage(made, tree, 0.5))):
        np.testing.assert_allclose(form.estimate(rows)[:, 0], [-12, -6, 0, 1.2])
        assert form.decide(rows).answers.tolist() == [0, 0, -1, 1]
        assert np.asarray(form.decide(rows).evaluations).tolist() == [1] * 4
    assert str(_stage(made, tree)) == "tree(1 node)"


def test_a_value_on_the_threshold_goes_left() -> None:
    made, ones = by_hand(Linear(), [[2.0]], [1.0]), np.ones((2, 1))
    tree = Tree(ones[:1], 2 * ones[0], np.array([[~0, ~1]]), np.arange(3), ones, ones)
    rows = np.array([[2.0], [np.nextafter(2, 3)], [-2.0]])
    for form in (_stage(made, tree), on_numpy(_stage(made, tree))):
        assert form.walk(rows).terminals.tolist() == [0, 1, 0]


def test_a_path_longer_than_any_vector_is_walked_to_its_end() -> None:
    rng = np.random.default_rng(0)
    made, n = by_hand(RBF(0.5), rng.normal(size=(300, 2)), rng.normal(size=300)), 300
    children = np.column_stack([~np.arange(n), np.arange(1, n + 1)])
    children[-1, 1] = ~n
    offsets = np.concatenate([[0], np.cumsum([*range(1, n + 1), n])])
    weights = rng.normal(size=(int(offsets[-1]), 1))
    tree = Tree(made.points, rng.uniform(0, 1e-3, size=n), children, offsets, weights, rng.normal(size=(n + 1, 1)))
    rows = rng.normal(size=(200, 2))
    walk = _stage(made, tree).walk(rows)
    _follows_the_definition(made, tree, rows, walk)
    assert walk.evaluations.max() > 200


def test_more_caution_settles_fewer_rows_and_all_of_them_alike() -> None:
    for outputs in (1, 3):
        stage, rows = _ordinary(outputs)
        before = stage.decide(rows, 0)
        assert before.settled is not None
        assert before.settled.all()
        for caution in (0.5, 1.0, 4.0):
            found = stage.decide(rows, caution)
            assert found.settled is not None
            assert before.settled.sum() > found.settled.sum() > 0
            assert not (found.settled & ~before.settled).any()
            np.testing.assert_array_equal(found.answers[found.settled], before.answers[found.settled])
            before = found
        fresh = TreeWalk(stage.machine, stage.tree, stage.half_widths).decide(rows)
        for mine, theirs in zip(stage.decide(rows, 1.0), fresh, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_terminal_that_may_never_settle_does_not_however_bold() -> None:
    stage, rows = _ordinary(1)
    half_widths = stage.half_widths.copy()
    half_widths[::2] = NEVER
    silent = TreeWalk(stage.machine, stage.tree, half_widths)
    for caution in (0.0, 1e-300, 1.0, 1e300):
        for form in (silent, on_numpy(silent)):
            settled, terminals = np.asarray(form.decide(rows, caution).settled), form.walk(rows).terminals
            assert not settled[terminals % 2 == 0].any()
            assert settled[terminals % 2 == 1].any() == (caution < 1e300)


def test_half_widths_are_the_mean_errors_of_the_rows_that_end_there() -> None:
    stage, rows = _ordinary(3, 400)
    made, tree = stage.machine, stage.tree
    found = TreeWalk.calibrated(made, tree, rows)
    error, terminals = stage.estimate(rows) - FullSum(made).outputs(rows), stage.walk(rows).terminals
    overall = (error**2).mean(axis=0)
    for t in range(tree.n_terminals):
        mine = error[terminals == t]
        expected = np.sqrt(((mine**2).sum(axis=0) + 10 * overall) / (len(mine) + 10))
        np.testing.assert_allclose(found.half_widths[t], expected, rtol=1e-9)
    assert (np.bincount(terminals, minlength=tree.n_terminals) == 0).any()
    assert (found.half_widths > 0).all()
    again = TreeWalk.calibrated(made, tree, rows, FullSum(made).outputs(rows) + 1)
    assert (again.half_widths > found.half_widths).any()


def test_a_tree_that_is_the_machine_leaves_no_width() -> None:
    made, rows = machine(RBF(0.3), 1, 2)
    tree = Tree(made.points, np.zeros(1), np.array([[~0, ~0]]), np.array([0, 1]), made.weights, made.bias[None])
    stage = TreeWalk.calibrated(made, tree, rows)
    assert (stage.half_widths <= 1e-15).all()
    np.testing.assert_array_equal(stage.decide(rows).answers, made.rule.answer(FullSum(made).outputs(rows)))


def test_there_must_be_rows_to_measure_on() -> None:
    stage, rows = _ordinary()
    with pytest.raises(ValueError, match="tree: there are no rows to measure half-widths on"):
        TreeWalk.calibrated(stage.machine, stage.tree, rows[:0])


def test_values_are_settled_where_half_widths_are_within_the_tolerance() -> None:
    stage, rows = _ordinary(3)
    made = replace(stage.machine, rule=Value(0.6, flat=False))
    values = TreeWalk(made, stage.tree, stage.half_widths)
    for form in (values, on_numpy(values)):
        found = form.decide(rows)
        narrow = (form.half_widths[form.walk(rows).terminals] <= 0.6).all(axis=1)
        np.testing.assert_array_equal(found.settled, narrow)
        assert 0 < narrow.sum() < len(rows)
        np.testing.assert_array_equal(found.answers, form.estimate(rows))


def test_rows_far_outside_meet_kernel_values_of_0() -> None:
    made, rows = machine(RBF(0.2), 20, 3)
    tree = random_tree(np.random.default_rng(1), made.kernel, made.points, rows, 15, 1)
    far = np.array([[1e160, 0, 0], [-1e300, 1e300, 5]])
    for form in (_stage(made, tree), on_numpy(_stage(made, tree))):
        walk = form.walk(far)
        np.testing.assert_array_equal(walk.values, tree.constants[walk.terminals])
        np.testing.assert_array_equal(walk.terminals, form.walk(np.full((2, 3), 1e5)).terminals)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(1.0, 1.0, 3), Normalized(Polynomial(1.0, 1.0, 3)), Normalized(Linear())], ids=str
)
def test_what_overflows_settles_nothing(kernel: Any) -> None:
    made, rows = machine(kernel, 20, 3)
    tree = random_tree(np.random.default_rng(1), kernel, made.points, rows, 15, 1)
    huge = np.array([[1e300, 1e300, 0.0], [1e300, -1e300, 0.0], [1e200, 0.0, 1e308]])
    stage = TreeWalk(made, Tree(tree.points * 1e10, *_but_points(tree)), np.zeros((tree.n_terminals, 1)))
    for form in (stage, on_numpy(stage)):
        unknown = ~np.isfinite(form.estimate(huge)).all(axis=1)
        assert unknown.any()
        assert not np.asarray(form.decide(huge).settled)[unknown].any()


def _but_points(tree: Tree) -> tuple[Any, ...]:
    return tree.thresholds, tree.children, tree.offsets, tree.weights, tree.constants


@settings(max_examples=150)
@given(case=adversarial_machines(), seed=st.integers(0, 1000))
def test_numbers_at_the_edges_of_floating_point_do_no_harm(case: tuple[Machine, Floats], seed: int) -> None:
    made, rows = case
    rng = np.random.default_rng(seed)
    points = made.points if made.n_points else np.ones((1, rows.shape[1]))
    with np.errstate(all="ignore"):
        tree = random_tree(rng, made.kernel, points, mapped(made, rows), 9, made.n_outputs)
        stage = _stage(made, tree)
        for form in (stage, on_numpy(stage)):
            found, estimate = form.decide(rows), form.estimate(rows)
            assert found.settled is not None
            assert np.isfinite(estimate[found.settled]).all()
            np.testing.assert_array_equal(found.evaluations, tree.depths[form.walk(rows).terminals])


def _spectrum(a: Any, b: Any) -> Floats:
    """Pairs of letters that two words share."""

    def pairs(word: str) -> list[str]:
        return [word[i : i + 2] for i in range(len(word) - 1)]

    return np.array([[sum(pairs(v).count(p) for p in pairs(u)) for v in b] for u in a], dtype=np.float64)


WORDS = ["banana", "bandana", "ananas", "cabana", "tree", "street", "steep", "reed", "seed", "an", ""]


@pytest.mark.parametrize("form", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_words_are_decided_by_a_python_kernel(form: Any) -> None:
    rng = np.random.default_rng(0)
    made = by_hand(Custom(_spectrum), WORDS[:8], rng.normal(size=8), 0.1, Sign(np.array(["-", "+"])))
    tree = random_tree(rng, made.kernel, WORDS, WORDS, 6, 1)
    stage = TreeWalk.calibrated(made, tree, form(WORDS))
    values = stage.estimate(form(WORDS))
    for word, value, terminal in zip(WORDS, values, stage.walk(form(WORDS)).terminals, strict=True):
        expected, end, _ = walked(tree, made.kernel, [word])
        assert (value.tolist(), terminal) == (pytest.approx(expected), end)
    _agrees_with_its_half_widths(stage, form(WORDS), 0.5)
    for caution in (0.0, 1e9):
        cascade = Cascade((stage, Dense(made)), (caution, 1.0))
        predictor = Predictor(Plan(made, cascade, RISK, Source("words", 8, {})))
        outputs = values if caution == 0 else FullSum(made).outputs(WORDS)
        labels = made.rule.labels(made.rule.answer(outputs))
        np.testing.assert_array_equal(predictor.predict(np.array(WORDS)), labels)
    with pytest.raises(ValueError, match="tree: over a Python function as kernel it cannot be saved"):
        stage.state()


def test_kernels_without_geometry_are_welcome() -> None:
    made, rows = machine(Sigmoid(0.3, -0.2), 20, 3)
    tree = random_tree(np.random.default_rng(1), made.kernel, made.points, rows, 15, 1)
    assert np.asarray(TreeWalk.calibrated(made, tree, rows).decide(rows, 0.1).settled).any()


def test_an_input_map_is_applied_to_rows_and_not_to_points() -> None:
    stage, rows = _ordinary(1)
    input_map = Affine(np.array([3.0, -1.0]), np.array([0.5, 4.0]))
    scaled = TreeWalk(replace(stage.machine, input_map=input_map), stage.tree, stage.half_widths)
    rows = rows[100:]  # the others are on thresholds, and rounding may move them
    for form in (scaled, on_numpy(scaled)):
        np.testing.assert_allclose(form.estimate(input_map.inverse(rows)), stage.estimate(rows), rtol=1e-6, atol=1e-6)


def test_a_value_that_is_not_finite_is_named() -> None:
    stage, rows = _ordinary()
    for value, word in ((np.nan, "NaN"), (-np.inf, "infinite")):
        rows[4, 1] = value
        for form in (stage, on_numpy(stage)):
            for use in (form.decide, form.walk, form.estimate):
                with pytest.raises(ValueError, match=f"row 4, column 1 is {word}"):
                    use(rows)


def test_no_rows_are_decided_without_complaint() -> None:
    stage, rows = _ordinary()
    for form in (stage, on_numpy(stage)):
        assert [np.shape(part) for part in form.decide(rows[:0])] == [(0,)] * 4  # type: ignore[arg-type]
        assert form.estimate(rows[:0]).shape == (0, 3)


def test_what_does_not_fit_is_refused_in_words() -> None:
    stage, rows = _ordinary()
    made, tree, widths = stage.machine, stage.tree, stage.half_widths
    with pytest.raises(ValueError, match="it gives 2 outputs, the machine has 3"):
        TreeWalk(made, small_tree(), np.ones((3, 2)))
    with pytest.raises(ValueError, match="half_widths must be float64 of shape"):
        TreeWalk(made, tree, widths[:-1])
    with pytest.raises(ValueError, match="half_widths must not be negative"):
        TreeWalk(made, tree, -widths)
    with pytest.raises(ValueError, match="half_widths is not finite"):
        TreeWalk(made, tree, widths * np.inf)
    with pytest.raises(ValueError, match=r"points must be float64 of shape \(60, 2\), got float64 \(60, 3\)"):
        TreeWalk(made, Tree(np.zeros((60, 3)), *_but_points(tree)), widths)
    with pytest.raises(ValueError, match="points must be float64 of shape"):
        TreeWalk(made, Tree(["word"] * 60, *_but_points(tree)), widths)
    for caution in (-1.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(ValueError, match="caution must be a finite number"):
            stage.decide(rows, caution)  # type: ignore[arg-type]


def test_it_is_never_certified_named_by_its_nodes_and_explained() -> None:
    stage, _ = _ordinary()
    assert not stage.certified
    assert str(stage) == "tree(60 nodes)"
    assert stage.described(1.5) == "tree(60 nodes; caution 1.5)"
    stages, source = (stage, Dense(stage.machine)), Source("a test", 80, {})
    assert "Ukkonen" in explain(Plan(stage.machine, Cascade.of(*stages), RISK, source))
    with pytest.raises(ValueError, match="tree"):
        Plan(stage.machine, Cascade.of(*stages), Exact(), source)

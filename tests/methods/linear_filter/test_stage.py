"""The linear_filter stage against its definition, and against rows and machines made to break it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from dormie.errors import PlanFileError
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Linear, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value
from dormie.methods.dense import Dense
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.linear_filter.fitting import LinearMachine
from dormie.methods.thresholds import NEVER, Thresholds
from dormie.numerics import backend as native
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK, Change, assert_comes_back, put, set_at
from tests.methods.stages import on_numpy
from tests.oracles import full_sum as naive
from tests.plan.file.plans import with_stage_arrays, written
from tests.properties.strategies import KERNELS, by_hand, machine, rule_for

NAMES = ("vectors", "bias", "middle", "half")


def _ordinary(outputs: int = 1, rows: int = 900, seed: int = 0) -> tuple[Machine, Floats]:
    """A machine that is nearly linear, and rows around its decision boundary."""
    rng = np.random.default_rng([outputs, seed])
    points, directions = rng.normal(size=(120, 4)), rng.normal(size=(4, outputs))
    weights = points @ directions + 0.3 * rng.normal(size=(120, outputs))
    made = Machine(Polynomial(0.1, 1.0, 3), points, weights, 0.1 * rng.normal(size=outputs), rule_for(outputs, 2))
    return made, rng.normal(size=(rows, 4))


def _by_definition(stage: LinearFilter, row: Floats, caution: float) -> int | None:
    """The class by the thresholds that a row's linear outputs are beyond."""
    arrays = stage.state()[1]
    vectors, bias, middle, half = (arrays[name] for name in NAMES)
    known = []
    for v, b, m, h in zip(vectors.tolist(), bias.tolist(), middle.tolist(), half.tolist(), strict=True):
        f = sum(x * w for x, w in zip(row.tolist(), v, strict=True)) + b
        known.append(1 if f > m + caution * h else -1 if f < m - caution * h else 0)
    rule = stage.machine.rule
    if isinstance(rule, Sign):
        return {1: 1, -1: 0, 0: None}[known[0]]
    worst, best = (np.array([k or fill for k in known], dtype=np.float64) for fill in (-1e9, 1e9))
    low, high = np.where(np.array(known) > 0, 1.0, worst)[None], np.where(np.array(known) < 0, -1.0, best)[None]
    return int(rule.answer((low + high) / 2)[0]) if rule.settled(low, high)[0] else None


@settings(max_examples=60)
@given(
    outputs=st.sampled_from([1, 3, 6]),
    features=st.sampled_from([1, 3, 8, 17, 70]),
    kernel=st.sampled_from(KERNELS),
    caution=st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    seed=st.integers(0, 1000),
)
def test_native_numpy_and_the_definition_agree(
    outputs: int, features: int, kernel: Any, caution: float, seed: int
) -> None:
    made, rows = machine(kernel, 30, features, outputs, seed)
    fit_rows = np.random.default_rng(seed).normal(size=(80, features))
    stage = LinearFilter.fit(made, fit_rows)
    expected = [_by_definition(stage, row, caution) for row in rows]
    for form in (stage, on_numpy(stage)):
        found = form.decide(rows, caution)
        assert found.settled is not None
        assert [int(a) if s else None for a, s in zip(found.answers, found.settled, strict=True)] == expected
        np.testing.assert_allclose(
            form.estimate(rows), rows @ stage.linear.vectors.T + stage.linear.bias, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("outputs", [1, 3, 6])
def test_it_settles_most_rows_and_those_rightly(outputs: int) -> None:
    made, rows = _ordinary(outputs)
    stage = LinearFilter.fit(made, rows[:500])
    found, answers = stage.decide(rows[500:], 2), made.rule.answer(FullSum(made).outputs(rows[500:]))
    assert found.settled is not None
    assert found.settled.mean() > 0.3
    assert (found.answers == answers)[found.settled].mean() > 0.97
    assert (found.answers[~found.settled] == -1).all()
    assert (np.asarray(found.evaluations) == outputs).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_more_caution_settles_fewer_rows_and_all_of_them_alike(outputs: int) -> None:
    made, rows = _ordinary(outputs)
    stage = LinearFilter.fit(made, rows)
    before = stage.decide(rows, 0.25)
    for caution in (0.5, 1.0, 2.0, 8.0):
        found = stage.decide(rows, caution)
        assert found.settled is not None
        assert before.settled is not None
        assert not (found.settled & ~before.settled).any()
        np.testing.assert_array_equal(found.answers[found.settled], before.answers[found.settled])
        before = found
    fresh = LinearFilter.fit(made, rows).decide(rows)
    np.testing.assert_array_equal(stage.decide(rows, 1.0).settled, fresh.settled)


def test_thresholds_are_mean_and_deviations_of_the_values_of_the_wrong_sign() -> None:
    made, rows = _ordinary()
    stage = LinearFilter.fit(made, rows)
    _check_thresholds(stage, stage.estimate(rows)[:, 0], FullSum(made).outputs(rows)[:, 0])


def _check_thresholds(stage: LinearFilter, f: Floats, g: Floats) -> None:
    high, low = f[(g < 0) & (f > 0)], f[(g >= 0) & (f < 0)]
    top, bottom = high.mean() + 2 * high.std(), low.mean() - 2 * low.std()
    np.testing.assert_allclose(stage.thresholds.middle, [(top + bottom) / 2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stage.thresholds.half, [(top - bottom) / 2], rtol=1e-9)


def test_the_papers_filter_is_a_linear_svm_with_the_papers_thresholds() -> None:
    made, rows = _ordinary()
    g = FullSum(made).outputs(rows)[:, 0]
    stage = LinearFilter.fit(made, rows, mode="paper")
    f = stage.estimate(rows)[:, 0]
    _check_thresholds(stage, f, g)
    spread = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())  # rows of mean square length 1, C = 1
    svm = LinearSVC(C=1, loss="squared_hinge", dual=False, intercept_scaling=1e3, tol=1e-8, max_iter=10_000)
    svm.fit(rows / spread, g > 0)
    np.testing.assert_allclose(f, svm.decision_function(rows / spread), atol=1e-3 * np.abs(f).max())


@pytest.mark.parametrize("outputs", [3, 6])
def test_the_papers_filter_serves_several_outputs(outputs: int) -> None:
    made, rows = _ordinary(outputs)
    stage = LinearFilter.fit(made, rows[:500], mode="paper")
    found, answers = stage.decide(rows[500:]), made.rule.answer(FullSum(made).outputs(rows[500:]))
    assert found.settled is not None
    assert found.settled.mean() > 0.3
    assert (found.answers == answers)[found.settled].mean() > 0.9


def test_rows_without_a_slope_give_the_papers_filter_a_constant() -> None:
    made, rows = _ordinary()
    g = FullSum(made).outputs(rows)[:, 0]
    for some in (rows[g > 0], np.repeat(rows[:1], 7, axis=0)):
        stage = LinearFilter.fit(made, some, mode="paper")
        assert not stage.linear.vectors.any()
        assert not np.asarray(stage.decide(rows).settled).any()


def test_the_mode_of_the_filter_is_checked() -> None:
    made, rows = _ordinary()
    with pytest.raises(ValueError, match="mode must be one of 'paper', 'calibrated', got 'svm'"):
        LinearFilter.fit(made, rows, mode="svm")


def _fitted_by_hand(rows: Floats, g: Floats) -> Floats:
    """Outputs: rounds of ridge regression to what falls short, then a line through those near the decision boundary."""
    d = rows.shape[1]
    centered = rows - rows.mean(axis=0)
    ridge = 0.1 * (centered**2).sum() / d
    goal = g
    for _ in range(10):
        stacked = np.vstack([centered, np.sqrt(ridge) * np.eye(d)])
        vector = np.linalg.lstsq(stacked, np.append(goal - goal.mean(), np.zeros(d)), rcond=None)[0]
        f = centered @ vector + goal.mean()
        goal = np.where(np.sign(g) * f > np.abs(g), f, g)
    near = np.abs(g) <= np.median(np.abs(g))
    return np.asarray(np.polyval(np.polyfit(f[near], g[near], 1), f))


@pytest.mark.parametrize("count", [900, 3])  # with fewer rows than features: the dual form
def test_the_vector_fits_what_falls_short(count: int) -> None:
    made, rows = _ordinary()
    rows = rows[:count]
    expected = _fitted_by_hand(rows, FullSum(made).outputs(rows)[:, 0])
    np.testing.assert_allclose(LinearFilter.fit(made, rows).estimate(rows)[:, 0], expected, rtol=1e-7, atol=1e-9)


def test_outputs_that_go_beyond_are_no_error() -> None:
    """Where an output grows no further, a line that does is as good: it is not bent to meet the far rows."""
    made = by_hand(Sigmoid(1.0), [[1.0]], [1.0])
    rows = np.linspace(-4, 4, 401)[:, None]
    f, g = LinearFilter.fit(made, rows).estimate(rows)[:, 0], FullSum(made).outputs(rows)[:, 0]
    plain = float(rows[:, 0] @ g / (rows[:, 0] @ rows[:, 0]))
    assert f[-1] > 1.5 * 4 * plain


def test_a_pair_is_fitted_on_the_rows_of_its_two_classes() -> None:
    """Rows of a third class, wherever they are, change neither its vector nor its thresholds."""
    made, rows = _ordinary(3)
    made = replace(made, rule=OneVsOneVote(np.arange(3)))
    answers = made.rule.answer(FullSum(made).outputs(rows))
    assert set(answers.tolist()) == {0, 1, 2}
    whole, without = (LinearFilter.fit(made, some).state()[1] for some in (rows, rows[answers != 2]))
    for name in NAMES:
        np.testing.assert_array_equal(whole[name][0], without[name][0])
        assert not np.array_equal(whole[name][1], without[name][1])


def test_an_input_map_is_in_the_vectors() -> None:
    made, rows = _ordinary()
    input_map = Affine(np.array([1e6, -2.0, 0.0, 7.0]), np.array([0.5, 3.0, -1.0, 2.0]))
    plain = LinearFilter.fit(made, rows)
    scaled = LinearFilter.fit(replace(made, input_map=input_map), input_map.inverse(rows))
    for stage in (scaled, on_numpy(scaled)):
        np.testing.assert_allclose(stage.estimate(input_map.inverse(rows)), plain.estimate(rows), rtol=1e-6, atol=1e-6)


def test_rows_of_one_sign_alone_leave_it_silent() -> None:
    made, rows = _ordinary()
    g = FullSum(made).outputs(rows)[:, 0]
    for some in (rows[g > 0], rows[g < 0], np.zeros((5, 4)), rows[:1], np.repeat(rows[:1], 7, axis=0)):
        stage = LinearFilter.fit(made, some)
        assert (stage.thresholds.half == NEVER).all()
        for form, caution in ((stage, 1.0), (on_numpy(stage), 1.0), (stage, 1e10)):
            assert not np.asarray(form.decide(rows * 100, caution).settled).any()


def test_without_values_of_the_wrong_sign_a_margin_remains() -> None:
    made = by_hand(Linear(), [[1.0, 0.0]], [1.0])
    rows = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    stage = LinearFilter.fit(made, rows)
    assert 0 < stage.thresholds.half[0] < 0.2
    assert stage.decide(rows).answers.tolist() == [0, 0, 1, 1]
    assert not np.asarray(stage.decide(rows, 100).settled).any()


def test_constant_outputs_settle_nothing_wrongly() -> None:
    """No slope at all: the linear machine is one number, and it is wrong for half of the rows."""
    made = by_hand(Polynomial(1.0, 0.0, 2), [[1.0], [0.5]], [1.0, 1.0], bias=-1.0)
    rows = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    stage = LinearFilter.fit(made, rows)
    assert not np.asarray(stage.decide(rows).settled).any()


def test_duplicated_rows_change_nothing() -> None:
    made, rows = _ordinary()
    once, twice = (LinearFilter.fit(made, some).state()[1] for some in (rows, np.repeat(rows, 2, axis=0)))
    for name in NAMES:
        np.testing.assert_allclose(once[name], twice[name], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 6])
def test_layouts_company_threads_and_sparse_rows_give_the_same_bits(outputs: int) -> None:
    made, rows = _ordinary(outputs)
    rows[::3, 1] = 0
    rows = rows.astype(np.float32).astype(np.float64)
    stage = LinearFilter.fit(made, rows)
    core: Any = stage._core
    whole, values = stage.decide(rows), core.outputs(rows)
    forms: list[Any] = [rows.astype(np.float32), np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]]
    forms += [scipy.sparse.csr_array(rows), scipy.sparse.csr_array(rows.astype(np.float32))]
    for form in forms:
        np.testing.assert_array_equal(core.outputs(form), values)
        np.testing.assert_allclose(stage.estimate(form), values, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(stage.decide(form).answers, whole.answers)
        np.testing.assert_array_equal(on_numpy(stage).decide(form).answers, whole.answers)
    for some in (slice(0, 1), slice(7, 80), slice(None, None, -1)):
        np.testing.assert_array_equal(core.outputs(rows[some]), values[some])
        np.testing.assert_array_equal(stage.decide(rows[some]).answers, whole.answers[some])
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(core.outputs(np.tile(rows, (40, 1)), threads), np.tile(values, (40, 1)))


def check_instruction_set() -> None:
    """Every length of row fills the registers rightly."""
    for features in (1, 3, 7, 8, 9, 16, 31, 33, 64, 100):
        made, rows = machine(RBF(0.2), 20, features, 6)
        stage = LinearFilter.fit(made, np.random.default_rng(0).normal(size=(40, features)))
        np.testing.assert_allclose(stage.estimate(rows), on_numpy(stage).estimate(rows), rtol=1e-10, atol=1e-13)


def test_what_overflows_settles_nothing() -> None:
    made, rows = _ordinary()
    fitted = LinearFilter.fit(made, rows)
    stage = LinearFilter(made, replace(fitted.linear, vectors=np.full((1, 4), 1e200)), fitted.thresholds)
    huge = np.array([[1e200, 1e200, 0, 0], [1e200, -1e200, 0, 0], [1.0, 0, 0, 0]])
    for form in (stage, on_numpy(stage)):
        assert np.asarray(form.decide(huge, 0).settled).tolist() == [False, False, True]


@pytest.mark.parametrize("zero", [0, 1])
def test_an_output_on_the_threshold_is_not_beyond_it(zero: int) -> None:
    made = by_hand(RBF(1.0), [[0.0]], [1.0], rule=Sign(np.array([-1, 1]), zero=zero))
    stage = LinearFilter(made, LinearMachine(np.ones((1, 1)), np.zeros(1)), Thresholds(np.zeros(1), np.ones(1)))
    rows = np.array([[1.0], [-1.0], [np.nextafter(1, 2)], [-np.nextafter(1, 2)]])
    for form in (stage, on_numpy(stage)):
        assert form.decide(rows).answers.tolist() == [-1, -1, 1, 0]


def test_the_largest_of_several_outputs_is_told_by_signs() -> None:
    made = Machine(RBF(1.0), np.zeros((1, 3)), np.ones((1, 3)), np.zeros(3), Argmax(np.arange(3)))
    stage = LinearFilter(made, LinearMachine(np.eye(3), np.zeros(3)), Thresholds(np.zeros(3), np.ones(3)))
    rows = np.array([[2.0, -2, -2], [-2, -2, 3], [2, 2, -2], [2, -2, 0.5], [-2, -2, -2]])
    for form in (stage, on_numpy(stage)):
        assert form.decide(rows).answers.tolist() == [0, 2, -1, -1, -1]


def test_kernels_without_geometry_are_welcome() -> None:
    made, rows = _ordinary()
    stage = LinearFilter.fit(replace(made, kernel=Sigmoid(0.1, 0.0)), rows)
    assert np.asarray(stage.decide(rows).settled).any()


def test_what_does_not_fit_is_refused_in_words() -> None:
    made, rows = _ordinary()
    with pytest.raises(ValueError, match="no rows to fit"):
        LinearFilter.fit(made, rows[:0])
    with pytest.raises(ValueError, match="serves classifiers only"):
        LinearFilter.fit(replace(made, rule=Value()), rows)
    with pytest.raises(ValueError, match="a Python kernel may take any objects"):
        LinearFilter.fit(replace(made, kernel=Custom(lambda a, b: a @ b.T)), rows)
    for caution in (-1.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(ValueError, match="caution must be a finite number"):
            LinearFilter.fit(made, rows).decide(rows, caution)  # type: ignore[arg-type]
    rows[4, 1] = np.nan
    for form in (LinearFilter.fit(made, rows[10:]), on_numpy(LinearFilter.fit(made, rows[10:]))):
        with pytest.raises(ValueError, match="row 4, column 1 is NaN"):
            form.decide(rows)


def test_no_rows_are_decided_without_complaint() -> None:
    made, rows = _ordinary(3)
    for form in (LinearFilter.fit(made, rows), on_numpy(LinearFilter.fit(made, rows))):
        assert len(form.decide(rows[:0]).answers) == 0


def _plan() -> tuple[Plan, Floats]:
    made, rows = _ordinary(3)
    cascade = Cascade((LinearFilter.fit(made, rows), Dense(made)), (1.5, 1.0))
    return Plan(made, cascade, RISK, Source("a test", 120, {})), rows


def test_a_plan_with_a_filter_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


CHANGES: dict[str, Change] = {
    **{f"{name} empty": put(name, np.ones((0, 4))) for name in NAMES},
    **{f"{name} short": put(name, np.ones(2)) for name in NAMES},
    **{f"{name} wide": put(name, np.ones((3, 5))) for name in NAMES},
    **{f"{name} a number": put(name, 1.0) for name in NAMES},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in NAMES},
    **{f"{name} infinite": set_at(name, -1, np.inf) for name in NAMES},
    **{f"{name} missing": lambda arrays, name=name: {n: a for n, a in arrays.items() if n != name} for name in NAMES},  # type: ignore[misc]
    "vectors of float32": lambda arrays: arrays | {"vectors": arrays["vectors"].astype(np.float32)},
    "half negative": set_at("half", 1, -1e-9),
    "one array more": put("extra", np.ones(3)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_no_fit_gave_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    with pytest.raises(ValueError, match="linear_filter"):
        LinearFilter.restore(plan.machine, {}, arrays)


@pytest.mark.parametrize("numbers", [{"caution": 1.0}, {"certified": False}, {"budget": 3}], ids=str)
def test_numbers_that_no_stage_has_are_refused(numbers: dict[str, Any], tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = plan.stages[0].state()[1]
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays, numbers)))


def test_the_native_core_checks_for_itself() -> None:
    made, _ = _ordinary(3)
    kept = native.native_machine(made)
    assert kept is not None
    for vectors, bias in ((np.ones((3, 5)), np.ones(3)), (np.ones((2, 4)), np.ones(3)), (np.ones((3, 4)), np.ones(2))):
        with pytest.raises(ValueError, match="do not fit"):
            native.extension.LinearFilter(kept, vectors, bias)
    with pytest.raises(ValueError, match="threshold for each output"):
        native.extension.LinearFilter(kept, np.ones((3, 4)), np.ones(3)).stage(np.ones(3), np.ones(2))


def test_naive_outputs_are_what_it_is_fitted_to() -> None:
    """A machine that is linear is met: what the ridge flattens, the line makes up for."""
    made = by_hand(Linear(), [[1.0, -1.0], [0.5, 2.0]], [1.0, 1.0], bias=0.25)
    rows = np.random.default_rng(0).normal(size=(300, 2))
    gap = LinearFilter.fit(made, rows).estimate(rows) - naive.outputs(made, rows)
    assert np.abs(gap).max() < 0.1

"""The refinement stage against its definition, with and without the native core, in files and damaged ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.errors import PlanFileError
from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Polynomial
from dormie.machine.rules import Probability, Sign, Value, ValueRule
from dormie.machine.rules.probability import Calibrated, Platt
from dormie.methods.dense import Dense
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.refinement import Refinement
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive
from dormie.plan.file import load as load_plan
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import unparse
from dormie.plan.plan import Plan, Source
from dormie.predictor.cascade import run, run_in_python
from tests.methods.files import RISK, assert_comes_back
from tests.methods.stages import on_numpy
from tests.oracles import full_sum as naive
from tests.plan.file.plans import written

_EPSILON = 0.1
_RANDOM = np.random.default_rng(0)
_POINTS, _ROWS = _RANDOM.normal(size=(60, 3)), _RANDOM.normal(size=(200, 3))
_RULES: dict[str, ValueRule] = {
    "value": Value(_EPSILON),
    "values": Value(_EPSILON, flat=False),
    "probability": Probability(Calibrated(Sign(np.arange(2)), (Platt(-2.0, 0.1),)), _EPSILON),
}


def _machine(rule: ValueRule, outputs: int = 1) -> Machine:
    weights = np.random.default_rng(1).normal(size=(60, outputs))
    return Machine(RBF(0.5), _POINTS, weights, np.full(outputs, 0.2), rule)


def _stage(name: str) -> Refinement:
    made = _machine(_RULES[name], 2 if name == "values" else 1)
    together = np.vstack([np.zeros((12, made.n_outputs)), made.weights[12:52]])
    levels = Levels.of(_POINTS[:52], [made.weights[:12], together], made.n_outputs)
    return Refinement(made, levels, 0.15, 0.02)


@pytest.mark.parametrize("name", _RULES)
@pytest.mark.parametrize("core", ["native", "numpy"])
@pytest.mark.parametrize("caution", [0.0, 0.3, 1.0, 3.0])
def test_rows_are_settled_where_the_step_is_small(name: str, core: str, caution: float) -> None:
    stage = _stage(name) if core == "native" else on_numpy(_stage(name))
    made, rule = stage.machine, _RULES[name]
    coarse, fine = (
        rule.values(np.asarray(naive.outputs(replace(made, points=_POINTS[part], weights=made.weights[part]), _ROWS)))
        for part in (slice(0, 12), slice(12, 52))
    )
    half_widths = caution * (0.15 * np.abs(fine - coarse).max(axis=1) + 0.02)
    found = stage.decide(_ROWS, caution)
    assert found.settled is not None
    np.testing.assert_allclose(found.answers, fine, atol=1e-5)
    clear = np.abs(half_widths - _EPSILON) > 1e-4
    assert np.array_equal(found.settled[clear], (half_widths <= _EPSILON)[clear])
    assert (np.asarray(found.evaluations) == 52).all()
    if caution == 1.0:
        assert 0 < found.settled.sum() < len(_ROWS)


@settings(deadline=None)
@given(st.lists(st.integers(0, 199), min_size=1, max_size=40), st.sampled_from(list(_RULES)), st.integers(1, 3))
def test_a_row_has_the_same_answer_in_any_batch(places: list[int], name: str, threads: int) -> None:
    stage = _stage(name)
    whole, part = stage.decide(_ROWS), stage.decide(_ROWS[places])
    np.testing.assert_array_equal(part.answers, whole.answers[places])
    assert whole.settled is not None
    assert part.settled is not None
    np.testing.assert_array_equal(part.settled, whole.settled[places])
    cascade = _plan(stage).cascade
    if cascade.native is not None:
        found = run(cascade, _ROWS[places], threads)
        expected = run_in_python(cascade, _ROWS)
        np.testing.assert_array_equal(found.answers, expected.answers[places])
        np.testing.assert_array_equal(found.settled_by, np.asarray(expected.settled_by)[places])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([RBF(0.5), RBF(1e-3), Polynomial(0.3, 1.0, 3), Linear()]),
    st.sampled_from([1, 3, 40, 70]),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([(1, 2), (12, 52), (32, 64), (60, 300), (256, 700)]),
    st.sampled_from([None, 2.0]),
)
def test_both_cores_have_the_same_sums(
    kernel: Kernel, features: int, outputs: int, sizes: tuple[int, int], scale: float | None
) -> None:
    """One pass over few features and one output, panels for others: coarse sets end anywhere in a panel."""
    random = np.random.default_rng([features, outputs, *sizes])
    vectors, rows = random.normal(size=(sizes[1], features)), random.normal(size=(133, features))
    weights = [random.normal(size=(size, outputs)) for size in sizes]
    weights[1][: sizes[0]] = 0
    input_map = None if scale is None else Affine(np.ones(features), np.full(features, scale))
    made = Machine(kernel, vectors[:1], weights[0][:1], np.arange(outputs), Value(1.0, flat=False), input_map)
    stage = Refinement(made, Levels.of(vectors, weights, outputs), 1.0, 0.0)
    fine, steps = stage.values(rows)
    expected, expected_steps = on_numpy(stage).values(rows)
    size = 1 + np.abs(made.kernel.matrix(rows, vectors)).max() * sum(np.abs(each).sum() for each in weights)
    np.testing.assert_allclose(fine, expected, atol=1e-5 * size)
    np.testing.assert_allclose(steps, expected_steps, atol=1e-5 * size)
    decided = stage.decide(rows)
    np.testing.assert_array_equal(decided.answers, fine)
    np.testing.assert_array_equal(decided.settled, stage.expected_errors(steps) <= 1.0)
    for row, value in zip(rows[:9], fine, strict=False):
        np.testing.assert_array_equal(stage.values(row[None])[0][0], value)


@pytest.mark.parametrize("name", _RULES)
def test_rows_out_of_range_are_left_open(name: str) -> None:
    """Sums that overflow tell nothing; where all kernel values of a far row are 0, its value is the bias."""
    near, far = _stage(name), np.full((2, 3), 1e300)
    stage = Refinement(replace(near.machine, kernel=Linear()), near.levels, 0.0, 0.0)
    settled = stage.decide(far).settled
    assert settled is not None
    assert not settled.any()
    np.testing.assert_array_equal(near.values(far)[0], _RULES[name].values(np.full((2, near.machine.n_outputs), 0.2)))
    with pytest.raises(ValueError, match="caution must be a finite number"):
        stage.decide(_ROWS, float("nan"))


def test_chances_fall_with_what_is_expected_of_a_row() -> None:
    stage = _stage("value")
    outputs = np.asarray(naive.outputs(stage.machine, _ROWS))
    chances = stage.chances(_ROWS, outputs)
    expected = stage.expected_errors(stage.values(_ROWS)[1])
    order = np.argsort(expected)
    assert (np.diff(chances[order]) >= 0).all()
    assert 0 <= chances.min() <= chances.max() <= 1
    ratios = np.abs(stage.values(_ROWS)[0] - outputs)[:, 0] / expected
    row = int(order[100])
    assert chances[row] == pytest.approx((ratios * expected[row] > _EPSILON).mean(), abs=0.011)


def _plan(stage: Refinement) -> Plan:
    cascade = Cascade((stage, Dense(stage.machine)), (0.7, 1.0))
    return Plan(stage.machine, cascade, replace(RISK, tolerance=_EPSILON), Source("by hand", 60))


@pytest.mark.parametrize("name", _RULES)
def test_it_comes_back_from_a_file(name: str, tmp_path: Path) -> None:
    assert_comes_back(_plan(_stage(name)), _ROWS, tmp_path / "plan.dormie")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": -1.0}, "finite and not negative"),
        ({"floor": -1.0}, "finite and not negative"),
        ({"slope": 1}, "another stage"),
        ({"more": 1.0}, "another stage"),
    ],
)
def test_forged_numbers_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    document = describe(_plan(_stage("value")))
    document.schema["stages"][0]["numbers"] |= change
    with pytest.raises(PlanFileError, match=message):
        load_plan(written(tmp_path, b"".join(archive.encode(unparse(document)))))


def test_what_does_not_fit_is_refused() -> None:
    stage = _stage("value")
    with pytest.raises(ValueError, match="two levels"):
        Refinement(stage.machine, Levels.of(_POINTS[:4], [np.ones((4, 1))], 1), 1.0, 0.0)
    with pytest.raises(ValueError, match="give tolerance="):
        Refinement(stage.machine.changed(rule=Value()), stage.levels, 1.0, 0.0)
    with pytest.raises(ValueError, match="settles values"):
        Refinement(stage.machine.changed(rule=Sign(np.arange(2))), stage.levels, 1.0, 0.0)


def check_instruction_set() -> None:
    """Values are those of NumPy, and so is what is settled clear of the border."""
    for name in _RULES:
        stage, twin = _stage(name), on_numpy(_stage(name))
        (found, steps), (expected, steps_in_numpy) = stage.values(_ROWS), twin.values(_ROWS)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        np.testing.assert_allclose(steps, steps_in_numpy, atol=1e-4)
        clear = np.abs(stage.expected_errors(steps) - _EPSILON) > 1e-4
        settled, in_numpy = (np.asarray(each.decide(_ROWS).settled)[clear] for each in (stage, twin))
        np.testing.assert_array_equal(settled, in_numpy)

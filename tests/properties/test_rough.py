"""Rows projected in float: as near as stated to the real ones, each with bits of its own, and none answered wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Matern
from dormie.machine.preparation import Arithmetic, Normalize, Preparation, Projection, Step
from dormie.machine.rules import OneVsOneVote, Rule, Sign, Value
from dormie.numerics import backend
from dormie.numerics.rough import most_rough_error
from dormie.numerics.source_sum import SourceSum
from dormie.predictor.cascade import run, run_in_python
from tests.properties import checks

pytestmark = pytest.mark.skipif(backend.extension is None, reason="rows are prepared in float by the native core alone")
UNIT = 2.0**-53
COLUMNS, RESULT = 300, 24
WIDE, LABELS = RBF(0.05), Sign([0, 1])
ADVERSARIAL = ["everyday", "sparse", "cancels", "huge", "tiny", "denormal", "spread", "one", "zero", "negative zero"]


def _machine(
    steps: list[Step], kernel: Kernel = WIDE, rule: Rule = LABELS, length: float = 1.0, **more: Any
) -> Machine:
    """A machine over points of about this length, behind steps; of three classes if the rule has as many."""
    rng, outputs = np.random.default_rng(0), 3 if isinstance(rule, OneVsOneVote) else 1
    width, result = steps[0].columns, Preparation(steps[0].columns, steps).result
    points = rng.normal(size=(120, result)) * (length / np.sqrt(result))
    weights = rng.normal(size=(120, outputs))
    return Machine(kernel, points, weights, np.full(outputs, 0.05), rule, preparation=Preparation(width, steps), **more)


def _projection(columns: int = COLUMNS, result: int = RESULT, size: float = 1.0) -> Projection:
    return Projection(np.random.default_rng(1).normal(size=(columns, result)) * (size / np.sqrt(columns)))


def _rows(kind: str, columns: int = COLUMNS, count: int = 30) -> Floats:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(count, columns))
    match kind:
        case "sparse":
            rows *= rng.random(size=rows.shape) < np.linspace(0, 1, count)[:, None]
        case "cancels":  # numbers so large that the sums that are left are a small part of them
            rows += 10.0 ** np.linspace(-1, 9, count)[:, None]
        case "huge":  # RBF values of rows still further out are 0, and so are their laid-out numbers
            rows *= 10.0 ** np.linspace(20, 130, count)[:, None]
        case "tiny":
            rows *= 10.0 ** -np.linspace(20, 300, count)[:, None]
        case "denormal":
            rows[:, ::2] *= 1e-41  # in float; those beside them are ordinary
        case "spread":
            rows *= 10.0 ** rng.uniform(-40, 1, size=rows.shape)
        case "one":
            rows = np.zeros_like(rows)
            rows[np.arange(count), np.arange(count) * 7 % columns] = rng.normal(size=count)
        case "zero":
            rows[:] = 0.0
        case "negative zero":
            rows = np.where(rng.random(size=rows.shape) < 0.8, -0.0, rows)
    return rows


def _laid_out(made: Machine, rows: Any, rough: bool, threads: int = 1) -> tuple[Floats, Floats]:
    core = backend.native_machine(made)
    assert core is not None
    mapped, reaches = core.laid_out(rows, rough, threads)
    return np.asarray(mapped), np.asarray(reaches)


def _real(made: Machine, row: Floats) -> list[Fraction]:
    """The mapped row in rational arithmetic."""
    assert made.preparation is not None
    numbers = [Fraction(float(x)) for x in row]
    for step in made.preparation.steps:
        match step:
            case Projection(matrix):
                terms = [[x * Fraction(float(a)) for a in column] for x, column in zip(numbers, matrix, strict=True)]
                numbers = [sum(term, Fraction(0)) for term in zip(*terms, strict=True)]
            case Arithmetic("subtract", values):
                numbers = [x - Fraction(float(v)) for x, v in zip(numbers, values, strict=True)]
            case Arithmetic("divide", values):
                numbers = [x / Fraction(float(v)) for x, v in zip(numbers, values, strict=True)]
    if made.input_map is None:
        return numbers
    center, scale = made.input_map.center, made.input_map.scale
    return [(x - Fraction(float(c))) / Fraction(float(s)) for x, c, s in zip(numbers, center, scale, strict=True)]


def _distance(found: Floats, real: list[Fraction]) -> float:
    square = sum(((Fraction(float(a)) - b) ** 2 for a, b in zip(found, real, strict=True)), Fraction(0))
    return math.sqrt(square)


MACHINES = {
    "projection": _machine([_projection()]),
    "several parts": _machine([_projection(700, 9)]),
    "centered": _machine([_projection(), Arithmetic("subtract", np.linspace(-1, 1, RESULT))]),
    "whitened": _machine([_projection(), Arithmetic("divide", np.linspace(0.3, 2, RESULT))]),
    "scaled before": _machine([Arithmetic("divide", np.linspace(0.5, 2, COLUMNS)), _projection()]),
    "mapped": _machine([_projection()], input_map=Affine(np.linspace(-1, 1, RESULT), np.linspace(0.4, 3, RESULT))),
    "small points": _machine([_projection(size=1e-5)], kernel=RBF(5e8), length=1e-5),
    "large points": _machine([_projection(size=1e5)], kernel=RBF(5e-12), length=1e5),
}


@pytest.mark.parametrize("kind", ADVERSARIAL)
@pytest.mark.parametrize("name", MACHINES)
def test_rows_are_as_near_as_stated_to_the_real_ones(name: str, kind: str) -> None:
    """Margins count twice the reach: what the source's rounding and the projection in float do together."""
    made = MACHINES[name]
    assert made.preparation is not None
    scale = 1.0 if made.input_map is None else float(made.input_map.scale.min())
    rows = _rows(kind, made.preparation.columns, 10)
    mapped, reaches = _laid_out(made, rows, True)
    for row, found, reach in zip(rows, mapped, reaches, strict=True):
        if np.isfinite(reach):
            assert _distance(found, _real(made, row)) * scale <= 2 * reach * made.preparation.unit_error * UNIT * 1.001


def test_the_bound_is_nearly_reached() -> None:
    """The first product is 1 and the others, a little less than half its unit, are lost one by one."""
    columns, result = 128, 32
    matrix = np.zeros((columns, result))
    matrix[:, 0] = 2.0**-12 * (1 - 2.0**-20)
    matrix[0, 0] = 1.0
    made = _machine([Projection(matrix)])
    mapped, reaches = _laid_out(made, matrix[:, :1].T.copy(), True)
    assert made.preparation is not None
    bound = 2 * reaches[0] * made.preparation.unit_error * UNIT
    assert 0.9 * bound <= _distance(mapped[0], _real(made, matrix[:, 0])) <= bound


@pytest.mark.parametrize(("name", "least"), [*((name, 0.9) for name in MACHINES)])
def test_ordinary_rows_are_prepared_roughly(name: str, least: float) -> None:
    made = MACHINES[name]
    assert made.preparation is not None
    rows = _rows("everyday", made.preparation.columns)
    rough, precise = _laid_out(made, rows, True)[0], _laid_out(made, rows, False)[0]
    assert (rough != precise).any(axis=1).mean() >= least
    np.testing.assert_allclose(rough, precise, atol=1e-3 * np.abs(precise).max())


@pytest.mark.parametrize(
    "made",
    [
        _machine([_projection(size=1e6)]),
        _machine([_projection()], kernel=Linear()),
        _machine([_projection()], kernel=Matern(0.5, 0.5)),
        _machine([_projection()], rule=Value(0.01)),
        _machine([_projection(30, 5)]),
        _machine([_projection(), Normalize("l2", RESULT)]),
    ],
    ids=["cancels", "linear", "by differences", "values", "small", "normalized behind it"],
)
def test_where_it_would_not_do_rows_are_prepared_as_ever(made: Machine) -> None:
    assert made.preparation is not None
    rows = _rows("everyday", made.preparation.columns)
    for rough, precise in zip(_laid_out(made, rows, True), _laid_out(made, rows, False), strict=True):
        np.testing.assert_array_equal(rough, precise)


def test_machines_whose_outputs_cancel_take_no_rough_rows() -> None:
    """Where weights are a million times the outputs, the margin of a rough row would leave it open."""
    made = MACHINES["projection"]
    signs = np.where(np.arange(120) % 2, 1e6, -1e6)[:, None]
    points = np.repeat(made.points[::2], 2, axis=0) + 1e-9 * made.points
    assert most_rough_error(replace(made, points=points, weights=signs)) < 1e-3 * most_rough_error(made)


def test_rows_that_cancel_are_told_apart_one_by_one() -> None:
    made, rows = MACHINES["projection"], _rows("cancels")
    differs = (_laid_out(made, rows, True)[0] != _laid_out(made, rows, False)[0]).any(axis=1)
    assert differs[:3].all()
    assert not differs[-10:].any()


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_bits_of_a_row_are_its_own(kind: str) -> None:
    made, rows = MACHINES["centered"], _rows(kind)
    if kind == "cancels":
        rows = rows[np.random.default_rng(3).permutation(len(rows))]
    rows = np.asarray(rows.astype(np.float32), dtype=np.float64) if kind == "everyday" else rows
    alone = [np.concatenate(parts) for parts in zip(*(_laid_out(made, row[None], True) for row in rows), strict=True)]
    forms: dict[str, Any] = {
        "batch": _laid_out(made, rows, True),
        "reversed": [part[::-1] for part in _laid_out(made, rows[::-1], True)],
        "csr": _laid_out(made, checks.csr(rows), True),
        "beside dense rows": [
            part[: len(rows)] for part in _laid_out(made, np.vstack([rows, _rows("everyday")]), True)
        ],
        "three threads": [part[: len(rows)] for part in _laid_out(made, np.resize(rows, (900, COLUMNS)), True, 3)],
        "columns first": _laid_out(made, np.asfortranarray(rows), True),
    }
    if kind == "everyday":
        forms["float32"] = _laid_out(made, rows.astype(np.float32), True)
    for form, found in forms.items():
        for mine, theirs in zip(alone, found, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=form)


def _near_the_boundary(fast: Any, rows: Floats) -> Floats:
    """Rows between two of other answers, halved until they are nearly the same."""
    first, second = rows[::2].copy(), rows[1::2].copy()
    answers = fast.predict(first)
    other = answers != fast.predict(second)
    first, second, answers = first[other], second[other], answers[other]
    found = [first, second]
    for _ in range(52):
        middle = (first + second) / 2
        same = (fast.predict(middle) == answers)[:, None]
        first, second = np.where(same, middle, first), np.where(same, second, middle)
        found.append(middle)
    return np.vstack(found)


@pytest.mark.parametrize(
    ("rule", "method"), [(OneVsOneVote(["a", "b", "c"]), "champion"), (Sign(["a", "b"]), "reduced_set")]
)
def test_exact_plans_answer_as_the_source_however_near_the_boundary(rule: Any, method: str) -> None:
    made = _machine([_projection()], kernel=RBF(0.5), rule=rule)
    fast = dormie.compile(made, _rows("everyday", count=400), methods=[method])
    assert method in str(fast.plan.cascade)
    rows = np.vstack([_near_the_boundary(fast, _rows("everyday", count=40)), _rows("sparse"), _rows("cancels")])
    own = made.rule.labels(made.rule.answer(SourceSum(made).outputs(rows)))
    np.testing.assert_array_equal(fast.predict(rows), own)
    assert (fast.trace(rows).stage == method).any()


@pytest.mark.parametrize("risk", [None, 0.02])
def test_the_native_cascade_is_that_of_python(risk: float | None) -> None:
    """A stage that takes rows so, one that does not and the full sum: the bits are those of each stage alone."""
    made = _machine([_projection()], kernel=RBF(0.5), rule=OneVsOneVote(["a", "b", "c"]))
    rows = np.random.default_rng(5).normal(size=(3000, COLUMNS))
    fast = dormie.compile(made, rows, risk=risk, methods=None if risk else ["champion"])
    rows = np.vstack([rows[:300], _near_the_boundary(fast, rows[:40]), _rows("cancels"), _rows("sparse")])
    native, twin = run(fast.plan.cascade, rows), run_in_python(fast.plan.cascade, rows)
    np.testing.assert_array_equal(native.answers, twin.answers)
    np.testing.assert_array_equal(native.settled_by, twin.settled_by)
    np.testing.assert_array_equal(native.evaluations, twin.evaluations)

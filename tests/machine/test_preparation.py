"""Steps before the input map: what they do, how far rounding takes them, and which columns may be NaN."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine import Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.preparation import (
    Arithmetic,
    Binarize,
    Clip,
    Columns,
    Impute,
    Normalize,
    Preparation,
    Projection,
    Step,
)
from dormie.machine.rows import check_rows, mapped, mapped_norms, require_finite, unmapped
from dormie.machine.rules import Sign

RNG = np.random.default_rng(3)
UNIT = Fraction(1, 2**53)


@st.composite
def preparations(draw: Any) -> Preparation:
    """Up to five steps over two to six columns, none of which compares rounded numbers."""
    columns = width = draw(st.integers(2, 6))
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, width - 1))
        count = draw(st.integers(1, width - at))
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        size = 10.0 ** draw(st.integers(-3, 3))
        step: Step
        match draw(st.sampled_from(["arithmetic", "columns", "projection", "clip", "normalize", "impute"])):
            case "arithmetic":
                operation = draw(st.sampled_from(["subtract", "divide", "multiply", "add"]))
                step = Arithmetic(operation, random.uniform(0.1, 1, size=count) * size, at)
            case "columns":
                step = Columns(random.integers(0, count, size=draw(st.integers(1, 4))), count, at)
            case "projection":
                step = Projection(random.normal(size=(count, draw(st.integers(1, 9)))) * size, at)
            case "clip":
                step = Clip(-size, size, count, at)
            case "normalize":
                step = Normalize("l2", count, at)
            case _:
                step = Impute(random.normal(size=count), at=at)
        steps.append(step)
        width += step.result - step.columns
    return Preparation(columns, steps)


def exact(preparation: Preparation, row: list[Fraction]) -> list[Fraction]:
    """The prepared row in real numbers, but for square roots, of which 60 digits are right."""
    for step in preparation.steps:
        part = row[step.at : step.at + step.columns]
        row = [*row[: step.at], *_exact_step(step, part), *row[step.at + step.columns :]]
    return row


def _exact_step(step: Step, part: list[Fraction]) -> list[Fraction]:
    match step:
        case Arithmetic(operation, values):
            numbers = [Fraction(float(v)) for v in values]
            does: Any = {
                "subtract": lambda x, v: x - v,
                "add": lambda x, v: x + v,
                "multiply": lambda x, v: x * v,
                "divide": lambda x, v: x / v,
            }[operation]
            return [does(x, v) for x, v in zip(part, numbers, strict=True)]
        case Columns(which):
            return [part[j] for j in which.tolist()]
        case Projection(matrix):
            return [
                sum((x * Fraction(float(a)) for x, a in zip(part, column, strict=True)), Fraction(0))
                for column in matrix.T
            ]
        case Clip(low, high):
            return [min(max(x, Fraction(low)), Fraction(high)) for x in part]
        case Normalize():
            root = _root(sum((x * x for x in part), Fraction(0)))
            return [x / root for x in part] if root > Fraction(2.2e-15) else part
    return part


def _root(x: Fraction) -> Fraction:
    scale = 10**60
    square = x * scale * scale
    return Fraction(math.isqrt(square.numerator // square.denominator), scale)


@given(preparations(), st.integers(0, 2**32), st.integers(-3, 3))
def test_prepared_rows_are_as_near_as_stated_to_what_they_are_in_real_numbers(
    preparation: Preparation, seed: int, power: int
) -> None:
    rows = np.random.default_rng(seed).normal(size=(3, preparation.columns)) * 10.0**power
    found, errors = preparation.with_errors(rows)
    np.testing.assert_array_equal(found, preparation(rows))
    for row, got, error in zip(rows, found, errors, strict=True):
        if not np.isfinite(error):
            continue
        real = exact(preparation, [Fraction(float(x)) for x in row])
        off = sum(((Fraction(float(a)) - b) ** 2 for a, b in zip(got, real, strict=True)), Fraction(0))
        assert off <= (Fraction(float(error)) * UNIT) ** 2 + Fraction(1, 10**110)


@given(preparations(), st.integers(0, 2**32))
def test_other_orders_and_inverses_stay_within_the_errors(preparation: Preparation, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(4, preparation.columns))
    found, errors = preparation.with_errors(rows)
    x = rows
    for step in preparation.steps:
        part = x[:, step.at : step.at + step.columns]
        other = part @ step.matrix if isinstance(step, Projection) else step.of_sparse(part)
        x = np.hstack([x[:, : step.at], other, x[:, step.at + step.columns :]])
    known = np.isfinite(errors)
    assert (np.linalg.norm(found - x, axis=1)[known] <= 2 * errors[known] * 2.0**-53 * (1 + 1e-9)).all()


@pytest.mark.filterwarnings("error")
def test_a_number_added_may_be_0() -> None:
    assert Arithmetic("subtract", [0.0, 2.0]).stretch == 1.0


def test_rows_are_prepared_alike_whatever_the_rows_beside_them() -> None:
    preparation = Preparation(300, [Projection(RNG.normal(size=(300, 7)))])
    rows = RNG.normal(size=(600, 300)) * (RNG.random(size=(600, 300)) < 0.3)
    together = preparation(rows)
    for i in (0, 255, 256, 599):
        np.testing.assert_array_equal(preparation(rows[[i]])[0], together[i])


def test_a_norm_near_the_least_that_is_scaled_tells_nothing() -> None:
    normalize = Preparation(1, [Normalize("l2", 1)])
    least = 10 * np.finfo(np.float64).eps
    rows = np.array([[0.0], [least / 2], [least * (1 - 1e-10)], [least * (1 + 1e-10)], [least * 2]])
    found, errors = normalize.with_errors(rows)
    np.testing.assert_array_equal(found, [[0.0], rows[1], rows[2], [1.0], [1.0]])
    assert np.isfinite(errors).tolist() == [True, True, False, False, True]


@pytest.mark.parametrize(("norm", "expected"), [("l1", [0.75, -0.25]), ("max", [1.0, -1 / 3])])
def test_other_norms(norm: str, expected: list[float]) -> None:
    np.testing.assert_allclose(Preparation(2, [Normalize(norm, 2)])(np.array([[3.0, -1.0]])), [expected])


def test_a_rounded_number_near_a_threshold_tells_nothing() -> None:
    steps = [Arithmetic("divide", [3.0]), Binarize(1.0, 1)]
    found, errors = Preparation(1, steps).with_errors(np.array([[3.0], [3.5], [1.0]]))
    assert found.tolist() == [[0.0], [1.0], [0.0]]
    assert np.isfinite(errors).tolist() == [False, True, True]
    _, exactly = Preparation(1, steps[1:]).with_errors(np.array([[1.0]]))
    assert exactly.tolist() == [0.0]


def test_missing_values_other_than_nan_are_told_from_exact_numbers_alone() -> None:
    impute = Impute([5.0], missing=-1.0)
    found, errors = Preparation(1, [impute]).with_errors(np.array([[-1.0], [2.0]]))
    assert found.tolist() == [[5.0], [2.0]]
    assert errors.tolist() == [0.0, 0.0]
    _, errors = Preparation(1, [Arithmetic("multiply", [2.0]), impute]).with_errors(np.array([[2.0]]))
    assert errors.tolist() == [np.inf]


@pytest.mark.parametrize(
    ("steps", "allowed"),
    [
        ([Impute([0.0, 0.0])], [True, True]),
        ([Impute([0.0], at=1)], [False, True]),
        ([Arithmetic("divide", [2.0, 2.0]), Impute([0.0, 0.0]), Projection([[1.0], [1.0]])], [True, True]),
        ([Projection([[1.0], [1.0]]), Impute([0.0])], None),
        ([Columns([1, 0, 1], 2), Impute([0.0, 0.0], at=1)], [True, False]),
        ([Columns([1], 2), Impute([0.0])], [False, True]),
        ([Impute([0.0, 0.0]), Columns([1], 2)], [True, True]),
        ([Impute([0.0, 0.0], missing=-1.0)], None),
        ([Clip(0.0, 1.0, 1), Impute([0.0, 0.0])], [False, True]),
    ],
)
def test_columns_that_may_be_nan(steps: list[Step], allowed: list[bool] | None) -> None:
    found = Preparation(2, steps).may_be_nan
    assert (None if found is None else found.tolist()) == allowed


def _machine(preparation: Preparation) -> Machine:
    points = RNG.normal(size=(5, preparation.result))
    return Machine(RBF(0.5), points, RNG.normal(size=5), 0.1, Sign([0, 1]), preparation=preparation)


def test_rows_have_the_columns_before_the_preparation() -> None:
    machine = _machine(Preparation(4, [Projection(RNG.normal(size=(4, 2)))]))
    assert (machine.n_columns, machine.n_features) == (4, 2)
    rows = RNG.normal(size=(3, 4))
    assert check_rows(rows, machine) is rows
    assert mapped(machine, rows).shape == (3, 2)
    assert (mapped_norms(machine, rows) >= np.linalg.norm(mapped(machine, rows), axis=1)).all()
    with pytest.raises(ValueError, match="X has 2 columns, the machine was trained with 4"):
        check_rows(rows[:, :2], machine)
    np.testing.assert_allclose(mapped(machine, unmapped(machine, machine.points)), machine.points, rtol=1e-12)


def test_nan_is_refused_where_it_is_not_imputed() -> None:
    machine = _machine(Preparation(2, [Impute([1.0], at=1)]))
    require_finite(np.array([[0.0, np.nan]]), machine)
    with pytest.raises(ValueError, match="row 0, column 0 is NaN"):
        require_finite(np.array([[np.nan, np.nan]]), machine)
    with pytest.raises(ValueError, match="row 1, column 1 is infinite"):
        require_finite(np.array([[0.0, np.nan], [0.0, np.inf]]), machine)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Arithmetic("power", [1.0]), "no step 'power'"),
        (lambda: Arithmetic("divide", [1.0, 0.0]), "divide column 1 by 0"),
        (lambda: Arithmetic("add", [[1.0]]), "a number for each column"),
        (lambda: Columns([2], 2), "must lie in 0..1"),
        (lambda: Columns([], 2), "there must be one"),
        (lambda: Projection([1.0]), "must have rows and columns"),
        (lambda: Projection([[np.nan]]), "must be finite"),
        (lambda: Impute([1.0], missing=np.inf), "a number or NaN"),
        (lambda: Clip(1.0, 0.0, 1), "low must be at most high"),
        (lambda: Normalize("l3", 1), "no norm 'l3'"),
        (lambda: Binarize(np.inf, 1), "must be finite"),
        (lambda: Preparation(0, []), "rows have 1 to"),
        (lambda: Preparation(2, [Clip(0.0, 1.0, 2, at=1)]), "step 0, clip, changes columns 1 to 2, and there are 2"),
        (lambda: Machine(RBF(1.0), [[0.0]], [1.0], 0.0, Sign([0, 1]), preparation=Preparation(2, [])), "makes 2 col"),
        (
            lambda: Machine(Custom(max), ["a"], [1.0], 0.0, Sign([0, 1]), preparation=Preparation(1, [])),
            "is for vectors",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_what_is_no_step_is_refused() -> None:
    with pytest.raises(TypeError, match=r"step 0 must be one of dormie\.steps"):
        Preparation(1, [1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"must be a dormie\.steps\.Preparation"):
        Machine(RBF(1.0), [[0.0]], [1.0], 0.0, Sign([0, 1]), preparation=[])  # type: ignore[arg-type]

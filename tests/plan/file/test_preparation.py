"""Preparations in plan files: every step comes back, and what does not fit is refused before anything is built."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dormie
from dormie.errors import PlanFileError
from dormie.machine import Machine
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.kernels import RBF
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
from dormie.machine.rules import Sign
from dormie.plan.file.preparation import audit_preparation, construct_preparation, describe_preparation, memory_of

RNG = np.random.default_rng(0)
STEPS: list[Step] = [
    Impute([1.0, 2.0, 3.0]),
    Impute([0.5], missing=-1.0, at=2),
    *(Arithmetic(name, [1.5, 2.5], at=1) for name in MAP_STEPS),
    Columns([2, 0, 1, 1], 3),
    Projection(RNG.normal(size=(4, 2))),
    Clip(-3.0, 3.0, 2),
    Normalize("l1", 2),
    Binarize(0.25, 1, at=1),
]
ROWS = np.array([[0.5, np.nan, -1.0], [2.0, 0.1, 3.0], [np.nan, -4.0, 1.0]])


def _described() -> tuple[dict[str, Any], dict[str, Any]]:
    """A described preparation, and a schema with its arrays."""
    arrays: dict[str, Any] = {}

    def add(name: str, array: Any) -> str:
        arrays[name] = array
        return name

    described = describe_preparation(Preparation(3, STEPS), add, "machine")
    types = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()}
    return described, {"arrays": types, "dormie": "0", "made": arrays}


def test_every_step_comes_back() -> None:
    described, schema = _described()
    assert sorted(audit_preparation(described, "here", schema)) == sorted(schema["arrays"])
    again = construct_preparation(described, schema["made"].__getitem__)
    assert again is not None
    for one, other in zip(again.with_errors(ROWS), Preparation(3, STEPS).with_errors(ROWS), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [step.kind for step in again.steps] == [step.kind for step in STEPS]
    first, second = again.steps[:2]
    assert isinstance(first, Impute)
    assert isinstance(second, Impute)
    assert math.isnan(first.missing)
    assert second.missing == -1.0
    assert construct_preparation(None, schema["made"].__getitem__) is None


def test_a_plan_comes_back_with_its_preparation() -> None:
    machine = Machine(RBF(0.5), RNG.normal(size=(9, 2)), RNG.normal(size=9), 0.1, Sign([0, 1]),
                      preparation=Preparation(3, STEPS[:-1]))  # fmt: skip
    fast, file = dormie.compile(machine), io.BytesIO()
    fast.save(file)
    file.seek(0)
    loaded = dormie.load(file)
    np.testing.assert_array_equal(loaded.predict(ROWS), fast.predict(ROWS))
    assert "Preparation(3 columns to 2" in loaded.explain()


def test_memory_counts_filled_up_matrices_and_columns_that_may_be_nan() -> None:
    described, schema = _described()
    assert memory_of(described, schema) == 8 * 4 * 8 + 17 * 3
    assert memory_of(None, schema) == 0


def _set(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(described: dict[str, Any]) -> None:
        at: Any = described
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("columns", value=0), "must be from 1 to"),
        (_set("columns", value=(1 << 24) + 1), "must be from 1 to"),
        (_set("columns", value=True), "must be a whole number"),
        (_set("steps", value=[{"name": "clip"}] * 1025), "has 1,025 steps"),
        (_set("steps", 0, value="impute"), "which this dormie does not know"),
        (_set("steps", 0, "name", value="power"), "which this dormie does not know"),
        (_set("steps", 0, "at", value=1.0), "must be a whole number"),
        (_set("steps", 0, "more", value=1), "which the protocol does not know"),
        (_set("steps", 0, "missing", value="NaN"), "must be a number"),
        (_set("steps", 6, "which", value="machine/preparation/0/values"), "which must be <i8 of 1"),
        (_set("steps", 7, "matrix", value="machine/preparation/0/values"), "matrix must be <f8 of 2"),
        (_set("steps", 7, "matrix", value="elsewhere"), "which is not there"),
    ],
)
def test_what_is_no_preparation_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    described, schema = _described()
    change(described)
    with pytest.raises(PlanFileError, match=message):
        audit_preparation(described, "here", schema)

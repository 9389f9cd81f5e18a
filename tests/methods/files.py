"""What every stage's tests of plan files share: a plan that must come back whole, and ways to damage its arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dormie import load
from dormie.machine import Floats
from dormie.plan.guarantee import Evidence, Risk
from dormie.plan.plan import Plan
from dormie.predictor.predictor import Predictor
from tests.plan.file.plans import assert_same_plan

RISK = Risk(0.1, 0.9, Evidence(100, 0, 0.01, 2, 1, "2024-12-31", 0))  # what plans with a calibrated stage promise

Arrays = dict[str, np.ndarray[Any, Any]]
Change = Callable[[Arrays], Arrays]


def assert_comes_back(plan: Plan, rows: Floats, path: Path) -> None:
    """From a file and from a pickle, with the same answers at the same cost; both of its stages have work to do."""
    before = Predictor(plan)
    before.save(path)
    after = load(path)
    assert_same_plan(plan, after.plan)
    assert after.plan.cascade.cautions == plan.cascade.cautions
    np.testing.assert_array_equal(before.predict(rows), after.predict(rows))
    mine, theirs = before.trace(rows), after.trace(rows)
    np.testing.assert_array_equal(mine.stage, theirs.stage)
    np.testing.assert_array_equal(mine.evaluations, theirs.evaluations)
    assert set(mine.stage) == {stage.name for stage in plan.stages}
    stage, caution = next(iter(plan.cascade))
    again = pickle.loads(pickle.dumps(stage))
    for one, other in zip(stage.decide(rows, caution), again.decide(rows, caution), strict=True):
        np.testing.assert_array_equal(one, other)


def put(name: str, array: Any) -> Change:
    return lambda arrays: arrays | {name: np.asarray(array)}


def set_at(name: str, place: Any, value: float) -> Change:
    def change(arrays: Arrays) -> Arrays:
        array = arrays[name].copy()
        array[place] = value
        return arrays | {name: array}

    return change


def typed(name: str, dtype: type) -> Change:
    return lambda arrays: arrays | {name: arrays[name].astype(dtype)}


def without(name: str) -> Change:
    return lambda arrays: {n: arrays[n] for n in arrays if n != name}

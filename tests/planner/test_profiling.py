"""Measuring a profile: the costs that explain what was observed."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.methods import METHODS
from dormie.planner import profiling
from dormie.planner.profiling import _fitted, _Observation, _Shape
from dormie.planner.work import UNITS


def test_costs_are_found_again_from_the_times_they_make() -> None:
    random = np.random.default_rng(0)
    costs = np.array([1e-6, 0, 0, 2e-9, 0, 3e-11, 0, 1e-11])
    work = np.exp(random.uniform(0, 8, size=(40, len(UNITS))))
    found = _fitted([_Observation("any", float(each @ costs), each) for each in work])
    assert [found.get(unit, 0.0) for unit in UNITS] == pytest.approx(costs, rel=1e-3, abs=1e-14)


def test_a_time_far_off_hardly_changes_the_others() -> None:
    """A relative error of 1, which is the most that a prediction far too low can have, must not be cheap."""
    row = np.eye(len(UNITS))[0]
    found = _fitted([_Observation("any", seconds, row) for seconds in (1e-6, 1e-6, 1e-5)])
    assert 1.5e-6 < found["row"] < 5e-6


def test_every_method_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = (_Shape(2, 512), _Shape(4, 512, classes=3), _Shape(30, 100, sparse=True))
    monkeypatch.setattr(profiling, "_SHAPES", shapes)
    monkeypatch.setattr(profiling, "_ROUNDS", 1)
    monkeypatch.setattr(profiling, "_ROWS", 64)
    found = profiling.measured()
    names = {key.split("/")[0].removeprefix("calibrated ") for key in found}
    assert {"dense", "geometry", "fast_stopping", "reduced_set", "champion", "linear_filter", "entry"} <= names
    assert names <= {*METHODS, "entry"}
    assert {key.split("/", 1)[1] for key in found} == {"batch/dense", "batch/sparse", "row/dense", "row/sparse"}
    for units in found.values():
        assert all(np.isfinite(cost) and cost > 0 for cost in units.values())

"""Sums of machines through `compile`: exact, within a tolerance, with a risk; and what cannot be served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import dormie
from dormie.machine import Machine, MachineSum
from dormie.machine.kernels import Sigmoid
from dormie.machine.rules import Sign, Value
from dormie.plan.guarantee import Exact, Risk, Tolerance

ROWS, LABELS = make_classification(6900, n_features=6, n_informative=4, flip_y=0.1, random_state=0)
TRAINING, NEW = ROWS[:1500], ROWS[1500:]
_COUNTED = dormie.Profile("counted", {"dense/batch/dense": {"value": 1e-9}})  # so that no clock decides


@pytest.fixture(scope="module")
def model() -> Any:
    inside = make_pipeline(StandardScaler(), SVC(C=5.0))
    return CalibratedClassifierCV(inside, cv=3).fit(TRAINING, LABELS[:1500])


@pytest.mark.parametrize("tolerance", [None, 0.01])
def test_labels_are_exact_and_probabilities_within_the_tolerance(model: Any, tolerance: float | None) -> None:
    fast = dormie.compile(model, NEW[:500], tolerance=tolerance, methods=["parts"])
    assert [stage.name for stage in fast.plan.stages][-2:] == ["parts", "dense"]
    np.testing.assert_array_equal(fast.predict(NEW), model.predict(NEW))
    assert fast.plan.guarantee == Exact()
    assert fast.plan.values is not None
    error = np.abs(fast.predict_proba(NEW) - model.predict_proba(NEW)).max()
    if tolerance is None:
        assert error < 1e-9
    else:
        assert fast.plan.values.guarantee == Tolerance(tolerance)
        assert error <= tolerance


def test_a_risk_is_certified_for_labels_and_values(model: Any, tmp_path: Path) -> None:
    fast = dormie.compile(
        model,
        NEW[:4000],
        fit_rows=TRAINING,
        risk=0.01,
        tolerance=0.05,
        methods=["parts"],
        effort="quick",
        profile=_COUNTED,
    )
    assert isinstance(fast.plan.guarantee, Risk)
    assert not fast.plan.stages[0].certified
    fast.save(tmp_path / "plan")
    for each in (fast, dormie.load(tmp_path / "plan")):
        assert np.mean(each.predict(NEW[4000:]) != model.predict(NEW[4000:])) <= 0.02
        error = np.abs(each.predict_proba(NEW[4000:]) - model.predict_proba(NEW[4000:])).max(axis=1)
        assert np.mean(error > 0.05) <= 0.02


def test_synthetic_rows_come_from_all_members(model: Any) -> None:
    fast = dormie.compile(model, methods=["parts"])  # no rows are given
    np.testing.assert_array_equal(fast.predict(NEW), model.predict(NEW))


def test_members_without_bounds_are_added_up_one_after_the_other() -> None:
    """A kernel that is no inner product has full sums alone."""
    random = np.random.default_rng(0)
    members = [Machine(Sigmoid(0.1, 0.2), TRAINING[:200], random.normal(size=200), 0.1, Value()) for _ in range(2)]
    machine = MachineSum(members, Sign([0, 1]), factors=(0.5, 0.5))
    fast = dormie.compile(machine, methods=["parts"], profile=_COUNTED)
    assert str(fast.plan.cascade) == "parts(full sums) -> dense"
    with pytest.raises(ValueError, match="parts needs a kernel known to be positive semi-definite"):
        dormie.compile(machine, NEW, risk=0.01, methods=["parts"])


def test_one_machine_has_no_parts() -> None:
    svc = SVC().fit(TRAINING, LABELS[:1500])
    with pytest.raises(ValueError, match="parts serves sums of machines, and this is one machine: leave it out"):
        dormie.compile(svc, methods=["parts"])

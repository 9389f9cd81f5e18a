"""A method is added by a folder and a line of registration: `tests/methods/toy` is one, and everything takes it up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.machine import Floats
from dormie.methods import METHODS
from tests.methods import toy


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, toy.METHOD.name, toy.METHOD)
        yield


@pytest.fixture(scope="module")
def svc() -> SVC:
    X, y = make_moons(2000, noise=0.3, random_state=0)
    return SVC(gamma=20.0).fit(X, y)


@pytest.fixture(scope="module")
def rows() -> Floats:
    """Nearly all of them far from the moons."""
    rng = np.random.default_rng(0)
    far = rng.normal(size=(2900, 2))
    far *= (8 + rng.random((2900, 1))) / np.linalg.norm(far, axis=1, keepdims=True)
    return np.vstack([far, make_moons(100, noise=0.3, random_state=1)[0]])


def test_compile_fits_it_races_it_and_explains_it(svc: SVC, rows: Floats) -> None:
    fast = dormie.compile(svc, rows, methods=["far_away"])  # whatever the clock says
    assert fast.plan.stages[0].name == "far_away"
    assert any(trial.stages.startswith("far_away") for trial in fast.plan.trials)
    assert "far_away: the bias alone, for rows far from all support vectors" in fast.explain()
    np.testing.assert_array_equal(fast.predict(rows), svc.predict(rows))
    assert set(fast.trace(rows).stage[:2900]) == {"far_away"}


def test_it_is_saved_and_loaded(svc: SVC, rows: Floats, tmp_path: Path) -> None:
    fast = dormie.compile(svc, rows, methods=["far_away"])
    fast.save(tmp_path / "plan.dormie")
    again = dormie.load(tmp_path / "plan.dormie")
    assert [str(stage) for stage in again.plan.stages] == ["far_away", "dense"]
    np.testing.assert_array_equal(again.predict(rows), fast.predict(rows))


def test_asked_for_where_it_cannot_serve_it_says_why() -> None:
    X, y = make_moons(300, noise=0.3, random_state=0)
    with pytest.raises(ValueError, match="far_away needs an RBF kernel"):
        dormie.compile(SVC(kernel="poly").fit(X, y), methods=["far_away"])

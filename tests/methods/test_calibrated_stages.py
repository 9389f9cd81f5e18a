"""What calibrated stages have in common: one shape of decisions and estimates, native and in NumPy, at any caution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Floats, Machine
from dormie.methods.base import CalibratedStage
from dormie.methods.dense import Dense
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.tree import fitted
from dormie.methods.tree.stage import TreeWalk
from dormie.numerics import backend
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive
from dormie.plan.file import load as load_plan
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import unparse
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK
from tests.methods.nearest.test_stage import ordinary
from tests.methods.stages import on_numpy
from tests.oracles import full_sum as naive
from tests.plan.file.plans import written


def _tree(made: Machine, rows: Floats) -> TreeWalk:
    return TreeWalk.calibrated(made, fitted(made, rows, evaluations=8), rows)


FITS: dict[str, Callable[[Machine, Floats], CalibratedStage]] = {
    "nearest, query": partial(Nearest.fit, components=6, budget=80),
    "nearest, cells": partial(Nearest.fit, form="cells", budget=80),
    "linear_filter": LinearFilter.fit,
    "tree": _tree,
}
each_stage = pytest.mark.parametrize("name", FITS)
each_core = pytest.mark.parametrize("core", ["native", "numpy"])
BAD_CAUTIONS = (-1.0, -1e-300, np.nan, np.inf, "1", None, True)


@cache
def _fitted(name: str, outputs: int) -> CalibratedStage:
    made, rows = ordinary(outputs)
    return FITS[name](made, rows[:400])


def _stage(name: str, core: str = "native", outputs: int = 3) -> tuple[CalibratedStage, Floats]:
    stage = _fitted(name, outputs)
    return stage if core == "native" else on_numpy(stage), ordinary(outputs)[1][400:]


def _assert_same(one: Any, other: Any) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@each_stage
@each_core
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_decisions_and_estimates_have_one_shape(name: str, core: str, outputs: int, count: int) -> None:
    stage, rows = _stage(name, core, outputs)
    found, estimate = stage.decide(rows[:count]), stage.estimate(rows[:count])
    assert found.settled is not None
    evaluations = np.asarray(found.evaluations)
    for part, dtype in ((found.answers, np.intp), (found.settled, np.bool_), (evaluations, np.int64)):
        assert part.dtype == dtype
        assert part.shape == (count,) or (part is evaluations and part.shape == ())
    assert (evaluations >= 0).all()
    assert len(found.by_source) == 0
    classes = range(max(outputs, 2))
    assert all(answer in classes for answer in found.answers[found.settled].tolist())
    assert (found.answers[~found.settled] == -1).all()
    assert estimate.dtype == np.float64
    assert estimate.shape == (count, outputs)
    assert np.isfinite(estimate).all()


@each_stage
@pytest.mark.parametrize("outputs", [1, 3])
def test_native_and_numpy_are_the_same_stage(name: str, outputs: int) -> None:
    (native, rows), (numpy, _) = (_stage(name, core, outputs) for core in ("native", "numpy"))
    assert type(native._core) is not type(numpy._core)  # type: ignore[attr-defined]
    np.testing.assert_allclose(native.estimate(rows), numpy.estimate(rows), rtol=0, atol=1e-4)
    for caution in (0.3, 1.0, 3.0):
        _assert_same(native.decide(rows, caution), numpy.decide(rows, caution))


@each_stage
@each_core
@pytest.mark.parametrize("outputs", [1, 3])
def test_estimates_predict_the_answers(name: str, core: str, outputs: int) -> None:
    stage, rows = _stage(name, core, outputs)
    rule, expected = stage.machine.rule, naive.outputs(stage.machine, rows)
    guessed = rule.answer(stage.estimate(rows))
    assert (guessed == rule.answer(expected)).mean() > 0.8
    found = stage.decide(rows)
    if stage.answers_by_estimate:
        np.testing.assert_array_equal(found.answers[found.settled], guessed[found.settled])


@each_stage
def test_nothing_is_certified_and_so_there_is_no_interval(name: str) -> None:
    stage, _ = _stage(name)
    assert not stage.certified
    assert stage.has_caution
    assert not any(hasattr(stage, certified) for certified in ("interval", "budgets", "steps"))


@each_stage
@each_core
def test_a_caution_is_of_its_call_alone_and_nothing_is_packed_again(
    name: str, core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, rows = _stage(name, core)
    first = stage.decide(rows)
    fresh = on_numpy(stage) if core == "numpy" else FITS[name](stage.machine, ordinary(3)[1][:400])
    monkeypatch.setattr(backend, "choose", lambda *_: pytest.fail("a core was made for a caution"))
    cautions = np.geomspace(0.1, 10, 20).tolist()  # more than are remembered
    settled = [np.asarray(stage.decide(rows, caution).settled).sum() for caution in cautions]
    assert settled[0] > settled[-1]
    _assert_same(stage.decide(rows), first)
    _assert_same(stage.decide(rows, cautions[0]), fresh.decide(rows, cautions[0]))


@each_stage
@each_core
def test_what_is_no_caution_is_refused_whatever_was_asked_before(name: str, core: str) -> None:
    stage, rows = _stage(name, core)
    stage.decide(rows, 1.0)
    stage.decide(rows, 0)
    for caution in BAD_CAUTIONS:
        with pytest.raises(ValueError, match="caution must be a finite number of at least 0"):
            stage.decide(rows, caution)  # type: ignore[arg-type]


@each_stage
def test_its_state_has_no_caution_and_gives_it_back(name: str) -> None:
    stage, rows = _stage(name)
    numbers, arrays = stage.state()
    assert numbers == {}
    again = type(stage).restore(stage.machine, numbers, arrays)
    _assert_same(stage.decide(rows, 1.5), again.decide(rows, 1.5))


@each_stage
@pytest.mark.parametrize("caution", [-1.0, "1", None, True])
def test_what_is_no_caution_is_refused_in_plan_files(name: str, caution: Any, tmp_path: Path) -> None:
    stage, _ = _stage(name)
    plan = Plan(stage.machine, Cascade((stage, Dense(stage.machine)), (1.5, 1.0)), RISK, Source("a test", 150, {}))
    document = describe(plan)
    assert load_plan(written(tmp_path, b"".join(archive.encode(unparse(document))))).cascade.cautions == (1.5, 1.0)
    document.schema["stages"][0]["caution"] = caution
    with pytest.raises(PlanFileError, match="caution"):
        load_plan(written(tmp_path, b"".join(archive.encode(unparse(document)))))

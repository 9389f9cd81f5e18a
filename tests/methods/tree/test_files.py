"""Trees in plan files: they come back to the bit, and arrays that are no tree are refused.

Whoever writes a file can write any tree into it; what must not happen is that the process reads outside an array.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.errors import PlanFileError
from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.methods.base import names_of
from dormie.methods.dense import Dense
from dormie.methods.tree import Tree
from dormie.methods.tree.stage import TreeWalk
from dormie.numerics import backend as native
from dormie.plan.cascade import Cascade
from dormie.plan.file import load as load_plan
from dormie.plan.plan import Plan, Source
from tests.methods.files import RISK, Change, assert_comes_back, put, set_at, typed, without
from tests.methods.tree.trees import random_tree
from tests.plan.file.plans import assert_same_plan, with_stage_arrays, written
from tests.properties.strategies import by_hand, machine

NAMES = (*names_of(Tree), "half_widths")
FLOATS = ("points", "thresholds", "weights", "constants", "half_widths")


def _plan() -> tuple[Plan, Floats]:
    rng = np.random.default_rng(3)
    made, _ = machine(RBF(0.3), 60, 3, 3)
    rows = rng.normal(size=(300, 3))
    tree = random_tree(rng, made.kernel, made.points, rows, 25, 3)
    stage = TreeWalk(made, tree, np.full((tree.n_terminals, 3), 0.4))
    return Plan(made, Cascade((stage, Dense(made)), (1.5, 1.0)), RISK, Source("a test", 60, {})), rows


def test_a_plan_with_a_tree_comes_back_and_answers_the_same(tmp_path: Path) -> None:
    assert_comes_back(*_plan(), tmp_path / "plan")


@pytest.mark.parametrize("caution", [2, np.float32(2), np.int64(2)])
def test_a_caution_of_any_type_of_number_comes_back(caution: float, tmp_path: Path) -> None:
    plan, rows = _plan()
    cascade = Cascade(plan.stages, (caution, 1.0))
    assert_comes_back(Plan(plan.machine, cascade, RISK, plan.source), rows, tmp_path / "plan")
    assert type(load_plan(tmp_path / "plan").cascade.cautions[0]) is float


SHAPES = {"empty": (0, 3), "short": (6, 3), "long": (999, 3), "wide": (25, 4), "flat": (9,), "a number": ()}
CHANGES: dict[str, Change] = {
    **{f"{name} {how}": put(name, np.ones(shape)) for name in NAMES for how, shape in SHAPES.items()},
    **{f"{name} deep": put(name, np.ones((3, 3, 1))) for name in NAMES},
    **{f"{name} NaN": set_at(name, 0, np.nan) for name in FLOATS},
    **{f"{name} infinite": set_at(name, -1, np.inf) for name in FLOATS},
    **{f"{name} of float32": typed(name, np.float32) for name in NAMES},
    **{f"{name} of int32": typed(name, np.int32) for name in NAMES},
    **{f"{name} missing": without(name) for name in NAMES},
    "half_widths negative": set_at("half_widths", (1, 2), -1e-3),
    "a child of its own": set_at("children", (3, 0), 3),
    "a child before its parent": set_at("children", (5, 1), 0),
    "a child past the end": set_at("children", (3, 1), 25),
    "a terminal past the end": set_at("children", (24, 0), -1000),
    "an enormous child": set_at("children", (24, 0), 2**62),
    "the least child": set_at("children", (24, 0), -(2**63)),
    "enormous offsets": set_at("offsets", 2, 2**62),
    "negative offsets": set_at("offsets", 0, -1),
    "one array more": lambda arrays: arrays | {"extra": np.ones(3)},
}


def test_a_file_left_alone_is_accepted(tmp_path: Path) -> None:
    plan, _ = _plan()
    assert_same_plan(plan, load_plan(written(tmp_path, with_stage_arrays(plan, plan.stages[0].state()[1]))))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_arrays_that_are_no_tree_are_refused(change: Change, tmp_path: Path) -> None:
    plan, _ = _plan()
    arrays = change(plan.stages[0].state()[1])
    with pytest.raises(PlanFileError):
        load_plan(written(tmp_path, with_stage_arrays(plan, arrays)))
    with pytest.raises(ValueError, match="tree: "):
        TreeWalk.restore(plan.machine, {}, arrays)


def _native(arrays: dict[str, Any]) -> native.extension.Tree:
    made, _ = machine(RBF(0.3), 60, 3, 3)
    kept = native.native_machine(made)
    assert kept is not None
    return native.extension.Tree(kept, *(arrays[name] for name in names_of(Tree)))


REFUSED = [
    how
    for how in CHANGES
    if how.split()[0] in ("a", "an", "the", "enormous", "negative") or how.split()[-1] in ("long", "short", "wide")
]


@pytest.mark.parametrize("how", [how for how in REFUSED if not how.startswith("half_widths")])
def test_the_native_core_checks_for_itself(how: str) -> None:
    plan, _ = _plan()
    arrays = plan.stages[0].state()[1]
    _native(arrays)
    with pytest.raises((ValueError, TypeError), match=r"do not fit together|incompatible"):
        _native(CHANGES[how](arrays))


@settings(max_examples=300)
@given(data=st.data())
def test_any_whole_numbers_are_refused_by_the_native_core_or_walked_without_harm(data: st.DataObject) -> None:
    plan, rows = _plan()
    arrays = plan.stages[0].state()[1]
    children, offsets = arrays["children"].copy(), arrays["offsets"].copy()
    n, t = len(children), len(offsets) - 1
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, 2 * n - 1))
        children.flat[place] = data.draw(st.integers(~t, n))
    if data.draw(st.booleans()):
        offsets[data.draw(st.integers(0, t))] = data.draw(st.integers(-1, len(arrays["weights"]) + 1))
    try:
        found = _native(arrays | {"children": children, "offsets": offsets})
    except ValueError:
        return
    _, terminals, evaluations = found.walk(rows)
    assert ((terminals >= 0) & (terminals < t)).all()
    np.testing.assert_array_equal(evaluations, np.diff(offsets)[terminals])


def test_half_widths_of_another_tree_are_refused_by_the_native_core() -> None:
    plan, _ = _plan()
    arrays = plan.stages[0].state()[1]
    for wrong in (arrays["half_widths"][:-1], np.ascontiguousarray(arrays["half_widths"][:, :2])):
        with pytest.raises(ValueError, match="do not fit together"):
            _native(arrays).stage(wrong)


def test_numbers_it_does_not_know_are_refused() -> None:
    plan, _ = _plan()
    for numbers in ({"budget": 5}, {"caution": 1.0}, {"caution": 1.0, "certified": True}):
        with pytest.raises(ValueError, match="another stage"):
            TreeWalk.restore(plan.machine, numbers, plan.stages[0].state()[1])


def test_a_tree_for_another_machine_is_refused() -> None:
    plan, _ = _plan()
    rng = np.random.default_rng(1)
    for features in (3, 4):
        other = by_hand(RBF(0.3), rng.normal(size=(5, features)), rng.normal(size=5))
        with pytest.raises(ValueError, match="tree: "):
            TreeWalk.restore(other, *plan.stages[0].state())


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("name", FLOATS)
def test_extreme_numbers_in_a_file_do_no_harm(name: str, size: float) -> None:
    plan, rows = _plan()
    numbers, arrays = plan.stages[0].state()
    found = TreeWalk.restore(plan.machine, numbers, arrays | {name: arrays[name] * size}).decide(rows)
    assert set(found.answers.tolist()) <= {-1, 0, 1, 2}

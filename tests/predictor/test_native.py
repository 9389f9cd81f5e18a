"""The native cascade is the stages one after the other, bit for bit: whatever the type, order and company of rows."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value
from dormie.methods import tree
from dormie.methods.base import Decisions, Stage
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense, Float32Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.refinement import Refinement
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from dormie.methods.tree.stage import TreeWalk
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source
from dormie.predictor.cascade import CascadeResult, in_one_call, run, run_in_python
from tests.methods.stages import StageByHand
from tests.properties.strategies import by_hand

_RISK = Risk(0.1, 0.9, Evidence(100, 0, 0.01, 1, 1, "2024-12-31", 0, {}))


def _machine(outputs: str, features: int, mapped: bool, kernel: Kernel, seed: int) -> Machine:
    """One whose rows are small whole numbers, so that any type has them; 300 points, more than a panel."""
    rng = np.random.default_rng(seed)
    rule = {
        "sign": Sign(np.array([-1, 1])),
        "vote": OneVsOneVote(np.arange(5), break_ties=bool(seed % 2)),
        "largest": Argmax(np.arange(4)),
        "value": Value(0.05),
        "values": Value(0.05, flat=False),
        "exact values": Value(flat=False),
    }[outputs]
    c = {"sign": 1, "vote": 10, "largest": 4, "value": 1}.get(outputs, 2)
    points = _small_numbers(rng, 300, features)
    leaning = (points - points.mean(axis=0)) @ rng.normal(size=(features, c)) / features  # outputs have a direction
    weights = (leaning + 0.3 * rng.normal(size=(300, c))) * 10.0 ** rng.uniform(-1, 0, size=(300, 1))
    input_map = (
        Affine(rng.integers(0, 3, size=features).astype(np.float64), rng.uniform(0.5, 3.0, size=features))
        if mapped
        else None
    )
    points = points if input_map is None else input_map(points)
    return Machine(kernel, points, weights, rng.normal(size=c), rule, input_map)


def _rows(features: int, count: int, seed: int) -> Floats:
    return _small_numbers(np.random.default_rng(seed + 1), count, features)


def _small_numbers(rng: np.random.Generator, count: int, features: int) -> Floats:
    whole = rng.integers(0, 4, size=(count, features)) * (rng.random((count, features)) < 0.6)
    return np.asarray(whole, dtype=np.float64)


def _makers(machine: Machine, rows: Floats) -> dict[str, Callable[[], Stage]]:
    """One stage of each kind that serves the machine, fitted to settle some rows and not others."""
    c, few, points, some = machine.n_outputs, machine.points[:60], machine.points, rows[:100]
    found: dict[str, Callable[[], Stage]] = {
        "certified set": lambda: ReducedSet.project(machine, points[:150], [40, 150]),
        "measured set": lambda: CalibratedReducedSet(
            machine, ReducedSet.project(machine, few, [20, 60]).levels, np.full((2, c), 0.5)
        ),
        "landmarks": lambda: Geometry.build(machine, points[:100]),
        "terms": lambda: FastStopping(machine),
    }
    if isinstance(machine.rule, Value):
        together = np.vstack([np.zeros((20, c)), machine.weights[20:60]])
        levels = Levels.of(few, [machine.weights[:20], together], c)
        return found | {"steps": lambda: Refinement(machine, levels, 0.05, 0.01)} if machine.rule.tolerance else found
    found |= {
        "filter": lambda: LinearFilter.fit(machine, some),
        "nearest": lambda: Nearest.fit(machine, some),
        "cells": lambda: Nearest.fit(machine, some, form="cells", cells=4),
        "tree": lambda: TreeWalk.calibrated(machine, tree.greedy(machine, some), some),
    }
    if isinstance(machine.rule, OneVsOneVote | Argmax):
        weights = np.random.default_rng(0).normal(size=(60, len(machine.rule.classes)))
        bias = np.zeros(weights.shape[1])
        found["scores"] = lambda: Scores(machine, ScoreMachine(few, weights, bias), 0.5)
    if isinstance(machine.rule, OneVsOneVote):
        found["champion"] = lambda: Champion(machine, ReducedSet.project(machine, few, [60]).levels)
        halves = np.full((1, machine.n_outputs), 0.1)
        found["open pairs"] = lambda: OpenPairs(machine, ReducedSet.project(machine, few, [60]).levels, halves)
    return found


@st.composite
def _plans(draw: st.DrawFn) -> tuple[Plan, Floats]:
    outputs = draw(st.sampled_from(["sign", "sign", "vote", "vote", "largest", "value", "values", "exact values"]))
    features = draw(st.sampled_from([1, 3, 8, 13, 40, 70]))
    kernel = draw(st.sampled_from([RBF(0.05), RBF(0.05), Polynomial(0.05, 1.0, 2)]))
    machine = _machine(outputs, features, draw(st.booleans()), kernel, draw(st.integers(0, 50)))
    rows = _rows(features, 700, draw(st.integers(0, 50)))
    makers = _makers(machine, rows)
    few = (0, 0) if outputs == "exact values" else (1, 4)
    names = draw(st.lists(st.sampled_from(list(makers)), unique=True, min_size=few[0], max_size=few[1]))
    early = [makers[name]() for name in names]
    return _plan(machine, early, last_in_float=draw(st.booleans()) and outputs != "exact values"), rows


def _plan(machine: Machine, early: list[Stage], last_in_float: bool = False) -> Plan:
    last: Stage = Float32Dense(machine) if last_in_float else Dense(machine)
    bold = last_in_float or not all(stage.certified for stage in early)
    tolerance = machine.rule.tolerance if isinstance(machine.rule, Value) else 0.0
    risk = replace(_RISK, tolerance=tolerance or None)
    guarantee: Guarantee = risk if bold else Tolerance(tolerance) if tolerance else Exact()
    return Plan(machine, Cascade.of(*early, last), guarantee, Source("a test", machine.n_points))


def _assert_same(found: CascadeResult, expected: CascadeResult) -> None:
    n = len(expected.answers)
    np.testing.assert_array_equal(found.answers, expected.answers)
    for mine, theirs in ((found.settled_by, expected.settled_by), (found.evaluations, expected.evaluations)):
        np.testing.assert_array_equal(np.broadcast_to(mine, n), np.broadcast_to(theirs, n))
    np.testing.assert_array_equal(np.sort(found.by_source), np.sort(expected.by_source))
    assert len(found.open) == len(expected.open) == 0


@settings(max_examples=60)
@given(case=_plans(), threads=st.integers(1, 5), count=st.sampled_from([0, 1, 2, 7, 8, 9, 130, 700]))
def test_it_is_the_stages_one_after_the_other(case: tuple[Plan, Floats], threads: int, count: int) -> None:
    plan, rows = case
    rows = rows[:count]
    assert plan.cascade.native is not None
    found = run(plan.cascade, rows, threads)
    _assert_same(found, run_in_python(plan.cascade, rows))
    labels = dormie.Predictor(plan).predict(rows, threads=threads)
    np.testing.assert_array_equal(labels, plan.machine.rule.labels(found.answers))


TYPES = ("float64", "float32", "float16", "int32", "int16", "uint16", "int8", "uint8", "int64", "uint32")


@settings(max_examples=40)
@given(
    case=_plans(),
    dtype=st.sampled_from(TYPES),
    layout=st.sampled_from(["C", "F", "bands", "steps", "backwards", "csr"]),
    order=st.randoms(use_true_random=False),
    cut=st.integers(0, 700),
)
def test_a_row_is_decided_alike_in_any_type_layout_order_and_company(
    case: tuple[Plan, Floats], dtype: str, layout: str, order: Any, cut: int
) -> None:
    plan, rows = case
    fast = dormie.Predictor(plan)
    labels, trace = fast.predict(rows), fast.trace(rows)
    forms: dict[str, Any] = {
        "C": rows.astype(dtype),
        "F": np.asfortranarray(rows.astype(dtype)),
        "bands": np.ascontiguousarray(rows.T.reshape(rows.shape[1], 70, 10)).astype(dtype).reshape(rows.shape[1], -1).T,
        "steps": np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1).astype(dtype)[::2, ::3],
        "backwards": np.ascontiguousarray(rows[::-1, ::-1]).astype(dtype)[::-1, ::-1],
        "csr": scipy.sparse.csr_array(rows.astype("float64" if dtype == "float16" else dtype)),
    }
    given_rows = forms[layout]
    np.testing.assert_array_equal(fast.predict(given_rows), labels)
    again = fast.trace(given_rows)
    np.testing.assert_array_equal(again.stage, trace.stage)
    np.testing.assert_array_equal(again.evaluations, trace.evaluations)
    shuffled = np.array(order.sample(range(len(rows)), len(rows)))
    np.testing.assert_array_equal(fast.predict(given_rows[shuffled]), labels[shuffled])
    np.testing.assert_array_equal(fast.predict(given_rows[:cut]), labels[:cut])
    np.testing.assert_array_equal(fast.predict(given_rows[cut:], threads=3), labels[cut:])


def test_truth_values_are_zeros_and_ones_whatever_their_bytes() -> None:
    machine = _machine("sign", 8, True, RBF(0.05), 3)
    fast = dormie.Predictor(_plan(machine, [Geometry.build(machine, machine.points[:100])]))
    flags = _rows(8, 300, 0) > 0
    odd = flags.view(np.uint8) * np.uint8(6)
    expected = fast.predict(flags.astype(np.float64))
    np.testing.assert_array_equal(fast.predict(flags), expected)
    np.testing.assert_array_equal(fast.predict(odd.view(np.bool_)), expected)


def test_every_number_of_16_bits_is_read_rightly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    counts = np.arange(1 << 16, dtype=np.uint16)
    machine = by_hand(RBF(1e-9), [[1.0]], [1.0], 0.0, Value())
    fast = dormie.Predictor(Plan(machine, Cascade.of(Dense(machine)), Exact(), Source("a test", 1)))
    for column in (halves, counts, counts.view(np.int16), counts.astype(np.uint8), counts.astype(np.int8)):
        np.testing.assert_array_equal(fast.predict(column[:, None]), fast.predict(column[:, None].astype(np.float64)))
    for bad, what in ((np.inf, "infinite"), (-np.inf, "infinite"), (np.nan, "NaN")):
        with pytest.raises(ValueError, match=f"row 1, column 0 is {what}"):
            fast.predict(np.array([[1.0], [bad]], dtype=np.float16))


def test_rows_of_pixels_are_not_copied_whole() -> None:
    """Nothing as large as the rows is asked for, in Python or below it."""
    import resource
    import tracemalloc

    machine = _machine("sign", 6, True, RBF(0.05), 3)
    fast = dormie.Predictor(_plan(machine, [ReducedSet.project(machine, machine.points[:290], [40, 290])]))
    pixels = np.tile(_rows(6, 1000, 0).astype(np.uint16), (2000, 1))
    out = np.empty(len(pixels), dtype=np.int8)
    fast.predict(pixels[:10_000], out=out[:10_000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    fast.predict(pixels, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10  # KiB; the rows are 24 MB


class _Shy(StageByHand):
    """A stage in Python that settles nothing."""

    name = "shy"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - it has none
        n = rows.shape[0]
        return Decisions(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), 1)


def test_a_stage_in_python_takes_the_others_along() -> None:
    machine = _machine("vote", 8, False, RBF(0.05), 2)
    rows = _rows(8, 500, 0)
    native, python = _plan(machine, [FastStopping(machine)]), _plan(machine, [_Shy(machine), FastStopping(machine)])
    assert python.cascade.native is None
    np.testing.assert_array_equal(dormie.Predictor(native).predict(rows), dormie.Predictor(python).predict(rows))


def test_an_origin_decides_what_stages_leave_open() -> None:
    """Rows on the decision boundary itself: the model's own sum, in the place of the rows among all."""
    machine = by_hand(RBF(1.0), [[0.0], [2.0]], [1.0, -1.0], 0.0, Sign(np.array(["a", "b"])))
    fast = dormie.Predictor(_plan(machine, [ReducedSet.project(machine, machine.points[:1], [1])]))
    rows = np.resize([[1.0], [0.0], [2.0]], (999, 1))
    assert fast.predict(rows).tolist() == ["b", "b", "a"] * 333
    assert set(fast.trace(rows).stage[::3]) == {"source"}
    assert "source" not in set(fast.trace(rows).stage[1::3])


def test_stages_of_different_machines_make_no_cascade() -> None:
    one, other = _machine("sign", 8, False, RBF(0.05), 1), _machine("vote", 8, False, RBF(0.05), 1)
    refused = "must read the same rows and give the same answers"
    with pytest.raises(ValueError, match=refused):
        _ = Cascade.of(FastStopping(one), Dense(other)).native
    wide = replace(one, points=np.zeros((300, 9)))
    with pytest.raises(ValueError, match=refused):
        _ = Cascade.of(FastStopping(one), Dense(wide)).native


@settings(max_examples=40)
@given(case=_plans(), dtype=st.sampled_from(TYPES), sparse=st.booleans())
def test_usual_rows_are_answered_in_one_call(case: tuple[Plan, Floats], dtype: str, sparse: bool) -> None:
    """One by one and together, and as the call that checks rows of any kind answers them."""
    plan, rows = case
    rows = rows[:60].astype(dtype)
    given_rows = scipy.sparse.csr_array(rows.astype(np.float64)) if sparse else rows
    fast = dormie.Predictor(plan)
    at_once, found = in_one_call(plan.cascade), fast.predict(given_rows)
    if sparse or dtype not in ("int64", "uint32"):  # which are converted first
        np.testing.assert_array_equal(at_once(given_rows, 0), found, strict=True)
    out = np.empty_like(found)
    np.testing.assert_array_equal(fast.predict(given_rows, out=out), found, strict=True)
    alone = [fast.predict(given_rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(np.concatenate(alone), found, strict=True)


class _Relative(scipy.sparse.csr_array):  # type: ignore[misc]
    """Somebody's own kind of matrix."""


def test_unusual_rows_are_left_to_the_checks() -> None:
    machine = _machine("sign", 8, False, RBF(0.05), 3)
    plan = _plan(machine, [FastStopping(machine)])
    rows = _rows(8, 20, 0)
    at_once = in_one_call(plan.cascade)
    csr = scipy.sparse.csr_array(rows)
    for unusual in (
        rows.tolist(),
        np.ma.masked_array(rows),
        rows.astype(np.int64),
        rows.astype(">f8"),
        rows[:, :7],
        rows[0],
        rows.view(np.matrix),
        None,
        csr.tocsc(),
        csr.astype(np.int64),
        _Relative(csr),
    ):
        assert at_once(unusual, 0) is None
    for part in ("data", "indices", "indptr"):
        broken = csr.copy()
        setattr(broken, part, getattr(broken, part).astype(np.float32)[1:])
        assert at_once(broken, 0) is None


def test_a_predictor_that_answered_can_be_pickled() -> None:
    machine = _machine("values", 8, False, RBF(0.05), 3)
    fast = dormie.Predictor(_plan(machine, []))
    rows = _rows(8, 20, 0)
    values = fast.predict(rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(rows), values)


def test_rows_are_answered_though_another_call_has_the_threads() -> None:
    # Rows wait for the champion by the hundred, and one worker's would be shared with a thread that is not to be had.
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(3000, 100)), rng.normal(size=(1000, 100))
    machine = Machine(RBF(0.005), points, rng.normal(size=(3000, 3)), np.zeros(3), OneVsOneVote(np.arange(3)))
    few = Levels.of(points[:64], [np.zeros((64, 3))], 3)
    settles_none = CalibratedReducedSet(machine, few, np.full((1, 3), 1e9))
    fast = dormie.Predictor(_plan(machine, [settles_none, Champion(machine, few)]))
    expected = fast.predict(rows, threads=1)
    done = threading.Event()

    def keep_busy() -> None:
        many = np.tile(rows, (20, 1))
        while not done.is_set():
            fast.predict(many, threads=2)

    other = threading.Thread(target=keep_busy)
    other.start()
    time.sleep(0.3)  # until it has the thread, most likely
    try:
        for _ in range(10):
            labels = np.full(len(rows), -1)
            np.testing.assert_array_equal(fast.predict(rows, out=labels, threads=2), expected)
    finally:
        done.set()
        other.join()

"""The pairs of DeCoste & Mazzoni, on made-up digits: a few blurred blobs in 30 pixels for each of the ten classes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.lab import datasets
from dormie.lab.datasets import Dataset
from dormie.lab.papers.decoste2003 import figures as decoste2003_figures
from dormie.lab.papers.decoste2003 import tables as decoste2003
from dormie.lab.papers.decoste2003.free import Free, free_table
from dormie.lab.papers.decoste2003.hull import hull_rows
from dormie.lab.papers.decoste2003.pairs import (
    ALONE,
    BEFORE,
    CALIBRATED,
    CONFIDENCE,
    FILTER,
    HULL,
    KINDS,
    MACHINES,
    PAIRS,
    SIMPLE,
    SMOOTHED,
    SVM_FILTER,
    Extent,
    Pair,
    certified,
    degree_9,
    kinds,
    rbf,
    variants,
)
from dormie.lab.papers.decoste2003.reduced import reduced_variants
from dormie.lab.papers.decoste2003.rivals import rivals_of
from dormie.lab.papers.table import Table
from dormie.machine import Machine
from dormie.methods.dense import Dense
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.thresholds import Thresholds
from dormie.numerics.binomial import p_value
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.predictor import cascade as flow

EXTENT = Extent(((0, 1), (3, 8)), ((0, 1),), held_out=400, most_rows=400, risk=0.02, budget=64, hull=100)


def _digits(count: int, seed: int) -> tuple[Any, Any]:
    middles = np.random.default_rng(0).uniform(0, 1, size=(10, 3, 30))
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=count)
    return np.clip(middles[y, rng.integers(3, size=count)] + 0.3 * rng.normal(size=(count, 30)), 0, 1), y


@cache
def data() -> Dataset:
    return Dataset("mnist", "made up", *_digits(5000, 1), *_digits(2000, 2))


@cache
def problem() -> tuple[Pair, Machine]:
    pair = Pair.of(data(), (3, 8), EXTENT)
    return pair, degree_9(pair)


@cache
def all_tables() -> tuple[Table, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", lambda _: data())
        return tuple(decoste2003.tables_of(EXTENT))


def _row_set(rows: Any) -> set[bytes]:
    return {row.tobytes() for row in rows}


def test_digits_that_train_are_held_out_and_judge_are_other_digits() -> None:
    pair, _ = problem()
    assert (len(pair.held_out), len(pair.train), len(pair.test)) == (400, 400, 400)
    parts = [_row_set(rows) for rows in (pair.train, pair.held_out, pair.test)]
    assert len(set.union(*parts)) == 1200
    threes = _row_set(data().X[data().y == 3])
    assert [row.tobytes() in threes for row in pair.train] == (pair.train_signs == 1).tolist()
    assert set(pair.test_signs.tolist()) == {-1, 1}
    assert len(pair.all_ten) == 400
    assert len(PAIRS) == 45


def test_the_kernels_are_those_said() -> None:
    pair, machine = problem()
    u, v = pair.train[:5], pair.train[5:9]
    cosines = (u @ v.T) / np.linalg.norm(u, axis=1)[:, None] / np.linalg.norm(v, axis=1)
    np.testing.assert_allclose(machine.kernel.matrix(u, v), cosines**9)
    apart = ((u[:, None] - v) ** 2).sum(axis=2)
    np.testing.assert_allclose(rbf(pair).kernel.matrix(u, v), np.exp(-0.02 * apart))


def test_variants_have_the_papers_thresholds_or_a_certified_caution() -> None:
    pair, machine = problem()
    found = variants(machine, pair, EXTENT)
    assert set(found) == {before + kind for before in BEFORE for kind in kinds(before)}
    stages: dict[str, Any] = {name: each.stages for name, each in found.items()}
    for kind in KINDS:
        [nearest] = stages[ALONE + kind]
        assert (nearest.ordering.foresight[0] > 0) == (kind == CALIBRATED)
        for before in (FILTER, SVM_FILTER):
            assert kind not in kinds(before) or stages[before + kind][1] is nearest
    half = {kind: stages[kind][0].thresholds.half for kind in (SIMPLE, SMOOTHED, HULL)}
    for wider in (SMOOTHED, HULL):
        assert (half[wider] >= half[SIMPLE] - 1e-12).all()
        assert (half[wider] > half[SIMPLE]).any()
    ours, svm = (stages[before + SIMPLE][0] for before in (FILTER, SVM_FILTER))
    again = LinearFilter.fit(machine, pair.train, mode="paper")
    np.testing.assert_array_equal(svm.linear.vectors, again.linear.vectors)
    assert not np.allclose(svm.linear.vectors, ours.linear.vectors)


def test_rows_in_the_hull_keep_the_sign_of_the_row_they_start_from() -> None:
    pair, machine = problem()
    made, g = hull_rows(machine, pair.train, 60), FullSum(machine).outputs(pair.train)[:, 0]
    assert len(made) == 120
    outputs = FullSum(machine).outputs(made)[:, 0]
    assert (outputs[:60] > 0).all()
    assert (outputs[60:] <= 1e-9).all()
    assert np.median(np.abs(outputs)) < np.median(np.abs(g))
    for sign, some in ((1, made[:3]), (-1, made[60:63])):  # on the segment from a row near the boundary
        starts = pair.train[sign * g > 0][np.argsort(np.abs(g[sign * g > 0]))[:3]]
        for start, row in zip(starts, some, strict=True):
            others = pair.train[sign * g <= 0]
            near = others[np.argsort(((others - start) ** 2).sum(axis=1))[:3]].mean(axis=0)
            along = (row - start) @ (near - start) / ((near - start) @ (near - start))
            assert 0 <= along <= 1
            np.testing.assert_allclose(row, start + along * (near - start), atol=1e-9)


def test_rivals_are_a_linear_svm_and_the_neighbours_best_on_held_out_digits() -> None:
    pair, machine = problem()
    found = rivals_of(machine, pair)
    distances = ((pair.test[:, None] - pair.train) ** 2).sum(axis=2)
    nearest = pair.train_signs[np.argsort(distances, axis=1)[:, : found.k]]
    assert found.neighbours == int(np.sum(np.sign(nearest.sum(axis=1)) != pair.test_signs))
    assert found.linear < len(pair.test) / 4


def test_nearest_reduced_set_vectors_are_fewer_and_held_against_the_full_machine() -> None:
    pair, machine = problem()
    found = reduced_variants(machine, pair, EXTENT)
    assert list(found) == [SIMPLE, SMOOTHED, CALIBRATED]
    for early in found.values():
        assert all(stage.machine.n_points == machine.n_points // 10 for stage in early.stages)
    result = decoste2003.measure(machine, pair, found)
    assert result.points == machine.n_points
    assert result.outcomes[CALIBRATED].disagreements <= 0.05 * len(pair.test)


def test_a_certified_way_disagrees_on_no_more_held_out_rows_than_it_may() -> None:
    pair, machine = problem()
    early = Cascade.of(LinearFilter.fit(machine, pair.train), Nearest.fit(machine, pair.train))
    found = certified(early, machine, pair, EXTENT.risk)
    assert found.stages == early.stages
    assert len(set(found.cautions)) == 1
    right = Dense(machine).decide(pair.held_out).answers
    disagreements = int(np.sum(flow.run(found.before(Dense(machine)), pair.held_out).answers != right))
    assert p_value(len(right), disagreements, EXTENT.risk) <= 1 - CONFIDENCE
    bolder = certified(early, machine, pair, 0.2)
    assert bolder.cautions[0] < found.cautions[0]


def test_where_nothing_can_be_certified_the_dense_stage_is_left() -> None:
    pair, machine = problem()
    wrong = Nearest.fit(machine, pair.train)
    upside_down = Thresholds(wrong.thresholds.middle + 5, np.zeros_like(wrong.thresholds.half))
    early = Cascade.of(Nearest(machine, wrong.ordering, upside_down))
    assert certified(early, machine, pair, EXTENT.risk) == Cascade.of()


def test_counts_are_those_of_the_rows_one_by_one() -> None:
    pair, machine = problem()
    found, full = variants(machine, pair, EXTENT), Dense(machine)
    result = decoste2003.measure(machine, pair, found)
    right = full.decide(pair.test).answers
    assert result.errors == int(np.sum(machine.rule.labels(right) != pair.test_signs))
    for name, early in found.items():
        outcome = result.outcomes[name]
        runs = [flow.run(early.before(full), pair.test[i : i + 1]) for i in range(50)]
        k = [max(int(np.ravel(run.evaluations)[0]), 1) for run in runs]
        assert outcome.evaluations[:50].tolist() == k
        assert outcome.microseconds > 0
        nearest: Any = early.stages[-1]
        assert outcome.work >= nearest.overhead * (1 - outcome.filtered)
        assert outcome.work <= nearest.overhead + outcome.evaluations.mean()
        assert (outcome.filtered > 0) == name.startswith((FILTER, SVM_FILTER))
    assert result.outcomes[CALIBRATED].disagreements <= 0.05 * len(right)


def test_tables_are_of_all_pairs_and_variants_and_both_kernels() -> None:
    titles = [table.title for table in all_tables()]
    assert len(titles) == 8 * len(MACHINES)
    for kernel in MACHINES:
        assert sum(kernel in title for title in titles) == 8
    assert [list(table.columns) for table in all_tables()[:3]] == [["paper", *kinds(before)] for before in BEFORE]
    printed: Any = [table.columns["paper"] for table in all_tables()[:3]]
    assert printed[:2] == [{}, {}]
    assert [*printed[2].values()] == [111]  # of errors the paper says "fewer", and no number


def test_the_sketch_counts_in_the_first_l_over_k() -> None:
    summary, pairs = all_tables()[1], all_tables()[5]
    points: Any = pairs.columns["L"]
    folds: Any = pairs.columns[FILTER + CALIBRATED]
    lines: Any = summary.columns[CALIBRATED]
    both = ("L/k with the sketch", "L/k as the paper counts, without the sketch")
    for at, name in enumerate(both):
        k = [points[pair] / folds[pair][at] for pair in ("0-1", "3-8")]
        np.testing.assert_allclose(lines[f"own digits: {name}"], sum(points.values()) / sum(k))
        mean = np.mean([folds[pair][at] for pair in folds])
        np.testing.assert_allclose(lines[f"own digits: {name}, mean over the pairs"], mean)
    assert lines[f"own digits: {both[0]}"] < lines[f"own digits: {both[1]}"]
    assert next(line for line in lines if "L/k" in line) == f"own digits: {both[0]}"
    assert lines["own digits: disagreements"] == sum(folds[pair][2] for pair in folds)


def test_tables_of_digits_have_one_number_above_and_one_below_the_diagonal() -> None:
    second, third, pairs = all_tables()[3:6]
    columns: Any = pairs.columns
    above: Any = second.columns["8"]
    below: Any = second.columns["3"]
    assert above["3"] == columns[SVM_FILTER + SMOOTHED]["3-8"][1]
    assert below["8"] == columns["L"]["3-8"]
    assert above["8"] is None
    errors: Any = third.columns["8"]
    wrong: Any = third.columns["3"]
    assert (errors["3"], wrong["8"]) == (columns["errors"]["3-8"], columns[SVM_FILTER + SMOOTHED]["3-8"][2])


def test_a_free_plan_is_held_against_the_dense_stage() -> None:
    reduced, table = all_tables()[6:8]
    assert list(reduced.columns["L"]) == list(table.columns["L"]) == ["0-1"]
    assert "dense" in table.notes[0]
    each = [Free("0-1", "dense", 100, 100, 2, 50, 8.0, 2.0, 1.0), Free("0-2", "dense", 50, 9, 1, 50, 4.0, 1.0, 1.0)]
    columns: Any = free_table("made up", each).columns
    assert columns["times as fast"] == {"0-1": 4.0, "0-2": 4.0, "all": 4.0}
    assert columns["disagreements"]["all"] == 3


def test_the_figures_show_what_each_row_took_and_the_thresholds_it_passed(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pair, machine = problem()
    stage = Nearest.fit(machine, pair.held_out, mode="paper", steps=range(1, 30))
    stopping = decoste2003_figures.Stopping(stage)
    k, settled = decoste2003_figures.steps_taken(stopping, pair.test), stage.decide(pair.test).settled
    assert (k[~np.asarray(settled)] == machine.n_points).all()
    ends = decoste2003_figures.ends_of(stopping)
    [sums, *_] = stage.sums(pair.test)
    for row, taken in enumerate(k[:50].tolist()):
        before, here = sums[row, : taken - 1, 0], sums[row, taken - 1 : taken, 0]
        assert ((ends.low[: len(before)] <= before) & (before <= ends.high[: len(before)])).all()
        if taken < machine.n_points:
            assert here < ends.low[taken - 1] or here > ends.high[taken - 1]
    decoste2003_figures.plot_rows({"a": stopping, "b": stopping}, machine, pair.test, "3-8", tmp_path / "rows.png")
    decoste2003_figures.plot_query(stopping, pair, "3-8", tmp_path / "query.png")
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("rows.png", "query.png"))

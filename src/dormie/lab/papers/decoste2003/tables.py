"""DeCoste & Mazzoni 2003, *Fast Query-Optimized Kernel Machine Classification*: its 45 pairs of MNIST digits.

k is the number of support vectors that a row is compared with: one for the linear filter, then the nearest ones, and
all of them if the partial sum never passes a threshold. It is at least one, because a row that the sketch alone settles
is not free. L/k over many machines is the sum of their support vectors divided by the sum of their mean k. As in the
paper, k does not include the sketch, by which each row finds its order. A separate line includes its cost, and so do
the seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.lab.bench.timing import interleave
from dormie.lab.papers.decoste2003.free import Free, free_table
from dormie.lab.papers.decoste2003.pairs import (
    CALIBRATED,
    MACHINES,
    PAIRS,
    SIMPLE,
    SMOOTHED,
    WITH_FILTER,
    Extent,
    Pair,
    variants,
)
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Machine
from dormie.methods.dense import Dense
from dormie.methods.nearest import Nearest
from dormie.plan.cascade import Cascade
from dormie.predictor import cascade
from dormie.progress import Progress

FULL = Extent(PAIRS, ((0, 1), (2, 7), (3, 8), (4, 9)))  # two easy pairs and two hard ones
SMALL = Extent(((0, 1), (3, 8)), (), held_out=500, most_rows=700, risk=0.01, budget=256)

_TITLE = "DeCoste & Mazzoni 2003"
_KEPT = "support vectors"
_OWN, _TEN = "own digits", "all ten digits"
_PRINTED: Numbers = {f"{_OWN}: L/k, mean over the pairs": 111, f"{_OWN}: errors more than the machine's": 0}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one variant for one machine."""

    evaluations: npt.NDArray[np.int64]  # of each of the pair's own test digits, at least 1
    work: float  # evaluations per row, including the cost of the sketch
    disagreements: int
    errors: int
    filtered: float  # share of the rows that the filter settles
    microseconds: float  # per row
    ten: npt.NDArray[np.int64]  # evaluations of test digits of all ten classes
    ten_disagreements: int


@dataclass(frozen=True, eq=False)
class Result:
    """One machine: its size, its errors, the dense stage's time per row, and the outcome of every variant."""

    pair: str
    points: int
    rows: int
    errors: int
    microseconds: float
    outcomes: Mapping[str, Outcome]


def tables(_seconds: float) -> Iterator[Table]:
    """All pairs with both kernels: about forty minutes. Each machine is timed in only three rounds."""
    return tables_of(FULL)


def small_tables(_seconds: float) -> Iterator[Table]:
    """Two pairs with a few hundred digits each: a few seconds, at a risk that so few rows can certify."""
    return tables_of(SMALL)


def tables_of(extent: Extent) -> Iterator[Table]:
    """For each kernel: all machines together, each pair, and plans that are free to choose any stages."""
    data = datasets.load("mnist")
    for kernel, train in MACHINES.items():
        results, free = [], []
        with Progress() as progress:
            for digits in extent.pairs:
                pair = Pair.of(data, digits, extent)
                progress.say(f"{kernel}: {pair.name}")
                machine = train(pair)
                results.append(measure(machine, pair, extent))
                if digits in extent.free_pairs:
                    free.append(Free.of(machine, pair, extent.risk))
        yield together(kernel, results, "", extent)
        yield together(kernel, results, WITH_FILTER, extent)
        yield each_pair(kernel, results)
        if free:
            yield free_table(f"{_TITLE}: {kernel}", free)


def measure(machine: Machine, pair: Pair, extent: Extent) -> Result:
    """Run all variants on the pair's own test digits and on all ten digits, timed in turns with the dense stage."""
    full, found = Dense(machine), variants(machine, pair, extent)
    right, right_of_ten = (full.decide(rows).answers for rows in (pair.test, pair.all_ten))
    cascades = {name: early.before(full) for name, early in {"": Cascade.of(), **found}.items()}
    tasks = {name: partial(cascade.answers, each, pair.test) for name, each in cascades.items()}
    times = {name: 1e6 * min(spent) / len(pair.test) for name, spent in interleave(tasks, 0).items()}
    outcomes = {name: _outcome(cascades[name], pair, right, right_of_ten, times[name]) for name in found}
    return Result(pair.name, machine.n_points, len(right), _errors(machine, right, pair), times[""], outcomes)


def _outcome(
    whole: Cascade, pair: Pair, right: npt.NDArray[np.intp], right_of_ten: npt.NDArray[np.intp], microseconds: float
) -> Outcome:
    stages, own, ten = whole.stages, cascade.run(whole, pair.test), cascade.run(whole, pair.all_ten)
    sketched = sum(
        stage.overhead * float(np.mean(own.settled_by >= at))
        for at, stage in enumerate(stages)
        if stage.name == Nearest.name
    )
    return Outcome(
        np.maximum(own.evaluations, 1) * np.ones_like(right),
        float(np.mean(own.evaluations)) + sketched,
        int(np.sum(own.answers != right)),
        _errors(stages[-1].machine, own.answers, pair),
        float(np.mean(np.broadcast_to(own.settled_by, len(right)) == 0)) if stages[0].name == "linear_filter" else 0.0,
        microseconds,
        np.maximum(ten.evaluations, 1) * np.ones_like(right_of_ten),
        int(np.sum(ten.answers != right_of_ten)),
    )


def _errors(machine: Machine, answers: npt.NDArray[np.intp], pair: Pair) -> int:
    return int(np.sum(machine.rule.labels(answers) != pair.test_signs))


def together(kernel: str, results: list[Result], before: str, extent: Extent) -> Table:
    """The results of all machines of one kernel together, with or without the filter before the nearest stage."""
    columns = {"paper": _PRINTED if before else {}}
    columns |= {kind: _summary(results, before + kind) for kind in (SIMPLE, SMOOTHED, CALIBRATED)}
    notes = (
        "k: support vectors compared with a row, the filter counting as one; L/k: sum of L over sum of k, all machines",
        "simple, smoothed: the paper's thresholds, measured on held-out digits; they carry no guarantee",
        f"calibrated: at most {100 * extent.risk:g} % disagreement, certified on held-out digits with 95 % confidence",
        f"at most {extent.budget:,} nearest support vectors, 60 PCA dimensions; then the dense stage",
        "all ten digits: every fifth test digit of MNIST, most of them of neither class",
        "our copy of the paper lacks its numbers, except for the 111-fold of its last section",
    )
    title = f"{_TITLE}: {len(results)} pairs of MNIST digits, {kernel}, {'with' if before else 'without'} the filter"
    return Table(title, columns, notes)


def _summary(results: list[Result], name: str) -> Numbers:
    """The results of one variant over all machines."""
    points = np.array([each.points for each in results])
    outcomes = [each.outcomes[name] for each in results]
    rows = sum(each.rows for each in results)
    wrong = np.array([each.disagreements for each in outcomes])
    dense = sum(each.microseconds for each in results)
    return {
        f"{_KEPT} L: least, most": (int(points.min()), int(points.max())),
        f"{_KEPT} L: mean": float(points.mean()),
        **_k_numbers(_OWN, points, [each.evaluations for each in outcomes]),
        f"{_OWN}: L/k, including the cost of the sketch": float(points.sum() / sum(each.work for each in outcomes)),
        f"{_OWN}: disagreements": int(wrong.sum()),
        f"{_OWN}: disagreements, %": 100 * float(wrong.sum()) / rows,
        f"{_OWN}: most in one pair, %": max(100 * w / each.rows for w, each in zip(wrong, results, strict=True)),
        f"{_OWN}: errors more than the machine's": sum(each.outcomes[name].errors - each.errors for each in results),
        f"{_OWN}: errors of the machines": sum(each.errors for each in results),
        f"{_OWN}: settled by the filter, %": 100 * float(np.mean([each.filtered for each in outcomes])),
        f"{_OWN}: microseconds per row": float(np.mean([each.microseconds for each in outcomes])),
        f"{_OWN}: times as fast as the dense stage": dense / sum(each.microseconds for each in outcomes),
        **_k_numbers(_TEN, points, [each.ten for each in outcomes]),
        f"{_TEN}: disagreements, %": 100
        * sum(each.ten_disagreements for each in outcomes)
        / sum(len(each.ten) for each in outcomes),
    }


def _k_numbers(rows: str, points: npt.NDArray[np.int64], evaluations: list[npt.NDArray[np.int64]]) -> Numbers:
    k, pooled = np.array([each.mean() for each in evaluations]), np.concatenate(evaluations)
    folds = points / k
    return {
        f"{rows}: k min, max": (int(pooled.min()), int(pooled.max())),
        f"{rows}: k mean, median": (float(k.mean()), float(np.median(pooled))),
        f"{rows}: L/k": float(points.sum() / k.sum()),
        f"{rows}: L/k, mean over the pairs": float(folds.mean()),
        f"{rows}: L/k of the pairs: least, median": (float(folds.min()), float(np.median(folds))),
    }


def each_pair(kernel: str, results: list[Result]) -> Table:
    """A line for each pair: L/k and disagreements of every variant."""
    columns: dict[str, Numbers] = {
        "L": {each.pair: each.points for each in results},
        "errors": {each.pair: each.errors for each in results},
    }
    for name in results[0].outcomes:
        columns[name] = {each.pair: _fold(each, name) for each in results}
    notes = ("errors of the machine; L/k and disagreements of each variant, on the pair's own test digits",)
    return Table(f"{_TITLE}: each pair, {kernel}", columns, notes)


def _fold(result: Result, name: str) -> tuple[float, int]:
    outcome = result.outcomes[name]
    return result.points / float(outcome.evaluations.mean()), outcome.disagreements

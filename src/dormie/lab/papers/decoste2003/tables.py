"""DeCoste & Mazzoni 2003, *Fast Query-Optimized Kernel Machine Classification*: its 45 pairs of MNIST digits.

k is the number of support vectors that a row is compared with: one for the linear filter, then the nearest ones, and
all of them if the partial sum never passes a threshold. It is at least one, because a row that the sketch alone settles
is not free. L/k over many machines is the sum of their support vectors divided by the sum of their mean k.

The paper's k leaves out the sketch, by which each row finds its order. The sketch costs as much as many support
vectors, so lines that count it come first, and say so; those that count as the paper does are beside its numbers.
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
    BEFORE,
    FILTER,
    MACHINES,
    PAIRS,
    SMOOTHED,
    SVM_FILTER,
    Extent,
    Pair,
    kinds,
    variants,
)
from dormie.lab.papers.decoste2003.reduced import SHARE, reduced_variants
from dormie.lab.papers.decoste2003.rivals import Rivals, rivals_of
from dormie.lab.papers.table import Cell, Numbers, Table
from dormie.machine import Floats, Machine
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.predictor import cascade
from dormie.predictor.cascade import CascadeResult
from dormie.progress import Progress

FULL = Extent(PAIRS, ((0, 1), (2, 7), (3, 8), (4, 9)))  # two easy pairs and two hard ones
SMALL = Extent(((0, 1), (3, 8)), (), held_out=500, most_rows=700, risk=0.01, budget=256, hull=200)

_TITLE = "DeCoste & Mazzoni 2003"
_KEPT = "support vectors"
_OWN, _TEN = "own digits", "all ten digits"
_BY_PAPER = "L/k as the paper counts, without the sketch"
_PRINTED: Numbers = {f"{_OWN}: {_BY_PAPER}, mean over the pairs": 111}


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
    ten_work: float
    ten_disagreements: int


@dataclass(frozen=True, eq=False)
class Result:
    """One machine: its size, its errors, the dense stage's time per row, and the outcome of every variant."""

    pair: str
    points: int
    rows: int
    errors: int
    microseconds: float
    rivals: Rivals
    outcomes: Mapping[str, Outcome]


def tables(_seconds: float) -> Iterator[Table]:
    """All pairs with both kernels: more than an hour. Each machine is timed in only three rounds."""
    return tables_of(FULL)


def small_tables(_seconds: float) -> Iterator[Table]:
    """Two pairs with a few hundred digits each: a few seconds, at a risk that so few rows can certify."""
    return tables_of(SMALL)


def tables_of(extent: Extent) -> Iterator[Table]:
    """For each kernel: all machines together, each pair, and of few pairs reduced sets and plans of any stages."""
    data = datasets.load("mnist")
    for kernel, train in MACHINES.items():
        results, reduced, free = [], [], []
        with Progress() as progress:
            for digits in extent.pairs:
                pair = Pair.of(data, digits, extent)
                progress.say(f"{kernel}: {pair.name}")
                machine = train(pair)
                results.append(measure(machine, pair, variants(machine, pair, extent)))
                if digits in extent.few_pairs:
                    reduced.append(measure(machine, pair, reduced_variants(machine, pair, extent)))
                    free.append(Free.of(machine, pair, extent.risk))
        for before in BEFORE:
            yield together(kernel, results, before, extent)
        yield speedups(kernel, results)
        yield disagreements(kernel, results)
        yield each_pair(kernel, results)
        if free:
            yield reduced_table(kernel, reduced, results)
            yield free_table(f"{_TITLE}: {kernel}", free)


def measure(machine: Machine, pair: Pair, found: Mapping[str, Cascade]) -> Result:
    """Run all variants on the pair's own test digits and on all ten digits, timed in turns with the dense stage."""
    full = Dense(machine)
    right, right_of_ten = (full.decide(rows).answers for rows in (pair.test, pair.all_ten))
    cascades = {name: early.before(full) for name, early in {"": Cascade.of(), **found}.items()}
    tasks = {name: partial(cascade.run, each, pair.test) for name, each in cascades.items()}
    times = {name: 1e6 * min(spent) / len(pair.test) for name, spent in interleave(tasks, 0).items()}
    outcomes = {name: _outcome(cascades[name], pair, right, right_of_ten, times[name]) for name in found}
    errors, rivals = _errors(machine, right, pair), rivals_of(machine, pair)
    return Result(pair.name, machine.n_points, len(right), errors, times[""], rivals, outcomes)


def _outcome(
    whole: Cascade, pair: Pair, right: npt.NDArray[np.intp], right_of_ten: npt.NDArray[np.intp], microseconds: float
) -> Outcome:
    stages, own, ten = whole.stages, cascade.run(whole, pair.test), cascade.run(whole, pair.all_ten)
    return Outcome(
        np.maximum(own.evaluations, 1) * np.ones_like(right),
        _work(stages, own),
        int(np.sum(own.answers != right)),
        _errors(stages[-1].machine, own.answers, pair),
        float(np.mean(np.broadcast_to(own.settled_by, len(right)) == 0)) if stages[0].name == "linear_filter" else 0.0,
        microseconds,
        np.maximum(ten.evaluations, 1) * np.ones_like(right_of_ten),
        _work(stages, ten),
        int(np.sum(ten.answers != right_of_ten)),
    )


def _work(stages: tuple[Stage, ...], found: CascadeResult) -> float:
    """Evaluations per row, and what the stages that a row reaches cost besides: the sketch of the nearest stage."""
    besides = sum(stage.overhead * float(np.mean(found.settled_by >= at)) for at, stage in enumerate(stages))
    return float(np.mean(found.evaluations)) + besides


def _errors(machine: Machine, answers: npt.NDArray[np.intp], pair: Pair) -> int:
    return int(np.sum(machine.rule.labels(answers) != pair.test_signs))


def together(kernel: str, results: list[Result], before: str, extent: Extent) -> Table:
    """The results of all machines of one kernel together, with or without the filter before the nearest stage."""
    columns = {"paper": _PRINTED if before == SVM_FILTER else {}}
    columns |= {kind: _summary(results, before + kind) for kind in kinds(before)}
    notes = (
        "k: support vectors compared with a row, the filter counting as one; L/k: sum of L over sum of k, all machines",
        "with the sketch: k and what the sketch of a row costs, in support vectors",
        "simple, smoothed: the paper's thresholds, measured on held-out digits; they carry no guarantee",
        f"hull: simple, measured also on {2 * extent.hull:,} rows made in the convex hull of the training digits",
        f"calibrated: at most {100 * extent.risk:g} % disagreement, certified on held-out digits with 95 % confidence",
        f"at most {extent.budget:,} nearest support vectors, 60 PCA dimensions; then the dense stage",
        "all ten digits: every fifth test digit of MNIST, most of them of neither class",
        "the copy of the paper used lacks its numbers, except for the 111-fold of its last section",
    )
    which = {"": "no filter", FILTER: "our filter", SVM_FILTER: "the paper's filter, a linear SVM"}[before]
    title = f"{_TITLE}: {len(results)} pairs of MNIST digits, {kernel}, {which}"
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
        **_k_numbers(_OWN, points, [each.evaluations for each in outcomes], [each.work for each in outcomes]),
        f"{_OWN}: disagreements": int(wrong.sum()),
        f"{_OWN}: disagreements, %": 100 * float(wrong.sum()) / rows,
        f"{_OWN}: most in one pair, %": max(100 * w / each.rows for w, each in zip(wrong, results, strict=True)),
        f"{_OWN}: errors more than the machine's": sum(each.outcomes[name].errors - each.errors for each in results),
        f"{_OWN}: errors of the machines": sum(each.errors for each in results),
        f"{_OWN}: errors of linear SVMs": sum(each.rivals.linear for each in results),
        f"{_OWN}: errors of nearest neighbours": sum(each.rivals.neighbours for each in results),
        f"{_OWN}: settled by the filter, %": 100 * float(np.mean([each.filtered for each in outcomes])),
        f"{_OWN}: microseconds per row": float(np.mean([each.microseconds for each in outcomes])),
        f"{_OWN}: times as fast as the dense stage": dense / sum(each.microseconds for each in outcomes),
        **_k_numbers(_TEN, points, [each.ten for each in outcomes], [each.ten_work for each in outcomes]),
        f"{_TEN}: disagreements, %": 100
        * sum(each.ten_disagreements for each in outcomes)
        / sum(len(each.ten) for each in outcomes),
    }


def _k_numbers(
    rows: str, points: npt.NDArray[np.int64], evaluations: list[npt.NDArray[np.int64]], work: list[float]
) -> Numbers:
    k, pooled = np.array([each.mean() for each in evaluations]), np.concatenate(evaluations)
    folds, with_sketch = points / k, points / np.array(work)
    return {
        f"{rows}: L/k with the sketch": float(points.sum() / sum(work)),
        f"{rows}: L/k with the sketch, mean over the pairs": float(with_sketch.mean()),
        f"{rows}: L/k with the sketch, of the pairs: least, median": _least_and_median(with_sketch),
        f"{rows}: k min, max": (int(pooled.min()), int(pooled.max())),
        f"{rows}: k mean, median": (float(k.mean()), float(np.median(pooled))),
        f"{rows}: {_BY_PAPER}": float(points.sum() / k.sum()),
        f"{rows}: {_BY_PAPER}, mean over the pairs": float(folds.mean()),
        f"{rows}: {_BY_PAPER}, of the pairs: least, median": _least_and_median(folds),
    }


def _least_and_median(folds: Floats) -> tuple[float, float]:
    return float(folds.min()), float(np.median(folds))


def speedups(kernel: str, results: list[Result]) -> Table:
    """The paper's second table: L/k above the diagonal, L below it."""
    numbers = {each.pair: (_fold(each, SVM_FILTER + SMOOTHED)[1], each.points) for each in results}
    notes = ("above the diagonal: L/k as the paper counts, its filter and smoothed thresholds; below: L",)
    return _of_digits(f"{_TITLE}, table 2: {kernel}", numbers, notes)


def disagreements(kernel: str, results: list[Result]) -> Table:
    """The paper's third table: errors of the machine above the diagonal, disagreements with it below."""
    numbers = {each.pair: (each.errors, each.outcomes[SVM_FILTER + SMOOTHED].disagreements) for each in results}
    notes = ("above the diagonal: errors of the machine; below: disagreements, its filter and smoothed thresholds",)
    return _of_digits(f"{_TITLE}, table 3: {kernel}", numbers, notes)


def _of_digits(title: str, numbers: Mapping[str, tuple[float, float]], notes: tuple[str, ...]) -> Table:
    """A line and a column for each digit; of a pair the first number above the diagonal, the second below."""
    columns: dict[str, dict[str, Cell]] = {str(digit): {str(line): None for line in range(10)} for digit in range(10)}
    for pair, (above, below) in numbers.items():
        one, other = pair.split("-")
        columns[other][one], columns[one][other] = above, below
    return Table(title, columns, notes)


def each_pair(kernel: str, results: list[Result]) -> Table:
    """A line for each pair: L/k and disagreements of every variant."""
    columns: dict[str, Numbers] = {
        "L": {each.pair: each.points for each in results},
        "errors": {each.pair: each.errors for each in results},
        "linear SVM": {each.pair: each.rivals.linear for each in results},
        "neighbours": {each.pair: (each.rivals.neighbours, each.rivals.k) for each in results},
    }
    for name in results[0].outcomes:
        columns[name] = {each.pair: _fold(each, name) for each in results}
    notes = (
        "errors of the machine, of a linear SVM, and of nearest neighbours and how many of them; of each variant",
        "L/k with the sketch, L/k as the paper counts, and disagreements; all on the pair's own test digits",
    )
    return Table(f"{_TITLE}: each pair, {kernel}", columns, notes)


def _fold(result: Result, name: str) -> tuple[float, float, int]:
    outcome = result.outcomes[name]
    return result.points / outcome.work, result.points / float(outcome.evaluations.mean()), outcome.disagreements


def reduced_table(kernel: str, reduced: list[Result], results: list[Result]) -> Table:
    """Nearest reduced-set vectors beside nearest support vectors, a line for each pair."""
    vectors = {each.pair: each for each in results}
    columns: dict[str, Numbers] = {"L": {each.pair: each.points for each in reduced}}
    for kind in reduced[0].outcomes:
        columns[f"support vectors, {kind}"] = {each.pair: _fold(vectors[each.pair], kind) for each in reduced}
        columns[f"reduced set, {kind}"] = {each.pair: _fold(each, kind) for each in reduced}
    notes = (
        f"no filter; reduced sets of L/{SHARE} vectors, fitted on training digits; open rows go to all support vectors",
        "L/k with the sketch, L/k as the paper counts, and disagreements, on the pair's own test digits",
    )
    return Table(f"{_TITLE}: nearest reduced-set vectors, {kernel}", columns, notes)

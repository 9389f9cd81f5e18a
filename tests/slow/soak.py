"""Not one wrong answer: random machines and trained models, rows drawn near the decision boundary on purpose, every
certified stage, for as long as one likes. `make soak` checks ten million rows.

Machines are compared with an oracle in extended precision (`long_double`), by differences: outside r(x), the stated
rounding of the model's own sum, every settled answer is the oracle's; inside it, the model's own sum's. Every interval
contains the oracle, and no end is NaN; so do those of `Predictor.interval`, which intersects the stages of a plan, at
any budget, and they are finite where the first stage that fits the budget has a finite one.

Models are trained with scikit-learn on data that puts rows on the decision boundary (whole numbers, counts, one-hot
columns) or strains arithmetic (far clusters, timestamps, tiny and huge scales), and every label of the compiled model
equals scikit-learn's.

Every case comes from one seed, which is printed with what was wrong: `python -m tests.slow.soak 1 SEED` shows it again.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.rows import mapped, unmapped
from dormie.machine.rules import OneVsOneVote, Rule, Value
from dormie.methods.base import CertifiedStage
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.fitting import CannotFit
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.regions import Regions
from dormie.numerics import backend as native
from dormie.numerics.greedy_order import sgma, w_greedy
from dormie.numerics.rounding import source_rounding
from dormie.numerics.source_sum import SourceSum
from dormie.plan.cascade import Cascade
from dormie.plan.plan import Plan, Source
from dormie.planner.options import certified_guarantee
from dormie.predictor.predictor import Predictor
from tests.oracles import long_double
from tests.properties.strategies import POINTS, WEIGHTS, Generator, prepared, rule_for, sparse_weights
from tests.slow.soak_models import check_model

ROWS = 1000  # of one machine
BOUNDARY_ROWS = 64  # found by halving, the others lie around them
MODELS = 0.25  # share of the seeds that train a model


@dataclass
class Tally:
    """What was checked so far."""

    cases: int = 0
    rows: int = 0  # each counts once, however many stages saw it
    intervals: int = 0
    plan_intervals: int = 0  # of whole plans, each row at one budget
    settled: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    inside: int = 0  # rows within r(x) of the decision boundary
    model_rows: int = 0  # of trained models
    by_source: int = 0  # of those, decided by the model's own sum

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {self.settled[name] / self.seen[name]:.0%}" for name in sorted(self.seen))
        return (
            f"{self.rows:,} rows of {self.cases:,} machines and models, nothing wrong; {self.intervals:,} intervals, "
            f"{self.plan_intervals:,} of whole plans; "
            f"settled: {shares}; {self.inside:,} within r(x); {self.model_rows:,} labels as scikit-learn's, "
            f"{self.by_source:,} of them by its own sum"
        )


class Disagreement(Exception):
    """A certified answer that is wrong."""


def soak(rows: int, seed: int = 0) -> Iterator[Tally]:
    """Case after case until that many rows are done; raises `Disagreement` at the first that is wrong."""
    tally = Tally()
    while tally.rows < rows:
        check_seed(seed, tally)
        seed += 1
        yield tally


def check_seed(seed: int, tally: Tally) -> None:
    """One machine with its stages, or one trained model, and rows."""
    rng = np.random.default_rng(seed)
    try:
        with np.errstate(all="ignore"):
            if rng.random() < MODELS:
                rows, by_source = check_model(rng)
                tally.rows, tally.model_rows = tally.rows + rows, tally.model_rows + rows
                tally.by_source += by_source
            else:
                _check_machine(rng, tally)
    except AssertionError as error:
        raise Disagreement(f"{error}\n  again: python -m tests.slow.soak 1 {seed}") from error
    tally.cases += 1


@dataclass(frozen=True)
class Truth:
    """What is right of some rows of a machine."""

    machine: Machine
    rows: Any
    real: Any  # outputs, extended precision
    reach: Floats  # r(x)
    own: Any  # answers of the machine's own sum
    outside: Any  # whether r(x) leaves the answer of the real outputs in no doubt
    compared: Any  # whether the rule itself, which may add outputs up, stays within the range of doubles


def _check_machine(rng: Generator, tally: Tally) -> None:
    machine = random_machine(rng)
    dense = Dense(machine)
    rows = _in_some_form(rng, _rows_near_the_decision_boundary(rng, dense))
    truth = _truth(machine, rows)
    stages = _stages(rng, machine, dense)
    for stage in stages:
        _check_answers(stage, truth, tally)
        low, high = stage.interval(rows, _some_budget(rng, stage))
        _check_interval(stage, truth, low, high)
        tally.intervals += len(low)
    _check_whole_plan(rng, truth, stages, tally)
    tally.rows += len(truth.outside)
    tally.inside += int((~truth.outside).sum())


def _truth(machine: Machine, rows: Any) -> Truth:
    plain = rows.toarray() if scipy.sparse.issparse(rows) else rows
    real = long_double.outputs(machine, plain)
    norms = np.linalg.norm(mapped(machine, rows).astype(np.longdouble), axis=1).astype(np.float64)
    reach = source_rounding(machine)(norms) * (1 + 2.0**-8)  # the oracle rounds too, 2000 times less
    rule = machine.rule
    near = real.astype(np.float64)
    own = SourceSum(machine).outputs(rows)
    outside = np.isfinite(near).all(axis=1) & np.isfinite(own).all(axis=1)
    compared = ~outside | (np.abs(near).sum(axis=1) < 1e307) | ~np.full(len(near), getattr(rule, "break_ties", False))
    if not isinstance(rule, Value):
        outside &= rule.settled(near - reach, near + reach)
        same = rule.answer(own) == rule.answer(near)
        assert same[outside & compared].all(), f"r(x) is too small: {machine!r}"
    return Truth(machine, rows, real, reach, own if isinstance(rule, Value) else rule.answer(own), outside, compared)


def _check_answers(stage: CertifiedStage, truth: Truth, tally: Tally) -> None:
    """Settled answers are the oracle's outside r(x), and the machine's own inside: so they are its own everywhere."""
    found, rule = stage.decide(truth.rows), truth.machine.rule
    settled = np.ones(len(truth.outside), dtype=bool) if found.settled is None else found.settled
    if isinstance(rule, Value):
        off = np.abs(found.answers - truth.real)
        wrong = (off > rule.tolerance + 4 * truth.reach + 2.0**-40 * np.abs(truth.real)).any(axis=1) & truth.outside
    else:
        right = np.where(truth.outside, rule.answer(truth.real.astype(np.float64)), truth.own)
        wrong = (found.answers != right) & truth.compared
    tally.seen[stage.name] += len(settled)
    tally.settled[stage.name] += int(settled.sum())
    for row in np.flatnonzero(wrong & settled)[:1]:
        raise AssertionError(_report(stage, truth, found.answers, int(row)))


def _some_budget(rng: Generator, stage: CertifiedStage) -> int:
    """One at which the interval is finite."""
    budgets = stage.budgets or (stage.machine.n_points,)  # fast stopping has none before the full sum of few terms
    return budgets[int(rng.integers(len(budgets)))]


def _check_whole_plan(rng: Generator, truth: Truth, stages: list[CertifiedStage], tally: Tally) -> None:
    """All stages in any order, at any budget: what `Predictor.interval` says contains the oracle."""
    dense, *early = stages
    early = [early[position] for position in rng.permutation(len(early))]
    machine, guarantee = truth.machine, certified_guarantee(truth.machine.rule)
    plan = Plan(machine, Cascade.of(*early, dense), guarantee, Source("soak", machine.n_points))
    budget = int(rng.integers(min(int(rng.choice([4, 16, 64, 256])), machine.n_points) + 1))
    ends = Predictor(plan).interval(truth.rows, budget)
    low, high = (end.reshape(-1, machine.n_outputs) for end in ends)
    _check_interval(plan.cascade, truth, low, high)
    first = next((stage for stage in [*early, dense] if stage.budgets and stage.budgets[0] <= budget), None)
    if first is not None:
        own_low, own_high = first.interval(truth.rows, budget)
        infinite = ~np.isfinite(low) | ~np.isfinite(high)
        assert not (infinite & np.isfinite(own_low) & np.isfinite(own_high)).any(), (
            f"{plan.cascade}, budget {budget}: {machine!r}"
        )
    tally.plan_intervals += len(low)


def _check_interval(stage: CertifiedStage | Cascade, truth: Truth, low: Floats, high: Floats) -> None:
    """The ends themselves round, and so does the oracle, by less than a thousandth of r(x)."""
    assert not np.isnan(low).any(), f"{stage}: a low end is NaN, {truth.machine!r}"
    assert not np.isnan(high).any(), f"{stage}: a high end is NaN, {truth.machine!r}"
    slack = truth.reach * 2.0**-9 + np.abs(truth.real).astype(np.float64) * 2.0**-52
    known = np.isfinite(truth.real.astype(np.float64))
    outside = ((truth.real < low - slack) | (truth.real > high + slack)) & known
    for row, output in np.argwhere(outside)[:1]:
        raise AssertionError(
            f"{stage}, row {row}, output {output}: [{low[row, output]}, {high[row, output]}] does not contain "
            f"{truth.real[row, output]}\n  {truth.machine!r}"
        )


def _report(stage: CertifiedStage, truth: Truth, answers: Any, row: int) -> str:
    rows, machine = truth.rows, truth.machine
    values = rows[[row]].toarray()[0] if scipy.sparse.issparse(rows) else rows[row]
    where = "outside" if truth.outside[row] else "inside"
    return (
        f"stage {stage}, row {row}, {where} r(x): settled as {answers[row]}, its own sum says {truth.own[row]}\n"
        f"  {machine!r}\n  rule {machine.rule}\n  row {values.tolist()}, {rows.dtype}\n"
        f"  outputs {truth.real[row].tolist()}, r(x) {truth.reach[row].tolist()}"
    )


def random_machine(rng: Generator) -> Machine:
    """Everyday numbers in every other machine, extreme ones in the rest."""
    count, features = int(rng.integers(1, 200)), int(rng.choice([1, 2, 3, 5, 8, 20, 70]))
    outputs = int(rng.choice([1, 1, 1, 3, 6]))
    points, weights = rng.normal(size=(count, features)), sparse_weights(rng, count, outputs)
    if rng.random() < 0.5:
        points = _of(POINTS, rng, (count, features))
        weights = _of(WEIGHTS, rng, (count, outputs)) if rng.random() < 0.5 else weights * 10.0 ** rng.uniform(-12, 12)
    if rng.random() < 0.2:
        points[rng.integers(0, count, size=count // 2)] = points[0]
    if rng.random() < 0.2:
        weights[:, int(rng.integers(outputs))] = 0
    input_map = Affine(rng.normal(size=features), rng.uniform(0.1, 10, size=features)) if rng.random() < 0.3 else None
    rule: Rule = rule_for(outputs, int(rng.integers(6)))
    if rng.random() < 0.1:
        rule = Value(tolerance=float(10.0 ** rng.uniform(-6, 1)), flat=outputs == 1)
    if _beside(rng).random() < 0.3:
        points = np.abs(points)
    bias = rng.normal(size=outputs)
    made = Machine(_random_kernel(rng, points), points, np.clip(weights, -1e300, 1e300), bias, rule, input_map)
    steps = _beside(rng)
    return prepared(made, points[:1], steps)[0] if steps.random() < 0.2 else made


def _beside(rng: Generator) -> Generator:
    """A generator of its own, so that what it is asked for leaves the cases of all seeds as they were."""
    return rng.spawn(1)[0]


def _of(styles: dict[str, Any], rng: Generator, shape: tuple[int, int]) -> Floats:
    made: Floats = styles[sorted(styles)[int(rng.integers(len(styles)))]](rng, shape)
    return made


def _random_kernel(rng: Generator, points: Floats) -> Kernel:
    """A gamma that suits the points, or one from far off."""
    spread = float(np.clip(np.mean(np.var(points, axis=0)) * points.shape[1], 1e-12, 1e12))
    if len(points) > 2 and rng.random() < 0.3:  # what lies near counts, however far the rest is
        near = np.sort(((points[:20, None] - points[None]) ** 2).sum(axis=2), axis=1)[:, min(2, len(points) - 1)]
        spread = float(np.clip(np.median(near), 1e-12, 1e24))
    gamma = 10.0 ** rng.uniform(-1.5, 1.5) / spread if rng.random() < 0.7 else 10.0 ** rng.uniform(-6, 6)
    degree, coef0 = int(rng.integers(1, 8)), float(rng.choice([0.0, 1.0, 0.01, 100.0]))
    kernels: list[Kernel] = [RBF(gamma)] * 5 + [Polynomial(gamma, coef0, degree)] * 3
    kernels += [Linear(), Normalized(Linear()), Normalized(RBF(gamma)), Sigmoid(gamma, coef0)]
    kernels += [Normalized(Polynomial(gamma, coef0, degree)), Polynomial(gamma, -coef0, degree)]
    beside = _beside(rng)
    if beside.random() < 0.3:
        scale, alpha = gamma**-0.5, 10.0 ** beside.uniform(-2, 3)
        others = [
            *(Matern(nu, scale) for nu in (0.5, 1.5, 2.5)),
            RationalQuadratic(alpha, scale),
            Laplacian(gamma**0.5),
        ]
        return others[int(beside.integers(len(others)))]
    return kernels[int(rng.integers(len(kernels)))]


def _stages(rng: Generator, machine: Machine, dense: Dense) -> list[CertifiedStage]:
    stages: list[CertifiedStage] = [dense]
    if machine.kernel.positive_semidefinite:
        stages.append(FastStopping(machine))
        with contextlib.suppress(ValueError, CannotFit):  # numbers that leave nothing to certify are refused
            stages.append(Geometry.build(machine, _landmarks(rng, machine)))
        with contextlib.suppress(ValueError, CannotFit):
            stages.append(_regions(rng, machine))
        with contextlib.suppress(ValueError, CannotFit):
            stages.append(_reduced_set(rng, machine))
        if isinstance(machine.rule, OneVsOneVote) and len(machine.rule.classes) > 2:
            with contextlib.suppress(ValueError, CannotFit):
                vectors = _landmarks(rng, machine)
                stages.append(Champion(machine, ReducedSet.project(machine, vectors, [len(vectors)]).levels))
    return stages


def _regions(rng: Generator, machine: Machine) -> Regions:
    """A few regions, the centers anywhere."""
    stages = [Geometry.build(machine, _landmarks(rng, machine)) for _ in range(int(rng.integers(1, 4)))]
    return Regions(machine, machine.points[rng.integers(machine.n_points, size=len(stages))], stages)


def _reduced_set(rng: Generator, machine: Machine) -> ReducedSet:
    """Vectors as landmarks are drawn, with the best weights; or, now and then, all points with all weights."""
    if rng.random() < 0.2:
        return ReducedSet.build(machine, machine.points, [machine.weights])
    vectors = _landmarks(rng, machine)
    sizes = {*rng.integers(1, len(vectors) + 1, size=2).tolist(), len(vectors)} if len(vectors) else set()
    return ReducedSet.project(machine, vectors, sorted(sizes))


def _landmarks(rng: Generator, machine: Machine) -> Floats:
    """The points in an order that serves, in any order, some of them twice, or points that are none of them."""
    points = machine.points
    match rng.choice(["w_greedy", "w_greedy", "sgma", "any", "free", "near"]):
        case "w_greedy":
            return np.asarray(points[w_greedy(machine, int(rng.integers(1, 120)))])
        case "sgma":
            return np.asarray(points[sgma(machine, int(rng.integers(1, 40)), seed=int(rng.integers(100)))])
        case "any":
            return np.asarray(points[rng.permutation(len(points))])
        case "free":
            return np.asarray(rng.normal(size=(40, points.shape[1])) * points.std(axis=0) + points.mean(axis=0))
    return np.asarray(points + rng.normal(size=points.shape) * points.std() * 10.0 ** rng.uniform(-6, -1))


def _rows_near_the_decision_boundary(rng: Generator, dense: Dense) -> Floats:
    """Rows between rows of different answers, halved down to the decision boundary and then moved a little or less."""
    machine = dense.machine
    points = machine.points[rng.integers(0, machine.n_points, size=2 * BOUNDARY_ROWS)]
    scale = np.abs(points).mean() * 10.0 ** rng.uniform(-3, 1, size=(len(points), 1))
    start = points + rng.normal(size=points.shape) * scale
    if (points >= 0).all():  # rows without negative coordinates too, more or less of them
        chance = _beside(rng)
        start = np.where(chance.random((len(start), 1)) < chance.random(), np.abs(start), start)
    start = unmapped(machine, start)
    ends = np.clip(start, -1e300, 1e300)
    one, other = ends[:BOUNDARY_ROWS], ends[BOUNDARY_ROWS:]
    for depth in range(60):
        middle = one / 2 + other / 2
        same = _answers(dense, middle) == _answers(dense, one)
        moved = (rng.random(len(one)) > depth / 400)[:, None]  # some stay behind
        one, other = np.where(same[:, None] & moved, middle, one), np.where(~same[:, None] & moved, middle, other)
    base = np.vstack([one, other, ends])[rng.integers(0, 4 * BOUNDARY_ROWS, size=ROWS)]
    noise = rng.normal(size=base.shape) * 10.0 ** rng.uniform(-18, 0, size=(ROWS, 1))
    rows = base * (1 + noise * (rng.random((ROWS, 1)) < 0.8))
    return np.asarray(np.nan_to_num(np.clip(rows, -1e300, 1e300)))


def _answers(dense: Dense, rows: Floats) -> Any:
    """Classes, or the side of a value's first output that zero is on: any decision boundary will do."""
    outputs, rule = dense.full_sum.outputs(rows), dense.machine.rule
    return outputs[:, 0] > 0 if isinstance(rule, Value) else rule.answer(outputs)


def _in_some_form(rng: Generator, rows: Floats) -> Any:
    form = rng.random()
    if form < 0.2:
        return np.clip(rows, -1e30, 1e30).astype(np.float32)
    if form < 0.4:
        return scipy.sparse.csr_array(np.where(rng.random(rows.shape) < 0.5, rows, 0.0))
    return np.asfortranarray(rows) if form < 0.5 else rows


def main(rows: int = 10_000_000, seed: int = 0) -> int:
    if not native.info()["native"]:
        print("the native core is what is on trial, and it is not there: build it first")
        return 2
    start = said = time.monotonic()
    try:
        for tally in soak(rows, seed):
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(f"{said - start:6.0f} s  {tally}", flush=True)
    except Disagreement as found:
        print(f"wrong: {found}", flush=True)
        return 1
    print(f"done in {time.monotonic() - start:.0f} s: {tally}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument.replace("_", "")) for argument in sys.argv[1:])))

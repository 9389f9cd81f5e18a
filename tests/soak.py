"""Not one certified disagreement: random machines, rows drawn near the boundary on purpose, every stage, for as long as
one likes. `make soak` runs ten million row checks.

A disagreement is a settled answer other than the float64 dense answer, while the float64 outputs are further from the
border than their own rounding reaches (`Dense.interval`), or an interval of a reduced set that does not reach them.
Rows nearer to the border than that are counted apart. Every machine and its rows come from one seed, which is printed
with a disagreement: `python -m tests.soak 1 SEED` shows it again.
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

from dormie import native
from dormie.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.landmarks import sgma, w_greedy
from dormie.machine import Affine, Floats, Machine
from dormie.rules import Rule, Value
from dormie.stages import Dense, FastStopping, Geometry, ReducedSet, Stage

from .strategies import POINTS, WEIGHTS, Generator, rule_for, sparse_weights

ROWS = 1000  # of one machine
BORDER_ROWS = 64  # found by halving, the others lie around them


@dataclass
class Tally:
    """What was checked so far, over all machines."""

    machines: int = 0
    checks: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    on_the_border: int = 0  # rows nearer to it than rounding
    border_differences: int = 0  # settled otherwise than float64 among those: neither is wrong

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {self.settled[name] / self.seen[name]:.0%}" for name in sorted(self.seen))
        return (
            f"{self.checks:,} row checks on {self.machines:,} machines, no disagreement; settled: {shares}; "
            f"{self.on_the_border:,} on the border, {self.border_differences:,} of them settled otherwise"
        )


class Disagreement(Exception):
    """A certified answer that is wrong."""


def soak(checks: int, seed: int = 0) -> Iterator[Tally]:
    """Machine after machine until that many row checks are done; raises `Disagreement` at the first."""
    tally = Tally()
    while tally.checks < checks:
        check_seed(seed, tally)
        seed += 1
        yield tally


def check_seed(seed: int, tally: Tally) -> None:
    """One machine, its stages and its rows."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        machine = random_machine(rng)
        dense = Dense(machine)
        rows = _in_some_form(rng, _rows_near_the_border(rng, dense))
        outputs, radius = dense.interval(rows)
        expected = machine.rule.answer(outputs)
        clear = machine.rule.settled(outputs - radius, outputs + radius)
        for stage in _stages(rng, machine, dense):
            _check(stage, rows, expected, radius, clear, tally, seed)
            if isinstance(stage, ReducedSet):
                _check_intervals(stage, rows, outputs, radius, seed)
    tally.machines += 1
    tally.on_the_border += int((~clear).sum())


def _check(stage: Stage, rows: Any, expected: Any, radius: Floats, clear: Any, tally: Tally, seed: int) -> None:
    found = stage.decide(rows)
    settled = np.ones(len(clear), dtype=bool) if found.settled is None else found.settled
    rule = stage.machine.rule
    if isinstance(rule, Value):
        different = (np.abs(found.answers - expected) > rule.tolerance + 1.0001 * radius).any(axis=1)
        clear = np.isfinite(expected).all(axis=1)
    else:
        different = found.answers != expected
    tally.checks += len(clear)
    tally.seen[stage.name] += len(clear)
    tally.settled[stage.name] += int(settled.sum())
    tally.border_differences += int((different & settled & ~clear).sum())
    wrong = np.flatnonzero(different & settled & clear)
    if len(wrong):
        raise Disagreement(_report(stage, rows, found.answers, expected, radius, int(wrong[0]), seed))


def _check_intervals(stage: ReducedSet, rows: Any, outputs: Floats, radius: Floats, seed: int) -> None:
    """Every level's intervals reach the float64 outputs, which are themselves within a radius of the real ones."""
    for level, size in enumerate(stage.sizes):
        middle, reach = stage.interval(rows, level)
        outside = np.abs(middle - outputs) > reach + 1.0001 * radius
        if outside.any():
            row, output = np.argwhere(outside)[0]
            raise Disagreement(
                f"seed {seed}, stage {stage}, row {row}, output {output}, {size} vectors: {middle[row, output]} within "
                f"{reach[row, output]}, float64 says {outputs[row, output]} within {radius[row, output]}\n"
                f"  {stage.machine!r}\n  again: python -m tests.soak 1 {seed}"
            )


def _report(stage: Stage, rows: Any, answers: Any, expected: Any, radius: Floats, row: int, seed: int) -> str:
    machine = stage.machine
    values = rows[[row]].toarray()[0] if scipy.sparse.issparse(rows) else rows[row]
    return (
        f"seed {seed}, stage {stage.name}, row {row}: settled as {answers[row]}, float64 says {expected[row]}\n"
        f"  {machine!r}\n  rule {machine.rule}\n  row {values.tolist()}, {rows.dtype}\n"
        f"  outputs {Dense(machine).outputs(rows)[row].tolist()} within {radius[row].tolist()}\n"
        f"  again: python -m tests.soak 1 {seed}"
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
    bias = rng.normal(size=outputs)
    return Machine(_random_kernel(rng, points), points, np.clip(weights, -1e300, 1e300), bias, rule, input_map)


def _of(styles: dict[str, Any], rng: Generator, shape: tuple[int, int]) -> Floats:
    made: Floats = styles[sorted(styles)[int(rng.integers(len(styles)))]](rng, shape)
    return made


def _random_kernel(rng: Generator, points: Floats) -> Kernel:
    """A gamma that suits the points, or one from far off."""
    spread = float(np.clip(np.mean(np.var(points, axis=0)) * points.shape[1], 1e-12, 1e12))
    gamma = 10.0 ** rng.uniform(-1.5, 1.5) / spread if rng.random() < 0.7 else 10.0 ** rng.uniform(-6, 6)
    degree, coef0 = int(rng.integers(1, 8)), float(rng.choice([0.0, 1.0, 0.01, 100.0]))
    kernels: list[Kernel] = [RBF(gamma)] * 5 + [Polynomial(gamma, coef0, degree)] * 3
    kernels += [Linear(), Normalized(Linear()), Normalized(RBF(gamma)), Sigmoid(gamma, coef0)]
    kernels += [Normalized(Polynomial(gamma, coef0, degree)), Polynomial(gamma, -coef0, degree)]
    return kernels[int(rng.integers(len(kernels)))]


def _stages(rng: Generator, machine: Machine, dense: Dense) -> list[Stage]:
    stages: list[Stage] = [dense]
    if machine.kernel.positive_semidefinite:
        stages.append(FastStopping(machine))
        with contextlib.suppress(ValueError):  # numbers that leave nothing to certify are refused
            stages.append(Geometry.build(machine, _landmarks(rng, machine)))
        with contextlib.suppress(ValueError):
            stages.append(_reduced_set(rng, machine))
    return stages


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


def _rows_near_the_border(rng: Generator, dense: Dense) -> Floats:
    """Rows between rows of different answers, halved down to the border and then moved a little or less."""
    machine = dense.machine
    points = machine.points[rng.integers(0, machine.n_points, size=2 * BORDER_ROWS)]
    scale = np.abs(points).mean() * 10.0 ** rng.uniform(-3, 1, size=(len(points), 1))
    start = points + rng.normal(size=points.shape) * scale
    if machine.input_map is not None:
        start = start * machine.input_map.scale + machine.input_map.center
    ends = np.clip(start, -1e300, 1e300)
    one, other = ends[:BORDER_ROWS], ends[BORDER_ROWS:]
    for depth in range(60):
        middle = one / 2 + other / 2
        same = _answers(dense, middle) == _answers(dense, one)
        moved = (rng.random(len(one)) > depth / 400)[:, None]  # some stay behind
        one, other = np.where(same[:, None] & moved, middle, one), np.where(~same[:, None] & moved, middle, other)
    base = np.vstack([one, other, ends])[rng.integers(0, 4 * BORDER_ROWS, size=ROWS)]
    noise = rng.normal(size=base.shape) * 10.0 ** rng.uniform(-18, 0, size=(ROWS, 1))
    rows = base * (1 + noise * (rng.random((ROWS, 1)) < 0.8))
    return np.asarray(np.nan_to_num(np.clip(rows, -1e300, 1e300)))


def _answers(dense: Dense, rows: Floats) -> Any:
    """Classes, or the side of a value's first output that zero is on: any border will do."""
    outputs, rule = dense.outputs(rows), dense.machine.rule
    return outputs[:, 0] > 0 if isinstance(rule, Value) else rule.answer(outputs)


def _in_some_form(rng: Generator, rows: Floats) -> Any:
    form = rng.random()
    if form < 0.2:
        return np.clip(rows, -1e30, 1e30).astype(np.float32)
    if form < 0.4:
        return scipy.sparse.csr_array(np.where(rng.random(rows.shape) < 0.5, rows, 0.0))
    return np.asfortranarray(rows) if form < 0.5 else rows


def main(checks: int = 10_000_000, seed: int = 0) -> int:
    if not native.info()["native"]:
        print("the native core is what is on trial, and it is not there: build it first")
        return 2
    start = said = time.monotonic()
    try:
        for tally in soak(checks, seed):
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(f"{said - start:6.0f} s  {tally}", flush=True)
    except Disagreement as found:
        print(f"certified disagreement: {found}", flush=True)
        return 1
    print(f"done in {time.monotonic() - start:.0f} s: {tally}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument.replace("_", "")) for argument in sys.argv[1:])))

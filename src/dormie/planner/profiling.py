"""Measures the profile of this computer: every method's stages on small made-up machines of many shapes.

Each method fits its own candidates to a machine, as for a plan, so nothing here knows the methods. What a stage takes,
less the entry of its rows, is explained by its work (`work.work_of`): the costs of the units are the non-negative
ones with the least error, as a ratio. A stage that settles nothing before another tells what that stage takes without
the entry, and so the entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Polynomial
from dormie.machine.rules import OneVsOneVote, Sign
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.methods.dense import Dense, cheapest
from dormie.methods.fitting import CalibratedFitting, CannotFit, CertifiedFitting, Effort, Sample
from dormie.methods.linear_filter.fitting import LinearMachine
from dormie.methods.linear_filter.stage import LinearFilter
from dormie.methods.thresholds import NEVER, Thresholds
from dormie.numerics.blas_threads import one_thread
from dormie.plan.cascade import Cascade
from dormie.planner.clock import best_of
from dormie.planner.work import ENTRY, UNITS, FastAt, Features, features_of, key_of, kind_of, work_of
from dormie.predictor.cascade import run
from dormie.progress import Progress

_ROWS = 1024  # timed in a batch
_SINGLE_ROWS = 48  # timed in calls of their own
_FITTING_ROWS = 256  # few, as it does not matter how well the stages fit
_ROUNDS = 5
_DENSITY = 0.1  # share of the values of sparse rows that are not 0
_BOLD = 1.0  # caution
_REFITS, _FARTHEST = 20, 0.05  # rounds, and the least ratio that a round takes a prediction for
_LEAST, _LEAST_ENTRY = 0.05, 0.1  # shares of the time of a stage alone, where noise leaves less for it or for the entry
_EFFORT = Effort("measuring", _FITTING_ROWS, 0.0, (16, 64), (), (), (), (16,), (8,), 1.0, rarely_fastest=True)


@dataclass(frozen=True)
class _Shape:
    """A machine to measure on; only the full sum and methods without fitting are measured on large ones."""

    features: int
    points: int
    classes: int = 2
    polynomial: bool = False
    sparse: bool = False

    @property
    def fits(self) -> bool:
        return self.points == 512


_SHAPES = (
    _Shape(2, 512),
    _Shape(16, 512, classes=4),
    _Shape(32, 1024, polynomial=True),
    _Shape(64, 512),
    _Shape(32, 512, classes=10),
    _Shape(256, 512),
    _Shape(2, 256),
    _Shape(8, 4096),
    _Shape(64, 4096, classes=10),
    _Shape(128, 8192),
    _Shape(512, 2048),
    _Shape(100, 1024, classes=4, sparse=True),
    _Shape(400, 512, sparse=True),
    _Shape(200, 4096, sparse=True),
)


@dataclass(frozen=True, eq=False)
class _Observation:
    """What a stage took for the rows, and its work for them; both means of a row."""

    key: str
    seconds: float
    work: Floats


def measured() -> dict[str, dict[str, float]]:
    """The costs of all methods on this computer."""
    with Progress() as progress, one_thread():
        observed = list(_observed(progress))
    grouped: dict[str, list[_Observation]] = defaultdict(list)
    for each in observed:
        grouped[each.key].append(each)
    entries = {key: _fitted(several) for key, several in grouped.items() if key.startswith(f"{ENTRY}/")}
    stages = {key: _fitted(_less(entries, several)) for key, several in grouped.items() if key not in entries}
    return dict(sorted((entries | stages).items()))


def _less(entries: Mapping[str, Mapping[str, float]], observed: Sequence[_Observation]) -> list[_Observation]:
    """What the stages alone took, without the entry of the rows."""
    found = []
    for each in observed:
        units = entries[f"{ENTRY}/{each.key.partition('/')[2]}"]
        entry = float(each.work @ [units.get(unit, 0.0) for unit in UNITS])
        found.append(replace(each, seconds=max(each.seconds - entry, _LEAST * each.seconds)))
    return found


def _observed(progress: Progress) -> Iterator[_Observation]:
    for number, shape in enumerate(_SHAPES, start=1):
        progress.say(f"measuring this computer, {number} of {len(_SHAPES)}")
        machine, rows = _machine(shape), _rows(shape, _ROWS, seed=1)
        stages = [*_large(machine, rows), *(_fitted_stages(machine, shape) if shape.fits else ())]
        for fast_at in ("batch", "row"):
            yield from _timed(machine, stages, rows, fast_at)


def _rows(shape: _Shape, count: int, seed: int) -> Any:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, shape.features))
    if not shape.sparse:
        return rows
    import scipy.sparse  # here: dormie is imported without scipy

    return scipy.sparse.csr_array(np.where(random.random(rows.shape) < _DENSITY, rows, 0.0))


def _machine(shape: _Shape) -> Machine:
    """Random points; each class has some of them, as in the vote of an SVC."""
    random = np.random.default_rng(0)
    points = _rows(shape, shape.points, seed=0)
    points = points.toarray() if shape.sparse else points
    kernel: Kernel = Polynomial(1 / shape.features, 1.0, 3) if shape.polynomial else RBF(0.5 / shape.features)
    of = random.integers(shape.classes, size=shape.points)
    labels = np.arange(shape.classes)
    if shape.classes == 2:
        weights = np.where(of == 1, 1.0, -1.0)[:, None] * random.random((shape.points, 1))
        return Machine(kernel, points, weights, np.zeros(1), Sign(labels))
    first, second = np.triu_indices(shape.classes, 1)
    signs = (of[:, None] == first).astype(float) - (of[:, None] == second)
    weights = signs * random.random(signs.shape)
    return Machine(kernel, points, weights, np.zeros(len(first)), OneVsOneVote(labels))


def _large(machine: Machine, rows: Any) -> Iterator[Stage]:
    """The full sum, and stages of methods that fit nothing."""
    dense = Dense(machine)
    yield dense
    last = cheapest(dense, rows)
    if last is not dense:
        yield last
    for method in METHODS.values():
        stage = method.stage_without_fitting(machine)
        if stage is not None:
            yield stage


def _fitted_stages(machine: Machine, shape: _Shape) -> Iterator[Stage]:
    """The candidates that all methods fit to a machine."""
    fitting, measuring = (Sample.of(machine, _rows(shape, _FITTING_ROWS, seed)) for seed in (2, 3))
    progress = Progress()
    certified = CertifiedFitting(machine, measuring.rows, _EFFORT, False, progress)
    calibrated = CalibratedFitting(machine, fitting, measuring, _EFFORT, False, 0, progress)
    for method in METHODS.values():
        if not method.is_usable_for(machine):
            continue
        fits: tuple[Callable[[], Iterator[Stage]], ...] = (
            partial(method.certified_candidates, certified),
            partial(method.calibrated_candidates, calibrated),
        )
        for fit in fits:
            yield from _without_failures(fit())


def _without_failures(stages: Iterator[Stage]) -> Iterator[Stage]:
    try:
        yield from stages
    except CannotFit:
        return


def _timed(machine: Machine, stages: Sequence[Stage], rows: Any, fast_at: FastAt) -> Iterator[_Observation]:
    """What the stages took, and the entry."""
    rows = rows if fast_at == "batch" else rows[:_SINGLE_ROWS]
    features = features_of(rows)
    alone = [Cascade((stage,), (_BOLD,)) for stage in stages]
    none, every = _filter(machine, NEVER), _filter(machine, 0.0)
    tasks = [_task(cascade, rows, fast_at) for cascade in (*alone, Cascade.of(every), Cascade.of(none, every))]
    *seconds, once, twice = (total / rows.shape[0] for total in best_of(tasks, _ROUNDS))
    entry = max(2 * once - twice, _LEAST_ENTRY * once)
    yield _Observation(key_of(ENTRY, features.sparse, fast_at), entry, _work_of_entry(features))
    for stage, total in zip(stages, seconds, strict=True):
        evaluations = np.asarray(stage.decide(rows, _BOLD).evaluations, dtype=np.float64)
        work = work_of(stage, np.broadcast_to(evaluations, rows.shape[0]), features).mean(axis=0)
        yield _Observation(key_of(kind_of(stage), features.sparse, fast_at), total, work)


def _filter(machine: Machine, half: float) -> LinearFilter:
    """A cheap stage that settles all rows or, if no value passes its thresholds, none."""
    c = machine.n_outputs
    random = np.random.default_rng(0)
    linear = LinearMachine(random.normal(size=(c, machine.n_features)), np.zeros(c))
    return LinearFilter(machine, linear, Thresholds(np.zeros(c), np.full(c, half)))


def _work_of_entry(features: Features) -> Floats:
    units = {"row": 1.0, "feature": features.number}
    return np.array([units.get(unit, 0.0) for unit in UNITS])


def _task(cascade: Cascade, rows: Any, fast_at: FastAt) -> Callable[[], Any]:
    if fast_at == "batch":
        return partial(run, cascade, rows, 1)
    singly = [rows[i : i + 1] for i in range(rows.shape[0])]
    return partial(_run_singly, cascade, singly)


def _run_singly(cascade: Cascade, rows: Sequence[Any]) -> None:
    for row in rows:
        run(cascade, row, 1)


def _fitted(observed: Sequence[_Observation]) -> dict[str, float]:
    """The non-negative costs whose times have ratios r to those observed with the least sum of r + 1/r.

    For times s and predictions p that is p/s + s/p. Its slope, (p - s)(p + s) / (s p^2), is that of least squares whose
    weights are (p + s) / (2 s p^2); each round takes these from the last one's predictions.
    """
    from scipy.optimize import nnls  # here: it takes longer to import than all of dormie

    least = 1e-9  # seconds: shorter times are no more than the clock's noise
    seconds = np.array([max(each.seconds, least) for each in observed])
    work = np.array([each.work for each in observed])
    predicted, found = seconds, np.zeros(len(UNITS))
    for _ in range(_REFITS):
        weights = np.sqrt((predicted + seconds) / (2 * seconds)) / predicted
        scale = np.where((largest := (work * weights[:, None]).max(axis=0)) > 0, largest, 1.0)
        found = nnls(work * weights[:, None] / scale, seconds * weights)[0] / scale
        predicted = np.sqrt(
            predicted * np.maximum(work @ found, _FARTHEST * seconds)
        )  # half a step, so that it settles
    return {unit: float(cost) for unit, cost in zip(UNITS, found, strict=True) if cost > 0}

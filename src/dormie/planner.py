"""From a model to a plan: read, simplify exactly, and choose the stages by what they measure on sample rows.

Every candidate is run on the same rows on this machine, interleaved, best of several; the cheapest list of stages
wins, and it must win clearly: a plan that is no better than the dense stage alone is the dense stage alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np

from dormie import flow
from dormie.errors import UnreadableModelError
from dormie.kernels import Custom
from dormie.landmarks import Expansion, RadiusGreedy
from dormie.machine import Floats, Machine
from dormie.plan import Exact, Guarantee, Plan, Source, Tolerance, Trial
from dormie.predictor import Predictor
from dormie.progress import Progress
from dormie.readers import read
from dormie.rows import check_rows, is_sparse
from dormie.rules import Value
from dormie.sample import sample_rows
from dormie.simplify import simplify
from dormie.stages import STAGES, Dense, FastStopping, Geometry, Stage
from dormie.stages.base import require_inner_product

_LONGEST_DESCRIPTION = 200
_SAMPLE = 2048
_SAMPLE_SECONDS = 0.2  # what one run of the dense stage over the sample may take
_ROUNDS = 3
_FINAL_ROUNDS = 7  # between the first entry and the best
_CLEAR_WIN = 0.9  # of the dense stage's time
_SMALLEST_MACHINE = 64  # points: with fewer there is nothing to save
_FIRST_LANDMARKS = 64
_LANDMARK_ROWS = 256  # sample rows that landmarks are chosen for
_MOST_LANDMARKS = 1024
_MOST_COORDINATES = 25_000_000  # points x landmarks held while landmarks are chosen: 200 MB
_ENOUGH_SETTLED = 0.999
_HOPELESS = 0.01


def compile(
    model: Any,
    rows: Any | None = None,
    *,
    tolerance: float | None = None,
    methods: Sequence[str] | None = None,
    seed: int = 0,
) -> Predictor:
    """A predictor that gives the same answers as `model`, sooner.

    model      a fitted scikit-learn model, the path of a LIBSVM model file, or a `Machine`; see `dormie.read`
    rows       sample queries, unlabelled: they only inform the choice of stages (default: made from support vectors)
    tolerance  for regressors: how far a value may be off (default: not at all)
    methods    the stages to choose from, by name (default: all); the dense stage always follows
    seed       of the sample
    """
    if isinstance(model, Predictor):
        raise UnreadableModelError(
            "this Predictor is compiled already: use it as it is, or compile the model it came from"
        )
    machine = read(model)
    source = Source(_describe(model), machine.n_points, _versions())
    machine, guarantee = _promise(machine, tolerance)
    with Progress() as progress:
        progress.say(f"simplifying {machine.n_points:,} points")
        machine, rewrites = simplify(machine)
        checked = None if rows is None else check_rows(rows, machine)
        stages, trials = _choose(machine, checked, methods, seed, progress)
    return Predictor(Plan(machine, stages, guarantee, source, rewrites, trials))


def _promise(machine: Machine, tolerance: float | None) -> tuple[Machine, Guarantee]:
    if tolerance is None:
        return machine, Exact()
    if not isinstance(machine.rule, Value):
        raise ValueError("tolerance is for regressors; a classifier's answers are exact without it")
    if not isinstance(tolerance, Real):
        raise TypeError(f"tolerance must be a number, such as 0.001, got {tolerance!r}")
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}; leave it out for exact values")
    return replace(machine, rule=replace(machine.rule, tolerance=float(tolerance))), Tolerance(float(tolerance))


def _choose(
    machine: Machine, rows: Any | None, methods: Sequence[str] | None, seed: int, progress: Progress
) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
    names = _method_names(methods)
    dense = Dense(machine)
    if names == [] or (names is None and not _worth_planning(machine)):
        return (dense,), ()
    sample = _affordable(dense, sample_rows(machine, rows, _SAMPLE, seed))
    contest = _Contest(sample, progress)
    if names is None:
        contest.add((dense,))
    for stage in _candidates(machine, names, contest, dense):
        contest.add((stage, dense))
    return contest.winner()


def _method_names(methods: Sequence[str] | None) -> list[str] | None:
    if methods is None:
        return None
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        example = methods if isinstance(methods, str) else Geometry.name
        raise TypeError(f"methods must be a list of names, such as [{example!r}]")
    unknown = [name for name in methods if name not in STAGES]
    if unknown:
        raise ValueError(f"no method is called {unknown[0]!r}; there are {', '.join(STAGES)}")
    return [name for name in methods if name != Dense.name]


def _worth_planning(machine: Machine) -> bool:
    exact_values = isinstance(machine.rule, Value) and machine.rule.tolerance == 0
    bounded = machine.kernel.positive_semidefinite and not isinstance(machine.kernel, Custom)
    return bounded and not exact_values and machine.n_points >= _SMALLEST_MACHINE


def _affordable(dense: Dense, sample: Any) -> Any:
    """As much of the sample as the dense stage gets through in reasonable time."""
    few = sample[:16]
    seconds = min(_seconds((dense,), few) for _ in range(2))
    return sample[: max(16, int(16 * _SAMPLE_SECONDS / max(seconds, 1e-9)))]


def _candidates(machine: Machine, names: list[str] | None, contest: _Contest, dense: Dense) -> Iterator[Stage]:
    if names is None or FastStopping.name in names:
        yield FastStopping(machine)
    if names is None or Geometry.name in names:
        try:
            yield from _geometries(machine, contest, dense)
        except ValueError:  # no landmarks can be had: the numbers are too large, too small, or too nearly dependent
            if names is not None:
                raise


def _geometries(machine: Machine, contest: _Contest, dense: Dense) -> Iterator[Geometry]:
    """Geometry stages of ever more landmarks, as long as more may settle more."""
    require_inner_product(machine, Geometry)
    most = min(_MOST_LANDMARKS, machine.n_points, _MOST_COORDINATES // max(machine.n_points, 1))
    expansion = Expansion.of(machine)
    greedy = RadiusGreedy(expansion, most, _mapped(machine, contest.sample[:_LANDMARK_ROWS]))
    n, settled = min(_FIRST_LANDMARKS, most), 0.0
    while True:
        contest.progress.say(f"trying {n:,} landmarks")
        landmarks = machine.points[greedy.extend(n)]
        if not len(landmarks):
            return
        full = Geometry.build(machine, landmarks, expansion)
        yield from (full.limited(n // part) for part in ((4, 2, 1) if n == _FIRST_LANDMARKS else (1,)))
        settled = contest.settled((full, dense))
        done = len(landmarks) < n or n >= most or settled >= _ENOUGH_SETTLED
        if done or (n >= 4 * _FIRST_LANDMARKS and settled < _HOPELESS):
            return
        n = min(2 * n, most)


def _mapped(machine: Machine, rows: Any) -> Floats:
    dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
    return dense if machine.input_map is None else machine.input_map(dense)


class _Contest:
    """Lists of stages, run on the same rows."""

    def __init__(self, sample: Any, progress: Progress) -> None:
        self.sample = sample
        self.progress = progress
        self.entries: list[tuple[Stage, ...]] = []

    def add(self, stages: tuple[Stage, ...]) -> None:
        self.entries.append(stages)

    def settled(self, stages: tuple[Stage, ...]) -> float:
        """The share of rows settled before the last stage."""
        if len(stages) == 1:
            return 0.0
        return float(np.mean(flow.run(stages, self.sample).settled_by < len(stages) - 1))

    def winner(self) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
        """The cheapest entry (the first, unless another is clearly cheaper), and what was measured of all."""
        self.progress.say(f"timing {len(self.entries)} candidates on {self.sample.shape[0]:,} rows")
        seconds = self._best_of(range(len(self.entries)), _ROUNDS)
        best = min(seconds, key=seconds.__getitem__)
        final = self._best_of({0, best}, _FINAL_ROUNDS)
        if final[best] > _CLEAR_WIN * final[0]:
            best = 0
        count = self.sample.shape[0]
        trials = tuple(
            Trial(flow.describe(stages), self.settled(stages), 1e6 * s / count)
            for stages, s in zip(self.entries, seconds.values(), strict=True)
        )
        return self.entries[best], trials

    def _best_of(self, entries: Iterable[int], rounds: int) -> dict[int, float]:
        """The least time of each entry, over rounds in which all take their turn."""
        times = [{i: _seconds(self.entries[i], self.sample) for i in entries} for _ in range(rounds)]
        return {i: min(round[i] for round in times) for i in times[0]}


def _seconds(stages: Sequence[Stage], rows: Any) -> float:
    """Processor time, all threads together: what a busy neighbour does to the clock on the wall stays out of it."""
    start = time.process_time()
    flow.run(stages, rows)
    return time.process_time() - start


def _describe(model: Any) -> str:
    text = " ".join((f"LIBSVM model {model}" if isinstance(model, str | PathLike) else repr(model)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."


def _versions() -> dict[str, str]:
    """Versions of what had a hand in the plan; scikit-learn only where it was in use."""
    import importlib.metadata  # here: it would be a quarter of the time `import dormie` takes

    packages = {"dormie": "dormie", "numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
    return {
        package: importlib.metadata.version(package) for module, package in packages.items() if module in sys.modules
    }

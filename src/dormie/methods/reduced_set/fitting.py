"""Fitting reduced sets: few vectors, shared by all outputs, in place of many points (Burges & Scholkopf 1997).

    reduced = fit(machine, [32, 128], rows)
    reduced.machine(32)             # the first 32 of the 128 vectors, with weights of their own

Two goals: outputs on rows (`outputs.py`), the default where rows are given, or the distance in feature space
(`norm.py`). Vectors are moved all together, or extracted one by one as in the paper (`one_by_one.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rows import check_rows, mapped
from dormie.methods.reduced_set.norm import Norm, step_work
from dormie.methods.reduced_set.one_by_one import extract
from dormie.methods.reduced_set.outputs import Outputs
from dormie.methods.reduced_set.slopes import require_slope
from dormie.methods.reduced_set.starts import middles_start, w_greedy_start
from dormie.methods.reduced_set.units import in_units
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.feature_space import FeatureVector
from dormie.numerics.greedy_order import w_greedy_order
from dormie.numerics.synthetic_rows import sample_rows
from dormie.progress import Progress

STARTS = {"middles": middles_start, "w_greedy": w_greedy_start}
OBJECTIVES = ("outputs", "norm")
METHODS = ("together", "one_by_one")
_CHEAP_STEP = 1e7  # multiply-adds
_MOST_ROWS = 500_000
_ROWS_A_VECTOR = 4  # with fewer rows than that the support vectors are fitted too


class Goal(Protocol):
    """What vectors are moved for."""

    def minimise(self, start: Floats, say: Callable[[int], None]) -> Floats: ...

    def weights(self, vectors: Floats) -> list[Floats]: ...


@dataclass(frozen=True)
class Reduced:
    """Nested reduced sets of a machine: the first n of the points, and for each n its own weights."""

    original: Machine
    points: Floats
    sizes: tuple[int, ...]
    weights: tuple[Floats, ...]

    def machine(self, size: int | None = None) -> Machine:
        """The machine over the first `size` vectors (default: over all)."""
        size = self.sizes[-1] if size is None else size
        if size not in self.sizes:
            raise ValueError(f"fitted sizes are {', '.join(map(str, self.sizes))}, not {size}")
        return replace(self.original, points=self.points[:size], weights=self.weights[self.sizes.index(size)])


def fit(
    machine: Machine,
    sizes: int | Iterable[int],
    rows: Any | None = None,
    *,
    objective: str | None = None,
    method: str = "together",
    start: str = "middles",
    seed: int = 0,
    outputs: Floats | None = None,
    most_rows: int = _MOST_ROWS,
) -> Reduced:
    """Reduced sets of one or several sizes, nested: each is the beginning of the next.

    rows       unlabelled rows like those to come; their outputs are what is fitted
    objective  "outputs" (default with rows) or "norm", the distance in feature space (default without)
    method     "together", or "one_by_one": as the paper extracts them, for the distance in feature space
    start      "middles" of the support vectors, class by class, or "w_greedy", the most telling of them
    seed       of the middles and of the batches of rows
    outputs    of the machine for these rows, where they are known already
    most_rows  of more rows than that, so many are drawn
    """
    nested = _checked_sizes(machine, sizes)
    require_slope(machine.kernel)
    objective = chosen_objective(machine, objective, method, start, rows)
    if not machine.weights.any():
        return _constant(machine, nested)
    bare, unit = in_units(replace(machine, input_map=None))
    with Progress() as progress, one_thread():
        goal: Goal = (
            Norm(bare, nested)
            if objective == "norm"
            else _outputs_goal(machine, bare, unit, rows, nested, seed, outputs, most_rows)
        )
        vectors = _vectors(bare, nested, goal, method, start, seed, progress)
        progress.say("solving for the weights")
        weights = goal.weights(vectors)
        if isinstance(goal, Outputs) and _norm_is_cheap(bare, nested[-1]):
            others = Norm(bare, nested).minimise(vectors, lambda step: progress.say(f"moving them on, step {step:,}"))
            vectors, weights = goal.better((vectors, weights), (others, goal.weights(others)))
        return Reduced(machine, vectors * unit, nested, tuple(weights))


def _norm_is_cheap(machine: Machine, n: int) -> bool:
    """Whether a look at the other goal costs seconds at most: it is the better one where the kernel is very smooth."""
    return machine.kernel.positive_semidefinite and step_work(machine, n) <= _CHEAP_STEP


def _checked_sizes(machine: Machine, sizes: int | Iterable[int]) -> tuple[int, ...]:
    asked = (sizes,) if isinstance(sizes, Integral) else tuple(sizes)  # type: ignore[arg-type]
    if not asked or not all(isinstance(n, Integral) for n in asked):
        raise TypeError(f"sizes must be a number of vectors or a list of such, got {sizes!r}")
    nested = tuple(sorted({int(n) for n in asked}))
    if nested[0] < 1:
        raise ValueError(f"a reduced set has at least 1 vector, {nested[0]} were asked for")
    if nested[-1] > machine.n_points:
        raise ValueError(
            f"a reduced set of {nested[-1]} vectors is larger than the machine, which has {machine.n_points}"
        )
    return nested


def chosen_objective(machine: Machine, objective: str | None, method: str, start: str, rows: Any | None) -> str:
    """The objective asked for, or else the usual one; ValueError where what is asked for cannot be had."""
    objective = objective or ("norm" if rows is None or method == "one_by_one" else "outputs")
    chosen = {"objective": (objective, OBJECTIVES), "method": (method, METHODS), "start": (start, tuple(STARTS))}
    for name, (value, allowed) in chosen.items():
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    if objective == "outputs" and rows is None:
        raise ValueError("objective='outputs' needs rows to fit the outputs on; training rows serve, without labels")
    if objective == "outputs" and method == "one_by_one":
        raise ValueError("method='one_by_one' is for objective='norm': vectors are extracted as the paper does it")
    if not machine.kernel.positive_semidefinite:
        _require_no_geometry(machine.kernel, objective, start)
    return objective


def _require_no_geometry(kernel: Kernel, objective: str, start: str) -> None:
    if objective == "norm":
        raise ValueError(
            f"{kernel} is no inner product, so there is no distance to be made small: pass rows, whose outputs can be "
            "fitted (training rows serve, without labels)"
        )
    if start == "w_greedy":
        raise ValueError(f"start='w_greedy' needs a kernel that is an inner product, not {kernel}: use 'middles'")


def _outputs_goal(
    machine: Machine,
    bare: Machine,
    unit: float,
    rows: Any,
    nested: tuple[int, ...],
    seed: int,
    outputs: Floats | None,
    most_rows: int,
) -> Outputs:
    """The goal over the rows: over some of them where they are very many, and the support vectors too where few."""
    checked = check_rows(rows, machine)
    given = mapped(machine, sample_rows(machine, checked, most_rows, seed))
    if len(given) < checked.shape[0]:
        outputs = None
    if len(given) < _ROWS_A_VECTOR * nested[-1]:
        given, outputs = np.vstack([given, machine.points]), None
    return Outputs(bare, given / unit, nested, seed, outputs)


def _vectors(
    machine: Machine, nested: tuple[int, ...], goal: Goal, method: str, start: str, seed: int, progress: Progress
) -> Floats:
    n = nested[-1]
    if method == "one_by_one":
        return extract(machine, n, lambda k: progress.say(f"vector {k:,} of {n:,}"))
    progress.say(f"choosing where {n:,} vectors start")
    vectors = STARTS[start](machine, n, seed)
    if len(nested) > 1 and machine.kernel.positive_semidefinite:
        vectors = vectors[w_greedy_order(machine, vectors, FeatureVector.of(machine))]
    return goal.minimise(vectors, lambda step: progress.say(f"moving {n:,} vectors, step {step:,}"))


def _constant(machine: Machine, nested: tuple[int, ...]) -> Reduced:
    """Of a machine without weights: nothing is to be fitted."""
    weights = tuple(np.zeros((n, machine.n_outputs)) for n in nested)
    return Reduced(machine, machine.points[: nested[-1]], nested, weights)

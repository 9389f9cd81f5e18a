"""Fitting reduced sets: few vectors, shared by all outputs, that approximate many points (Burges & Schölkopf 1997).

    reduced = fit(machine, [32, 128], rows)
    reduced.machine(32)             # the first 32 of the 128 vectors, with weights of their own

There are two objectives: the error of the outputs on rows (`outputs.py`), the default if there are rows, and the
distance in feature space (`norm.py`). Vectors are optimised jointly, or extracted one by one (`one_by_one.py`). The
paper does both: it extracts vectors one by one, and then optimises them jointly.
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
from dormie.methods.reduced_set.derivatives import require_derivative
from dormie.methods.reduced_set.initial_vectors import k_means_vectors, w_greedy_vectors
from dormie.methods.reduced_set.norm import Norm, step_work
from dormie.methods.reduced_set.one_by_one import extract
from dormie.methods.reduced_set.outputs import Outputs
from dormie.methods.reduced_set.rescaling import rescaled
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.feature_space import FeatureVector
from dormie.numerics.greedy_order import w_greedy_order
from dormie.numerics.synthetic_rows import sample_rows
from dormie.progress import Progress

INITIAL = {"middles": k_means_vectors, "w_greedy": w_greedy_vectors}
STARTS = (*INITIAL, "one_by_one")
OBJECTIVES = ("outputs", "norm")
PROCEDURES = ("together", "one_by_one")
_CHEAP_STEP = 1e7  # multiply-adds of a step of the norm objective
_MOST_ROWS = 500_000
_ROWS_A_VECTOR = 4  # with fewer rows for each vector, the support vectors are added to the rows


class Objective(Protocol):
    """The loss that vectors are optimised for."""

    def minimise(self, start: Floats, say: Callable[[int], None]) -> Floats:
        """Optimised vectors; `say` receives the number of each step."""

    def weights(self, vectors: Floats) -> list[Floats]:
        """The best weights of given vectors, for every size."""


@dataclass(frozen=True)
class Reduced:
    """Nested reduced sets of a machine: each size n uses the first n points, with its own weights."""

    original: Machine
    points: Floats
    sizes: tuple[int, ...]
    weights: tuple[Floats, ...]

    def machine(self, size: int | None = None) -> Machine:
        """The machine over the first `size` vectors (default: all)."""
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
    note: str = "",
) -> Reduced:
    """Reduced sets of one or several sizes, nested: each is a prefix of the next.

    rows       representative, unlabelled rows, on which outputs are fitted
    objective  "outputs" (default with rows), or "norm", the distance in feature space (default without)
    method     "together", or "one_by_one", the paper's first phase, with the objective "norm"
    start      of "together": "middles", the k-means centers of each class's support vectors; "w_greedy", support
               vectors chosen greedily to approximate w; or "one_by_one", vectors extracted one by one
    seed       for k-means and for the batches of rows
    outputs    the machine's outputs for these rows, if the caller has them
    most_rows  a sample of this many rows is used if there are more
    note       what progress says besides
    """
    nested = _checked_sizes(machine, sizes)
    require_derivative(machine.kernel)
    name = chosen_objective(machine, objective, method, start, rows)
    if not machine.weights.any():
        return _constant(machine, nested)
    bare, scale = rescaled(machine.bare)
    with Progress(note) as progress, one_thread():
        loss: Objective = (
            Norm(bare, nested)
            if name == "norm"
            else _outputs_objective(machine, bare, scale, rows, nested, seed, outputs, most_rows)
        )
        vectors = _vectors(bare, nested, loss, method, start, seed, progress)
        progress.say("solving for the weights")
        weights = loss.weights(vectors)
        if isinstance(loss, Outputs) and _norm_is_cheap(bare, nested[-1]):
            others = Norm(bare, nested).minimise(vectors, lambda step: progress.say(f"moving them on, step {step:,}"))
            vectors, weights = loss.better((vectors, weights), (others, loss.weights(others)))
        return Reduced(machine, vectors * scale, nested, tuple(weights))


def _norm_is_cheap(machine: Machine, n: int) -> bool:
    """Whether trying the objective "norm" too takes seconds at most; it is better where the kernel is very smooth."""
    return machine.kernel.positive_semidefinite and step_work(machine, n) <= _CHEAP_STEP


def _checked_sizes(machine: Machine, sizes: int | Iterable[int]) -> tuple[int, ...]:
    """The sizes in ascending order; raises if they are not between 1 and the number of points."""
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
    """The objective asked for, or the default; raises ValueError if the options do not fit each other or the kernel."""
    objective = objective or ("norm" if rows is None or method == "one_by_one" else "outputs")
    chosen = {"objective": (objective, OBJECTIVES), "method": (method, PROCEDURES), "start": (start, STARTS)}
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
    """Raise ValueError for options that need an inner product."""
    if objective == "norm":
        raise ValueError(
            f"{kernel} is not positive semi-definite, so |w - w'| is not defined: pass rows to fit outputs on "
            "(training rows will do, without labels)"
        )
    if start != "middles":
        raise ValueError(f"start={start!r} needs a kernel that is an inner product, not {kernel}: use 'middles'")


def _outputs_objective(
    machine: Machine,
    bare: Machine,
    scale: float,
    rows: Any,
    nested: tuple[int, ...],
    seed: int,
    outputs: Floats | None,
    most_rows: int,
) -> Outputs:
    """The objective on the rows: on a sample of very many rows, on rows and support vectors if rows are few."""
    checked = check_rows(rows, machine)
    given = mapped(machine, sample_rows(machine, checked, most_rows, seed))
    if len(given) < checked.shape[0]:
        outputs = None
    if len(given) < _ROWS_A_VECTOR * nested[-1]:
        given, outputs = np.vstack([given, machine.points]), None
    return Outputs(bare, given / scale, nested, seed, outputs)


def _vectors(
    machine: Machine, nested: tuple[int, ...], loss: Objective, method: str, start: str, seed: int, progress: Progress
) -> Floats:
    """The optimised vectors."""
    n = nested[-1]
    if "one_by_one" in (method, start):
        vectors = extract(machine, n, lambda k: progress.say(f"vector {k:,} of {n:,}"))
    else:
        progress.say(f"choosing {n:,} initial vectors")
        vectors = INITIAL[start](machine, n, seed)
    if method == "one_by_one":
        return vectors
    if len(nested) > 1 and machine.kernel.positive_semidefinite:
        vectors = vectors[w_greedy_order(vectors, FeatureVector.of(machine))]
    return loss.minimise(vectors, lambda step: progress.say(f"moving {n:,} vectors, step {step:,}"))


def _constant(machine: Machine, nested: tuple[int, ...]) -> Reduced:
    """The reduced sets of a machine without weights, where there is nothing to fit."""
    weights = tuple(np.zeros((n, machine.n_outputs)) for n in nested)
    return Reduced(machine, machine.points[: nested[-1]], nested, weights)

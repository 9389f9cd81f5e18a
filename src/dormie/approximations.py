"""Stages that are right on nearly all rows, for plans with a stated risk: fitted here, chosen in the contest, certified
by calibration.

Each comes in several cautions: how far its thresholds lie from where the rows that it was measured on would have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie import native
from dormie.contest import Family
from dormie.flips import flip_chances, vanishing_chances
from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.progress import Progress
from dormie.reduction import fit
from dormie.reduction.fitting import Reduced
from dormie.rows import mapped
from dormie.rules import OneVsOneVote, Sign
from dormie.stages import Dense, LinearFilter, Nearest, ReducedSet, TreeWalk
from dormie.stages.base import CautiousStage
from dormie.tree import fitted

# Sizes of reduced sets, those tried as well where vectors are short, and those where the full sum is very long.
_SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "quick": ((32, 128), (), ()),
    "normal": ((32, 128, 512), (16, 64, 256), (1024,)),
    "thorough": ((8, 16, 32, 64, 128, 256, 512, 1024), (), (2048,)),
}
_SHORT = 8192  # vectors x features
_LONG = 5_000_000  # points x features
_USUAL = frozenset({"linear_filter", "reduced_set"})
# nearest takes longer to fit, and rarely wins in seconds; nor does a tree, with kernels as quick as these
_METHODS = {"quick": _USUAL, "normal": _USUAL, "thorough": _USUAL | {"nearest", "tree"}}
_MOST_TO_FILTER = 20_000  # rows that a linear filter is fitted on, or a tree is grown on
_EVALUATIONS = {"quick": (8,), "normal": (8, 24), "thorough": (8, 16, 32, 64)}  # that a row takes in a tree
_LEAST_SHRINKING = 4  # times fewer vectors than points
_CAUTIONS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)


@dataclass(frozen=True)
class Seen:
    """Checked rows and the machine's outputs for them."""

    rows: Any
    outputs: Floats

    @classmethod
    def of(cls, machine: Machine, rows: Any) -> Seen:
        return cls(rows, Dense(machine).outputs(rows))

    def some(self, most: int, seed: int) -> Seen:
        count = self.rows.shape[0]
        few = np.sort(np.random.default_rng(seed).permutation(count)[:most])
        return self if count <= most else Seen(self.rows[few], self.outputs[few])


@dataclass(frozen=True)
class Approximations:
    """Stages of a machine that are fitted on some rows and measured on others."""

    machine: Machine
    fitting: Seen
    measuring: Seen
    effort: str
    seed: int
    progress: Progress

    @classmethod
    def of(
        cls, machine: Machine, fitting: Any, measuring: Any, effort: str, seed: int, progress: Progress
    ) -> Approximations:
        progress.say(f"evaluating {fitting.shape[0]:,} rows to fit on")
        return cls(machine, Seen.of(machine, fitting), Seen.of(machine, measuring), effort, seed, progress)

    def families(self, names: list[str] | None) -> Iterator[Family]:
        """Stages of the named methods (None: of all that usually pay), each at every caution."""
        right = self.machine.rule.answer(self.measuring.outputs)
        for stage in self._possible(names):
            estimate = stage.estimate(self.measuring.rows)
            if estimate is None:
                flips = vanishing_chances(stage, _CAUTIONS, self.measuring.rows, right)
            else:
                chances = flip_chances(self.machine.rule, estimate, self.measuring.outputs, self.seed)
                flips = [chances] * len(_CAUTIONS)
            yield Family([stage.cautious(caution) for caution in _CAUTIONS], flips)

    def _possible(self, names: list[str] | None) -> Iterator[CautiousStage]:
        """The stages up to the first that cannot be fitted; where methods are named, that is an error."""
        try:
            yield from self._fitted(names)
        except ValueError:
            if names is not None:
                raise

    def _fitted(self, names: list[str] | None) -> Iterator[CautiousStage]:
        machine, few = self.machine, self.fitting.some(_MOST_TO_FILTER, self.seed)
        usual = {TreeWalk.name} if isinstance(machine.kernel, Custom) else _METHODS[self.effort]
        wanted = usual if names is None else set(names)
        if LinearFilter.name in wanted:
            self.progress.say("fitting a linear filter")
            yield LinearFilter.fit(machine, few.rows, few.outputs)
        if Nearest.name in wanted and isinstance(machine.rule, Sign | OneVsOneVote):
            for form in ("query", "cells"):
                self.progress.say(f"fitting thresholds of the nearest support vectors ({form})")
                yield Nearest.fit(machine, self.fitting.rows, form=form)
        if ReducedSet.name in wanted and machine.kernel.positive_semidefinite:
            for reduced in self._reduced():
                yield from self._reduced_sets(reduced)

        if TreeWalk.name in wanted:
            yield from self._trees(few)

    def _trees(self, few: Seen) -> Iterator[TreeWalk]:
        for evaluations in _EVALUATIONS[self.effort]:
            if evaluations * _LEAST_SHRINKING <= self.machine.n_points:
                self.progress.say(f"growing a tree of {evaluations} evaluations a row")
                tree = fitted(self.machine, few.rows, evaluations=evaluations, seed=self.seed, outputs=few.outputs)
                yield TreeWalk.calibrated(self.machine, tree, self.measuring.rows, self.measuring.outputs)

    def _sizes(self) -> list[int]:
        usual, short, long = _SIZES[self.effort]
        d, points = self.machine.n_features, self.machine.n_points
        sizes = {*usual, *(n for n in short if n * d <= _SHORT), *(long if points * d >= _LONG else ())}
        return sorted(n for n in sizes if n * _LEAST_SHRINKING <= points)

    def _reduced(self) -> Iterator[Reduced]:
        """Reduced sets of all sizes, as many at a time as there are threads, the longest work first."""
        with ThreadPoolExecutor(native.threads()) as pool:
            fits = [pool.submit(self._fit, n) for n in reversed(self._sizes())]
            try:
                yield from (one.result() for one in reversed(fits))
            finally:
                pool.shutdown(cancel_futures=True)

    def _fit(self, n: int) -> Reduced:
        return fit(self.machine, n, self.fitting.rows, seed=self.seed, outputs=self.fitting.outputs)

    def _reduced_sets(self, reduced: Reduced) -> Iterator[ReducedSet]:
        """One fit with two kinds of half-widths: each output's own usual error, and the same for all."""
        machine, rows = self.machine, self.measuring.rows
        off = Dense(reduced.machine()).outputs(rows) - self.measuring.outputs
        own: Floats = np.sqrt(np.mean((off / _lengths(machine, rows)) ** 2, axis=0, keepdims=True))
        same = np.full_like(own, np.sqrt(np.mean(own**2)))
        for half_widths in (own, same) if machine.n_outputs > 1 else (own,):
            yield ReducedSet.calibrated(machine, reduced.points, reduced.weights, half_widths)


def _lengths(machine: Machine, rows: Any) -> Floats:
    """sqrt(K(x,x)), a column, nowhere 0."""
    own = machine.kernel.diagonal(mapped(machine, rows))
    return np.asarray(np.sqrt(np.maximum(own, np.finfo(np.float64).tiny))[:, None])

"""The reduced_set stage in NumPy: level after level, each a small machine with a radius."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.margin import LOST_LENGTH
from dormie.machine.rows import mapped_norms, require_finite
from dormie.machine.rules import OneVsOneVote, Value
from dormie.machine.typing import Booleans
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics.reference import blocks, partial_sum, settled_mapped
from dormie.numerics.rounding import margin


class ReducedSet:
    """The twin of the native core's `ReducedSet`; rho: levels x outputs.

    by_champion: whether the vote of three or more classes is settled only by a class that wins all its pairs
    """

    def __init__(self, machine: Machine, levels: Levels, rho: Floats, by_champion: bool) -> None:
        self._machine = machine
        rule = machine.rule
        self._vote = rule if by_champion and isinstance(rule, OneVsOneVote) and len(rule.classes) > 2 else None
        self._levels = list(zip(_machines(machine, levels), rho, strict=True))

    def interval(self, rows: Any, level: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row at a level."""
        require_finite(rows, self._machine)
        reduced, rho = self._levels[level]
        middle, radius = np.empty((2, rows.shape[0], self._machine.n_outputs))
        for block, part in blocks(reduced, rows):
            middle[block], radius[block] = _interval(reduced, rho, 1.0, part)
        return middle, radius

    def decide(self, rows: Any, caution: float) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row; caution: a factor on rho."""
        require_finite(rows, self._machine)
        n, rule = rows.shape[0], self._machine.rule
        values = isinstance(rule, Value)
        answers: Any = np.empty((n, self._machine.n_outputs)) if values else np.full(n, -1, dtype=np.intp)
        settled, evaluations = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
        norms = mapped_norms(self._machine, rows)
        for block, part in blocks(self._levels[-1][0], rows):
            for reduced, rho in self._levels:
                waiting = np.arange(n)[block][~settled[block]]
                left = part[~settled[block]]
                middle, radius = _interval(reduced, rho, caution, left)
                now = self._settled(norms[waiting], middle, radius)
                copied = slice(None) if values else now
                answers[waiting[copied]] = rule.answer(middle)[copied]
                evaluations[waiting], settled[waiting] = reduced.n_points, now
        return answers, settled, evaluations

    def _settled(self, norms: Floats, middle: Floats, radius: Floats) -> Booleans:
        """Which of the rows, of these norms, have one answer within their intervals."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._vote is None:
                return np.asarray(settled_mapped(self._machine, norms, middle - radius, middle + radius))
            radius = radius + margin(self._machine)(norms)
            return np.asarray(self._vote.champion(middle - radius, middle + radius) >= 0)


def _machines(machine: Machine, levels: Levels) -> list[Machine]:
    """The machine of each level."""
    sizes = levels.sizes.tolist()
    weights = np.split(levels.weights, np.cumsum(sizes)[:-1])
    points = [levels.points[:size] for size in sizes]
    return [replace(machine, points=z, weights=gamma) for z, gamma in zip(points, weights, strict=True)]


def _interval(reduced: Machine, rho: Floats, caution: float, rows: Floats) -> tuple[Floats, Floats]:
    """Middle and radius of mapped rows at one level."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle, rounding = partial_sum(reduced, rows, reduced.n_points)
        root = np.sqrt(reduced.kernel.diagonal(rows)) * (1 + 1e-9) + LOST_LENGTH
        radius = rounding + np.outer(root, caution * rho)
    usable = np.isfinite(middle) & np.isfinite(radius)  # the others get an infinite radius
    return np.where(usable, middle, 0.0), np.where(usable, radius, np.inf)

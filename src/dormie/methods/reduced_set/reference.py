"""The reduced_set stage in NumPy: level after level, each a small machine with a radius."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.margin import LOST_LENGTH
from dormie.machine.rules import Value
from dormie.machine.typing import Arrays
from dormie.numerics.reference import blocks, partial_sum, settled_mapped


def interval(machine: Machine, arrays: Arrays, rows: Any, level: int) -> tuple[Floats, Floats]:
    """Middle and radius of every output of every row at a level."""
    reduced, rho = _machines(machine, arrays)[level]
    middle, radius = np.empty((2, rows.shape[0], machine.n_outputs))
    for block, part in blocks(reduced, rows):
        middle[block], radius[block] = _interval(reduced, rho, part)
    return middle, radius


def decide(machine: Machine, arrays: Arrays, rows: Any) -> tuple[Any, Any, Any]:
    """Answers, which of them are settled, and the kernel evaluations of each row."""
    n, rule = rows.shape[0], machine.rule
    answers: Any = np.empty((n, machine.n_outputs)) if isinstance(rule, Value) else np.full(n, -1, dtype=np.intp)
    settled, evaluations = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    levels = _machines(machine, arrays)
    for block, part in blocks(levels[-1][0], rows):
        for reduced, rho in levels:
            waiting = np.arange(n)[block][~settled[block]]
            left = part[~settled[block]]
            middle, radius = _interval(reduced, rho, left)
            with np.errstate(over="ignore"):
                now = settled_mapped(machine, left, middle - radius, middle + radius)
            copied = slice(None) if isinstance(rule, Value) else now
            answers[waiting[copied]] = rule.answer(middle)[copied]
            evaluations[waiting], settled[waiting] = reduced.n_points, now
    return answers, settled, evaluations


def _machines(machine: Machine, arrays: Arrays) -> list[tuple[Machine, Floats]]:
    """The machine of each level, and its rho."""
    sizes = arrays["sizes"].tolist()
    weights = np.split(arrays["weights"], np.cumsum(sizes)[:-1])
    points = [arrays["points"][:size] for size in sizes]
    machines = [replace(machine, points=z, weights=gamma) for z, gamma in zip(points, weights, strict=True)]
    return list(zip(machines, arrays["rho"], strict=True))


def _interval(reduced: Machine, rho: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Middle and radius of mapped rows at one level."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle, rounding = partial_sum(reduced, rows, reduced.n_points)
        root = np.sqrt(reduced.kernel.diagonal(rows)) * (1 + 1e-9) + LOST_LENGTH
        radius = rounding + np.outer(root, rho)
    usable = np.isfinite(middle) & np.isfinite(radius)  # the others get an infinite radius
    return np.where(usable, middle, 0.0), np.where(usable, radius, np.inf)

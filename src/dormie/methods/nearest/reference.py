"""The nearest stage in NumPy: each row's own order of terms, and their sums step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.nearest.sketch import foreseen, scores, tug_of_war
from dormie.methods.thresholds import crossed
from dormie.numerics.reference import blocks

Arrays = Mapping[str, Any]


def order_of(machine: Machine, arrays: Arrays, rows: Any) -> Any:
    """The points in the order that each row takes them, or -1: see `stages.nearest`."""
    count = int(arrays["steps"][-1])
    order = np.full((rows.shape[0], count), -1, dtype=np.int64)
    for block, part in blocks(machine, rows):
        usable = _usable(part)
        if len(arrays["centers"]):
            found = arrays["orders"][cells_of(arrays["centers"], part[usable] @ arrays["basis"].T)]
        else:
            sizes = scores(machine, foreseen(machine, arrays["basis"], part[usable]))
            found = np.array([tug_of_war(machine, row, count) for row in sizes], dtype=np.int64).reshape(-1, count)
        order[block][usable] = found
    return order


def sums_of(machine: Machine, arrays: Arrays, rows: Any) -> tuple[Floats, Any]:
    """The partial sums after each step, rows x steps x outputs, NaN where numbers are too large, and the cells."""
    order, steps = order_of(machine, arrays, rows), arrays["steps"]
    sums, cells = np.full((rows.shape[0], len(steps), machine.n_outputs), np.nan), np.zeros(rows.shape[0], np.int64)
    for block, part in blocks(machine, rows):
        before = _foreseen(machine, arrays, part)
        for i, x, known in zip(range(block.start, block.stop), part, before, strict=True):
            if order[i, 0] >= 0:
                values = machine.kernel.matrix(x[None], machine.points[order[i]])[0] - known[order[i]]
                first = machine.bias + known @ machine.weights
                sums[i] = np.cumsum(np.vstack([first, machine.weights[order[i]] * values[:, None]]), axis=0)[steps]
                if len(arrays["centers"]):
                    [cells[i]] = cells_of(arrays["centers"], x[None] @ arrays["basis"].T)
    return sums, cells


def _foreseen(machine: Machine, arrays: Arrays, rows: Floats) -> Floats:
    """What counts for the values of terms still to come, rows x points."""
    if not arrays["foresight"].any():
        return np.zeros((len(rows), machine.n_points))
    return np.asarray(arrays["foresight"] * foreseen(machine, arrays["basis"], rows))


def decide(machine: Machine, arrays: Arrays, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any, Any]:
    """Answers, whether each is settled, and the terms that took; low and high: steps x cells x outputs."""
    sums, cells = sums_of(machine, arrays, rows)
    answers, settled = np.full(len(cells), -1, dtype=np.intp), np.zeros(len(cells), dtype=bool)
    terms = np.where(np.isnan(sums).all(axis=(1, 2)), 0, arrays["steps"][-1])
    for step, count in enumerate(arrays["steps"]):
        found, now = crossed(machine.rule, sums[:, step], low[step, cells], high[step, cells])
        now &= ~settled
        answers[now], terms[now] = found[now], count
        settled |= now
    return answers, settled, terms


def cells_of(centers: Floats, z: Floats) -> Any:
    """The cell whose centre each row is nearest to, in few coordinates."""
    return (z @ centers.T - np.einsum("ij,ij->i", centers, centers) / 2).argmax(axis=1)


def _usable(rows: Floats) -> Any:
    """Rows whose numbers the native core's floats have room for."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    return squares < 1e76

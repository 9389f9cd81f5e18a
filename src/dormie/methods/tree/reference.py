"""The tree stage in NumPy: rows go down the tree node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import Value
from dormie.methods.tree.structure import Tree, Walk
from dormie.numerics.reference import blocks


def walk(machine: Machine, tree: Tree, rows: Any) -> Walk:
    """The values, terminals and evaluations of rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        walks = [tree.walk(machine.kernel, part) for _, part in blocks(machine, rows)]
    nothing = Walk(np.empty((0, tree.n_outputs)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Walk(*(np.concatenate(parts) for parts in zip(nothing, *walks, strict=True)))


def decide(machine: Machine, tree: Tree, half_widths: Floats, rows: Any) -> tuple[Any, Any, Any]:
    """Answers, which of them are settled, and the kernel evaluations of each row; half_widths: terminals x outputs."""
    values, terminals, evaluations = walk(machine, tree, rows)
    usable, radius = np.asarray(np.isfinite(values).all(axis=1)), half_widths[terminals]
    middle = np.where(usable[:, None], values, 0.0)
    settled = machine.rule.settled(middle - radius, middle + radius) & usable
    if isinstance(machine.rule, Value):
        return machine.rule.answer(values), settled, evaluations
    return np.where(settled, machine.rule.answer(middle), -1), settled, evaluations

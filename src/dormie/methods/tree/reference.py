"""The tree stage in NumPy: rows go down the tree node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors
from dormie.machine.rules import Value
from dormie.methods.tree import structure
from dormie.methods.tree.structure import Walk
from dormie.numerics.reference import blocks


class Tree:
    """The twin of the native core's `Tree`."""

    def __init__(self, machine: Machine, tree: structure.Tree) -> None:
        self._machine = machine
        self._tree = tree

    def walk(self, rows: Any) -> Walk:
        """The values, terminals and evaluations of rows."""
        require_finite_vectors(rows, self._machine)
        kernel = self._machine.kernel
        with np.errstate(over="ignore", invalid="ignore"):
            walks = [self._tree.walk(kernel, part) for _, part in blocks(self._machine, rows)]
        nothing = Walk(np.empty((0, self._tree.n_outputs)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        return Walk(*(np.concatenate(parts) for parts in zip(nothing, *walks, strict=True)))

    def decide(self, rows: Any, half_widths: Floats) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the evaluations of each row; half_widths: terminals x outputs."""
        values, terminals, evaluations = self.walk(rows)
        usable, radius = np.asarray(np.isfinite(values).all(axis=1)), half_widths[terminals]
        middle, rule = np.where(usable[:, None], values, 0.0), self._machine.rule
        settled = rule.settled(middle - radius, middle + radius) & usable
        if isinstance(rule, Value):
            return rule.answer(values), settled, evaluations
        return np.where(settled, rule.answer(middle), -1), settled, evaluations

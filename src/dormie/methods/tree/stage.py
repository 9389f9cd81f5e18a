"""Support vector trees (Ukkonen 2010): the tree stage.

A row goes down a `dormie.tree.Tree` and evaluates the kernel with the points on its path, about log N of the N points.
The linear model of the terminal approximates the full sum:

    G(x)  within  caution * half_width[terminal]  of  sum_l W_l K(x, s_l) + constant.

There is no bound on the error, so the half-widths are measured: they are root mean square errors on sample rows that
ended at the same terminal. Calibration scales all of them by one caution, which determines how often answers may be
wrong. Only kernel values are used, so any kernel will do, including Python functions of strings or graphs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    arrays_of,
    names_of,
    parameters_from,
    require_state,
)
from dormie.methods.memory import Shapes, Size, extent, padded
from dormie.methods.thresholds import NEVER, require_caution, require_floats
from dormie.methods.tree import reference
from dormie.methods.tree.structure import Tree, Walk
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum

_INTEGERS = ("children", "offsets")
_NODE_BYTES = 500  # of a node or terminal, in the lists from which depths are computed
_SHARED_ROWS = 10.0  # pseudo-rows with the mean error of all rows, added to every terminal


class TreeWalk(NativeStage, CalibratedStage):
    """Intervals from the path down a tree.

    half_widths: terminals x outputs, before the caution; a terminal with half-width `thresholds.NEVER` settles no row.
    """

    name = "tree"
    words = "kernel values on a path down a tree, with an error interval measured on sample rows (Ukkonen 2010)"

    def __init__(self, machine: Machine, tree: Tree, half_widths: Floats) -> None:
        half_widths = np.array(half_widths, dtype=np.float64, order="C")
        _require_fit(machine, tree, half_widths)
        self.machine = machine
        self.tree = tree
        self.half_widths = half_widths
        self.details = "1 node" if tree.n_nodes == 1 else f"{tree.n_nodes} nodes"
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.Tree(core, *backend.contiguous(tree)),
            lambda: reference.Tree(machine, tree),
            by_products=True,
        )

    @classmethod
    def calibrated(cls, machine: Machine, tree: Tree, rows: Any, outputs: Floats | None = None) -> TreeWalk:
        """The stage with half-widths measured on checked, unlabelled rows.

        outputs: the machine's outputs for these rows, if the caller has them
        """
        outputs = FullSum(machine).outputs(rows) if outputs is None else outputs
        return cls(machine, tree, _measured(tree, cls.uncalibrated(machine, tree).walk(rows), outputs))

    @classmethod
    def uncalibrated(cls, machine: Machine, tree: Tree) -> TreeWalk:
        """A stage for estimates alone: it settles no row."""
        return cls(machine, tree, np.full(tree.constants.shape, NEVER))

    @property
    def size(self) -> int:
        return self.tree.n_nodes

    def native(self, caution: float) -> backend.extension.Stage | None:
        return backend.stage_of(self._core, _widened(self.half_widths, caution))

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        twin: Any = self._core
        return Decisions(*twin.decide(rows, _widened(self.half_widths, caution)))

    def walk(self, rows: Any) -> Walk:
        """The values, terminals and evaluations of rows."""
        return Walk(*self._core.walk(rows))

    def estimate(self, rows: Any) -> Floats:
        return self.walk(rows).values

    @property
    def answers_by_estimate(self) -> bool:
        return True

    def state(self) -> tuple[dict[str, Any], Arrays]:
        if self.machine.kernel.is_python:
            raise ValueError("tree: over a Python function as kernel it cannot be saved, nothing that runs can")
        return {}, arrays_of(self.tree) | {"half_widths": self.half_widths}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        nodes, terminals = extent(shapes, "points"), extent(shapes, "constants")
        points = nodes * (8 * machine.features + padded(machine.features + 1, 8) + _NODE_BYTES)
        weights = 16 * machine.outputs * (extent(shapes, "weights") + 8 * terminals)
        return points + weights + _NODE_BYTES * terminals

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> TreeWalk:
        require_state(cls.name, numbers, arrays, [*names_of(Tree), "half_widths"])
        for name, array in arrays.items():
            if array.dtype != (expected := np.int64 if name in _INTEGERS else np.float64):
                raise ValueError(f"tree: {name} must be {np.dtype(expected)}, got {array.dtype}")
        return cls(machine, parameters_from(Tree, arrays), arrays["half_widths"])

    def __reduce__(self) -> tuple[type[TreeWalk], tuple[Any, ...]]:
        return TreeWalk, (self.machine, self.tree, self.half_widths)


def _widened(half_widths: Floats, caution: float) -> Floats:
    """The half-widths at a caution; infinite at terminals that settle no row."""
    require_caution(caution)
    with np.errstate(over="ignore"):
        return np.where(half_widths < NEVER, caution * half_widths, np.inf)


def _require_fit(machine: Machine, tree: Tree, half_widths: Floats) -> None:
    """Raise ValueError unless the tree and its half-widths fit the machine."""
    if tree.n_outputs != machine.n_outputs:
        raise ValueError(f"tree: it gives {tree.n_outputs} outputs, the machine has {machine.n_outputs}")
    if not machine.kernel.is_python:
        require_floats(TreeWalk.name, "points", np.asarray(tree.points), (tree.n_nodes, machine.n_features))
    require_floats(TreeWalk.name, "half_widths", half_widths, (tree.n_terminals, machine.n_outputs))
    if (half_widths < 0).any():
        raise ValueError("tree: half_widths must not be negative")


def _measured(tree: Tree, walk: Walk, outputs: Floats) -> Floats:
    """The root mean square error at every terminal, shrunk to that of all rows where few rows end."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (walk.values - outputs) ** 2
    usable = np.isfinite(squares).all(axis=1)  # rows that overflow are never settled
    squares, terminals = squares[usable], walk.terminals[usable]
    if not len(squares):
        raise ValueError("tree: there are no rows to measure half-widths on")
    counts = np.bincount(terminals, minlength=tree.n_terminals)
    sums = np.column_stack([np.bincount(terminals, of_output, tree.n_terminals) for of_output in squares.T])
    return np.asarray(np.sqrt((sums + _SHARED_ROWS * squares.mean(axis=0)) / (counts[:, None] + _SHARED_ROWS)))

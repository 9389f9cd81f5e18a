"""The support vector tree as data: which kernel values a row needs, and what they come to.

Every node has a point s; a row x goes left where K(x, s) <= threshold, else right. Where the way ends there is a
*terminal*, a linear model over the kernel values met on it:

    value(x) = sum_l W_l K(x, s_l) + constant,      l = 0 .. depth - 1, the root first.

In the tree of Ukkonen (2010) all terminals below a node share its weight, c_N a_N; here each has its own, which costs
a row nothing and leaves how they are fitted to whoever grows the tree. A node that is not split has the same on both
sides: a terminal (the paper's leaf), or the next node of the way. The machine's bias is part of the constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.kernels import Kernel
from dormie.machine.rows import some

Integers = npt.NDArray[np.int64]


class Walk(NamedTuple):
    """Where rows came out: the value of every row and output, its terminal, the kernel values that took."""

    values: Floats
    terminals: Integers
    evaluations: Integers


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of N nodes and T terminals for c outputs. Frozen: arrays are private copies and read-only.

    points      one a node, in the coordinates of the machine's points: N x d, or a sequence of N objects of any kind
    thresholds  (N,)
    children    (N, 2), left and right: a node's number, greater than its parent's, or ~t for terminal t
    offsets     (T + 1,): the weights of terminal t are rows offsets[t] to offsets[t + 1], one for each node on the way
    weights     (sum of depths, c)
    constants   (T, c)

    Without nodes there is one terminal, and every row ends there.
    """

    points: Any
    thresholds: Floats
    children: Integers
    offsets: Integers
    weights: Floats
    constants: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _points(self.points))
        for name in ("thresholds", "weights", "constants"):
            object.__setattr__(self, name, np.atleast_1d(_floats(name, getattr(self, name))))
        for name in ("children", "offsets"):
            object.__setattr__(self, name, _integers(name, getattr(self, name)))
        self._check_shapes()
        _check_children(self.children, self.n_terminals)
        self._check_offsets()

    def _check_shapes(self) -> None:
        n, t = self.n_nodes, self.n_terminals
        c = self.constants.shape[1] if self.constants.ndim == 2 else 1
        total = int(self.offsets[-1]) if self.offsets.ndim == 1 and len(self.offsets) else 0
        shapes = {
            "thresholds": (n,),
            "children": (n, 2),
            "offsets": (t + 1,),
            "constants": (t, c),
            "weights": (total, c),
        }
        for name, shape in shapes.items():
            if (found := getattr(self, name).shape) != shape:
                raise ValueError(f"tree: {name} must have shape {shape} for {n} points and {t} terminals, got {found}")

    def _check_offsets(self) -> None:
        if self.offsets[0] != 0 or (wrong := np.diff(self.offsets) != self.depths).any():
            t = 0 if self.offsets[0] else int(np.argmax(wrong))
            raise ValueError(
                f"tree: terminal {t} has weights {self.offsets[t]} to {self.offsets[t + 1]}, "
                f"but {self.depths[t]} nodes lead to it; offsets start at 0 and add up the depths"
            )

    @property
    def n_nodes(self) -> int:
        return len(self.points)

    @property
    def n_terminals(self) -> int:
        return len(self.constants)

    @property
    def n_outputs(self) -> int:
        return int(self.constants.shape[1])

    @property
    def root(self) -> int:
        """The child that every row starts at: node 0, or the only terminal."""
        return 0 if self.n_nodes else ~0

    @cached_property
    def depths(self) -> Integers:
        """How many nodes lead to each terminal."""
        to_node = {self.root: 0}
        for node, pair in enumerate(self.children.tolist()):
            to_node.update((child, to_node[node] + 1) for child in pair)
        return np.array([to_node[~t] for t in range(self.n_terminals)], dtype=np.int64)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that lead to each terminal, the root first."""
        to_node: dict[int, tuple[int, ...]] = {self.root: ()}
        for node, pair in enumerate(self.children.tolist()):
            here = (*to_node[node], node)
            to_node.update((child, here) for child in pair)
        return tuple(to_node[~t] for t in range(self.n_terminals))

    def model(self, terminal: int) -> tuple[Floats, Floats]:
        """The weights (depth x c) and constants (c) of a terminal."""
        return self.weights[self.offsets[terminal] : self.offsets[terminal + 1]], self.constants[terminal]

    def walk(self, kernel: Kernel, rows: Any) -> Walk:
        """Where rows come out that are in the coordinates of the points: one call of the kernel for each node."""
        rows = rows if isinstance(rows, np.ndarray) else list(rows)
        n = len(rows)
        values, terminals = np.empty((n, self.n_outputs)), np.empty(n, dtype=np.int64)
        waiting = {self.root: (np.arange(n), np.empty((n, 0)))}  # rows at each child, and their kernel values so far
        for node, (left, right) in enumerate(self.children.tolist()):
            here, met = waiting.pop(node)
            k = _column(kernel, some(rows, here), self.points[node : node + 1])
            met = np.column_stack([met, k])
            goes_left = (k <= self.thresholds[node]) | (left == right)
            waiting[right] = here[~goes_left], met[~goes_left]
            waiting[left] = here[goes_left], met[goes_left]
        for child, (here, met) in waiting.items():
            weights, constant = self.model(~child)
            values[here], terminals[here] = met @ weights + constant, ~child
        return Walk(values, terminals, self.depths[terminals])

    def __reduce__(self) -> tuple[type[Tree], tuple[Any, ...]]:
        # Through the constructor, so that an unpickled tree is checked and read-only again.
        return Tree, tuple(getattr(self, f.name) for f in fields(self))


def _column(kernel: Kernel, rows: Any, point: Sequence[Any]) -> Floats:
    """K of rows with one point; no rows, no call: a function may not know what to make of none."""
    return kernel.matrix(rows, point)[:, 0] if len(rows) else np.empty(0)


def _points(points: Any) -> Any:
    """A private copy: vectors as a matrix, other things in an array or a list, as they came."""
    if not isinstance(points, np.ndarray):
        return list(points)
    if points.ndim == 0:
        raise ValueError(f"tree: points must be a matrix or a list, one for each node, got {points!r}")
    if points.dtype.kind in "fiub" and points.ndim == 2:
        return _floats("points", points)
    return points.copy()


def _floats(name: str, values: Any) -> Floats:
    """A private, read-only float64 copy, finite throughout."""
    array = np.array(values, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"tree: {name} must be finite, found {array[tuple(where)]} at {where}")
    array.setflags(write=False)
    return array


def _integers(name: str, values: Any) -> Integers:
    array = np.array(values, order="C")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"tree: {name} must be whole numbers, got {array.dtype}")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _check_children(children: Integers, n_terminals: int) -> None:
    """ValueError unless every node but the root, and every terminal, has one parent, and parents come first."""
    n = len(children)
    parents = np.arange(n)[:, None]
    if (wrong := (children >= n) | ((children >= 0) & (children <= parents)) | (~children >= n_terminals)).any():
        node = int(np.argmax(wrong.any(axis=1)))
        raise ValueError(
            f"tree: node {node} has children {children[node].tolist()}; each must be a later node, below {n}, "
            f"or ~t for a terminal t below {n_terminals}"
        )
    unsplit = children[:, 0] == children[:, 1]
    once = np.concatenate([children[:, 0], children[~unsplit, 1]]) if n else np.array([~0])
    _check_once("node", once[once >= 0], 1, n)
    _check_once("terminal", ~once[once < 0], 0, n_terminals)


def _check_once(what: str, found: Integers, first: int, end: int) -> None:
    times = np.bincount(found, minlength=end)[first:]
    if (times != 1).any():
        number = int(np.argmax(times != 1))
        raise ValueError(f"tree: {what} {number + first} has {times[number]} parents; it must have one")

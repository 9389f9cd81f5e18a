"""The support vector tree as data: the kernel values that a row needs, and the linear models over them.

Every node has a point s; a row x goes left if K(x, s) <= threshold, otherwise right. A path ends at a *terminal*, a
linear model over the kernel values on the path:

    value(x) = sum_l W_l K(x, s_l) + constant,      l = 0 .. depth - 1, the root first.

In the tree of Ukkonen (2010) all terminals below a node share its weight, c_N a_N. Here each terminal has its own
weights, which costs a row nothing and leaves the choice to the algorithm that grows the tree. A node that is not split
has the same child on both sides: a terminal (the paper's leaf), or the next node of the path. The constants include the
machine's bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.machine.kernels import Kernel
from dormie.machine.rows import some
from dormie.machine.typing import Integers, frozen_floats


class Walk(NamedTuple):
    """The result of rows going down a tree: values (rows x outputs), terminals, and kernel evaluations."""

    values: Floats
    terminals: Integers
    evaluations: Integers


@dataclass(frozen=True, eq=False)
class Tree:
    """
    A support vector tree of N nodes and T terminals for c outputs.

    A tree is frozen: its arrays are private, read-only copies. `greedy` and `fitted` grow one from a machine.

    Parameters
    ----------
    points : ndarray of shape (N, d)
        The point of each node, in the coordinates of the machine's points. With a `Custom` kernel, any sequence of N
        objects.
    thresholds : array-like of shape (N,)
        The threshold of each node: a row goes left if its kernel value with the node's point is at most this.
    children : array-like of int, of shape (N, 2)
        The left and right child of each node: a node, whose index is greater than its parent's, or ~t for terminal t.
        A node that is not split has the same child twice.
    offsets : array-like of int, of shape (T + 1,)
        The weights of terminal t are the rows offsets[t] to offsets[t + 1] of `weights`, one for each node on its path.
    weights : array-like of shape (sum of depths, c)
        The weights of the kernel values on the path to each terminal, the root first.
    constants : array-like of shape (T, c)
        The constant of each terminal.

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is not finite, or a node or terminal has no parent or several.

    Notes
    -----
    The value of a row x that ends at a terminal is sum_l W_l K(x, s_l) + constant over the nodes l on its path. A tree
    without nodes has one terminal, at which every row ends.

    Examples
    --------
    One node with the point (0, 0), and a terminal on either side:

    >>> import numpy as np
    >>> from dormie.kernels import RBF
    >>> from dormie.tree import Tree
    >>> tree = Tree(np.zeros((1, 2)), [0.5], [[~0, ~1]], [0, 1, 2], [[1.0], [2.0]], [[0.0], [1.0]])
    >>> tree.n_nodes, tree.n_terminals, tree.depths.tolist()
    (1, 2, [1, 1])
    >>> tree.walk(RBF(1.0), np.array([[3.0, 0.0], [0.0, 0.0]])).values.round(3).tolist()
    [[0.0], [3.0]]
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
            object.__setattr__(self, name, np.atleast_1d(frozen_floats(getattr(self, name), f"tree: {name}")))
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
        """Number of nodes."""
        return len(self.points)

    @property
    def n_terminals(self) -> int:
        """Number of terminals."""
        return len(self.constants)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.constants.shape[1])

    @property
    def root(self) -> int:
        """Where every row starts: node 0, or ~0 for the only terminal of a tree without nodes."""
        return 0 if self.n_nodes else ~0

    @cached_property
    def depths(self) -> Integers:
        """Number of nodes on the path to each terminal."""
        to_node = {self.root: 0}
        for node, pair in enumerate(self.children.tolist()):
            to_node.update((child, to_node[node] + 1) for child in pair)
        return np.array([to_node[~t] for t in range(self.n_terminals)], dtype=np.int64)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The nodes on the path to each terminal, the root first."""
        to_node: dict[int, tuple[int, ...]] = {self.root: ()}
        for node, pair in enumerate(self.children.tolist()):
            here = (*to_node[node], node)
            to_node.update((child, here) for child in pair)
        return tuple(to_node[~t] for t in range(self.n_terminals))

    def model(self, terminal: int) -> tuple[Floats, Floats]:
        """
        Return the linear model of a terminal.

        Parameters
        ----------
        terminal : int
            The index of the terminal.

        Returns
        -------
        weights : ndarray of shape (depth, c)
            The weights of the kernel values on the path, the root first.
        constant : ndarray of shape (c,)
            The constant of each output.
        """
        return self.weights[self.offsets[terminal] : self.offsets[terminal + 1]], self.constants[terminal]

    def walk(self, kernel: Kernel, rows: Any) -> Walk:
        """
        Send rows down the tree, with one call of the kernel for each node.

        Parameters
        ----------
        kernel : Kernel
            The machine's kernel.
        rows : ndarray of shape (n_rows, d)
            Rows in the coordinates of the points, after the machine's input map; with a `Custom` kernel, any objects.

        Returns
        -------
        Walk
            `values`, an ndarray of shape (n_rows, c); `terminals`, where each row ended; `evaluations`, the kernel
            evaluations of each row.
        """
        rows = rows if isinstance(rows, np.ndarray) else list(rows)
        n = len(rows)
        values, terminals = np.empty((n, self.n_outputs)), np.empty(n, dtype=np.int64)
        waiting = {self.root: (np.arange(n), np.empty((n, 0)))}  # rows at each child, and their kernel values so far
        for node, (left, right) in enumerate(self.children.tolist()):
            here, on_path = waiting.pop(node)
            k = _column(kernel, some(rows, here), self.points[node : node + 1])
            on_path = np.column_stack([on_path, k])
            goes_left = (k <= self.thresholds[node]) | (left == right)
            waiting[right] = here[~goes_left], on_path[~goes_left]
            waiting[left] = here[goes_left], on_path[goes_left]
        for child, (here, on_path) in waiting.items():
            weights, constant = self.model(~child)
            values[here], terminals[here] = on_path @ weights + constant, ~child
        return Walk(values, terminals, self.depths[terminals])

    def __reduce__(self) -> tuple[type[Tree], tuple[Any, ...]]:
        # Through the constructor, so that an unpickled tree is checked and read-only again.
        return Tree, tuple(getattr(self, f.name) for f in fields(self))


def _column(kernel: Kernel, rows: Any, point: Sequence[Any]) -> Floats:
    """Kernel values of rows with one point; no call for zero rows, which a Python function may not accept."""
    return kernel.matrix(rows, point)[:, 0] if len(rows) else np.empty(0)


def _points(points: Any) -> Any:
    """A private copy: vectors as a float64 matrix, other objects in an array or list."""
    if not isinstance(points, np.ndarray):
        return list(points)
    if points.ndim == 0:
        raise ValueError(f"tree: points must be a matrix or a list, one for each node, got {points!r}")
    if points.dtype.kind in "fiub" and points.ndim == 2:
        return frozen_floats(points, "tree: points")
    return points.copy()


def _integers(name: str, values: Any) -> Integers:
    """A private, read-only int64 copy; raises ValueError unless all numbers are whole."""
    array = np.array(values, order="C")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"tree: {name} must be whole numbers, got {array.dtype}")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _check_children(children: Integers, n_terminals: int) -> None:
    """Raise ValueError unless every node but the root, and every terminal, has one parent with a smaller index."""
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
    """Raise ValueError unless each number from `first` up to `end` is in `found` exactly once."""
    times = np.bincount(found, minlength=end)[first:]
    if (times != 1).any():
        number = int(np.argmax(times != 1))
        raise ValueError(f"tree: {what} {number + first} has {times[number]} parents; it must have one")

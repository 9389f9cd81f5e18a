"""Helpers shared by the text and the picture of a tree: arguments, counts below each node, short labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from reprlib import Repr
from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.rows import check_rows
from dormie.methods.tree.stage import TreeWalk
from dormie.methods.tree.structure import Tree

_SHOWN = 3  # numbers shown of a vector
_brief = Repr()
_brief.maxstring = _brief.maxother = 30


def tree_of(model: Any) -> Tree:
    """The tree itself, or the tree of a fitted `SupportVectorTree`."""
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(f"give a dormie.tree.Tree or a fitted SupportVectorTree, got {model!r}")
    return tree


def row_counts(model: Any, rows: Any, machine: Machine | None) -> dict[int, int]:
    """Number of rows that reach every node, and every terminal t under the key ~t; empty without rows."""
    if rows is None:
        return {}
    tree, machine = tree_of(model), getattr(model, "machine_", machine)
    if machine is None:
        raise ValueError("counting rows needs the kernel: pass the machine= that the tree approximates")
    walk = TreeWalk.uncalibrated(machine, tree).walk(check_rows(rows, machine))
    return subtree_sums(tree, np.bincount(walk.terminals, minlength=tree.n_terminals), of_node=0)


def subtree_sums(tree: Tree, of_terminals: Iterable[Any], of_node: int) -> dict[int, int]:
    """The sum over the subtree of every node, from a value for each terminal (key ~t) and one for all nodes."""
    sums = {~t: int(value) for t, value in enumerate(of_terminals)}
    for node in reversed(range(tree.n_nodes)):
        sums[node] = of_node + sum(sums[child] for child in set(tree.children[node].tolist()))
    return sums


def require_depth(max_depth: int | None) -> float:
    """The number of splits to show, checked; infinite for None."""
    if max_depth is None:
        return math.inf
    if not isinstance(max_depth, Integral) or max_depth < 1:
        raise ValueError(
            f"max_depth must be a whole number of at least 1, or None for the whole tree, got {max_depth!r}"
        )
    return int(max_depth)


def number(value: float, digits: int) -> str:
    """A number with so many significant digits."""
    return f"{value:.{digits}g}"


def vector(values: Any, digits: int) -> str:
    """The first numbers of a vector; a vector of length 1 is shown as a number."""
    if len(values) == 1:
        return number(values[0], digits)
    dots = ", ..." if len(values) > _SHOWN else ""
    return f"[{', '.join(number(value, digits) for value in values[:_SHOWN])}{dots}]"


def point(tree: Tree, node: int, digits: int) -> str:
    """A short text for the point of a node, of any type."""
    there = tree.points[node]
    if isinstance(there, np.ndarray) and there.ndim == 1 and there.dtype.kind in "fiub":
        return f"[{number(there[0], digits)}]" if len(there) == 1 else vector(there, digits)
    return _brief.repr(there.item() if isinstance(there, np.generic) else there)

"""A support vector tree as text, in the style of `sklearn.tree.export_text`.

    k0 = K(x, [0.31, -1.2])
    |--- k0 <= 0.52 (60 rows)
    |    k1 = K(x, [2.1, 0.4])
    |    value = 0.8 k0 - 1.1 k1 - 0.02
    |--- k0 > 0.52 (140 rows)
    |    ...

k0, k1, ... are the kernel values of a row x with the points of the nodes on its path, from the root down.
"""

from __future__ import annotations

from typing import Any

from dormie.machine import Machine
from dormie.methods.tree.display import number, point, require_depth, row_counts, subtree_sums, tree_of, vector
from dormie.methods.tree.structure import Tree

_BAR = "|    "


def export_text(
    tree: Any, rows: Any = None, *, machine: Machine | None = None, max_depth: int | None = None, digits: int = 3
) -> str:
    """
    Write a tree as text: the point and threshold of every node, and the linear model of every terminal.

    Parameters
    ----------
    tree : Tree or SupportVectorTree
        A tree, or a fitted estimator.
    rows : array-like of shape (n_rows, n_features) or None, default=None
        Rows to count on every branch.
    machine : Machine or None, default=None
        The machine that a `Tree` approximates; only needed with rows.
    max_depth : int or None, default=None
        The number of splits to show from the root; None for all.
    digits : int, default=3
        Significant digits of every number.

    Returns
    -------
    str
        One line for each node, branch and terminal.

    Raises
    ------
    TypeError
        If `tree` is neither a tree nor a fitted estimator.
    ValueError
        If rows are given without a machine, or `max_depth` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.tree import Tree, export_text
    >>> tree = Tree(np.array([[0.0, 1.0]]), [0.5], [[~0, ~1]], [0, 1, 2], [[0.8], [2.0]], [[-0.1], [1.0]])
    >>> print(export_text(tree))
    k0 = K(x, [0, 1])
    |--- k0 <= 0.5
    |    value = 0.8 k0 - 0.1
    |--- k0 > 0.5
    |    value = 2 k0 + 1
    <BLANKLINE>
    """
    deepest, counts, tree = require_depth(max_depth), row_counts(tree, rows, machine), tree_of(tree)
    nodes_below = subtree_sums(tree, [0] * tree.n_terminals, of_node=1)
    lines, waiting = [], [("", tree.root, 0, 0)]
    while waiting:
        branch, child, depth, splits = waiting.pop()
        if branch:
            lines.append(_BAR * (splits - 1) + f"|--- {branch}{_rows(counts, child)}")
        indent = _BAR * splits
        if child < 0:
            lines.append(indent + _model(tree, ~child, digits))
        elif splits == deepest:
            lines.append(f"{indent}... ({_counted(nodes_below[child], 'more node')})")
        else:
            lines.append(f"{indent}k{depth} = K(x, {point(tree, child, digits)})")
            waiting += _branches(tree, child, depth, splits, digits)
    return "\n".join(lines) + "\n"


def _branches(tree: Tree, node: int, depth: int, splits: int, digits: int) -> list[tuple[str, int, int, int]]:
    """The branches of a node, in reverse order of showing; an unsplit node has one, without a label."""
    left, right = tree.children[node].tolist()
    if left == right:
        return [("", left, depth + 1, splits)]
    threshold = number(tree.thresholds[node], digits)
    return [
        (f"k{depth} > {threshold}", right, depth + 1, splits + 1),
        (f"k{depth} <= {threshold}", left, depth + 1, splits + 1),
    ]


def _model(tree: Tree, terminal: int, digits: int) -> str:
    """The linear model of a terminal; the weights of several outputs as short vectors."""
    weights, constant = tree.model(terminal)
    terms = [f"{vector(weight, digits)} k{level}" for level, weight in enumerate(weights)]
    terms += [vector(constant, digits)] if constant.any() or not terms else []
    return f"value = {' + '.join(terms)}".replace("+ -", "- ")


def _rows(counts: dict[int, int], child: int) -> str:
    return f" ({_counted(counts[child], 'row')})" if counts else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"

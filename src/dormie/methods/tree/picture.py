"""A plot of a support vector tree: the root on top, terminals below in order, broad lines where many rows go.

matplotlib is optional and imported only by `plot`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dormie.machine import Machine
from dormie.methods.tree.display import number, require_depth, row_counts, tree_of
from dormie.methods.tree.structure import Tree

_BROADEST, _THINNEST = 8.0, 0.3  # line widths, in points
_LARGEST, _SMALLEST = 9.0, 3.0  # font sizes, in points; smaller labels are left out
_LABEL = 2.5  # approximate width of a label over its font size


def plot(
    tree: Any,
    rows: Any = None,
    *,
    machine: Machine | None = None,
    ax: Any = None,
    max_depth: int | None = None,
    digits: int = 2,
) -> Any:
    """
    Draw a tree with matplotlib.

    A dot is a node, labelled with its threshold: a row goes left if its kernel value with the node's point is at most
    the threshold. A square is a terminal, labelled with the number of rows that end there. Three dots stand for nodes
    that are not drawn.

    Parameters
    ----------
    tree : Tree or SupportVectorTree
        A tree, or a fitted estimator.
    rows : array-like of shape (n_rows, n_features) or None, default=None
        Rows to count: the more rows take a branch, the broader its line.
    machine : Machine or None, default=None
        The machine that a `Tree` approximates; only needed with rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for the current axes.
    max_depth : int or None, default=None
        The number of splits to draw from the root; None for all.
    digits : int, default=2
        Significant digits of every threshold.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    TypeError
        If `tree` is neither a tree nor a fitted estimator.
    ValueError
        If rows are given without a machine, or `max_depth` is less than 1.

    Examples
    --------
    >>> import dormie
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> machine = dormie.read(SVC().fit(X, y))
    >>> tree = dormie.tree.greedy(machine, X, height=3)
    >>> dormie.tree.plot(tree, X, machine=machine)
    <Axes: >
    """
    ax = _axes(ax)
    counts, layout = row_counts(tree, rows, machine), _laid_out(tree_of(tree), require_depth(max_depth))
    _draw_lines(ax, layout, counts)
    _draw_labels(ax, tree_of(tree), layout, counts, digits)
    ax.set_xlim(-0.7, len(layout.ends) - 0.3)
    ax.set_axis_off()
    return ax


def _axes(ax: Any) -> Any:
    """The axes to draw in; raises ModuleNotFoundError with advice if matplotlib is missing."""
    try:
        from matplotlib import pyplot  # optional
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            'pictures of trees need matplotlib: pip install "dormie[plot]", or print dormie.tree.export_text',
            name=error.name,
        ) from error
    return pyplot.gca() if ax is None else ax


@dataclass(frozen=True)
class _Layout:
    """The places of nodes and terminals (~t), the lines between them, and the ends of the drawing."""

    places: dict[int, tuple[float, float]]
    lines: list[tuple[int, int]]
    ends: set[int]


def _laid_out(tree: Tree, deepest: float) -> _Layout:
    """Ends side by side in order; every node above the middle of its children."""
    depths, lines, ends = {tree.root: 0}, [], []
    waiting = [(tree.root, 0)]
    while waiting:
        child, splits = waiting.pop()
        if child < 0 or splits == deepest:
            ends.append(child)
            continue
        below = list(dict.fromkeys(tree.children[child].tolist()))
        depths.update((one, depths[child] + 1) for one in below)
        lines += [(child, one) for one in below]
        waiting += [(one, splits + len(below) - 1) for one in reversed(below)]
    across: dict[int, float] = {end: i for i, end in enumerate(ends)}
    for node in sorted(depths.keys() - across.keys(), reverse=True):
        left, right = tree.children[node].tolist()
        across[node] = (across[left] + across[right]) / 2
    return _Layout({child: (across[child], -depths[child]) for child in depths}, lines, set(ends))


def _draw_lines(ax: Any, layout: _Layout, counts: dict[int, int]) -> None:
    from matplotlib.collections import LineCollection  # optional

    most = max(counts.values(), default=0)
    widths = [max(_BROADEST * counts[to] / most, _THINNEST) for _, to in layout.lines] if most else [1.0]
    ends = [[layout.places[start], layout.places[to]] for start, to in layout.lines]
    ax.add_collection(LineCollection(ends, linewidths=widths, colors="0.75", zorder=1))
    for mark, those in (("o", layout.places.keys() - layout.ends), ("s", [end for end in layout.ends if end < 0])):
        x, y = [layout.places[child][0] for child in those], [layout.places[child][1] for child in those]
        ax.scatter(x, y, s=12, marker=mark, color="0.3", zorder=2)


def _draw_labels(ax: Any, tree: Tree, layout: _Layout, counts: dict[int, int], digits: int) -> None:
    """Thresholds above the nodes and counts below the terminals, as large as fits."""
    room = ax.get_window_extent().width * 72 / ax.figure.dpi / len(layout.ends)
    size = min(_LARGEST, room / _LABEL)
    if size < _SMALLEST:
        return
    for child, place in layout.places.items():
        at_end = child in layout.ends
        text = _label(tree, child, at_end, counts, digits)
        ax.annotate(
            text,
            place,
            xytext=(0, -4 if at_end else 4),
            textcoords="offset points",
            size=size,
            ha="center",
            va="top" if at_end else "bottom",
        )


def _label(tree: Tree, child: int, at_end: bool, counts: dict[int, int], digits: int) -> str:
    if at_end:
        dots = "...\n" if child >= 0 else ""
        return dots + (f"{counts[child]:,}" if counts else "")
    left, right = tree.children[child].tolist()
    return number(tree.thresholds[child], digits) if left != right else ""

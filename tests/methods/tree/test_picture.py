"""Pictures of trees: what is drawn where."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Value
from dormie.methods.tree import Tree, plot
from tests import fresh_process
from tests.methods.tree.trees import random_tree, small_tree, tree_of

pytest.importorskip("matplotlib", reason='pictures need the "plot" extra')


@pytest.fixture(autouse=True)
def _without_a_display() -> Iterator[None]:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def _machine() -> Machine:
    return Machine(RBF(1.0), np.eye(2), np.ones((2, 2)), np.zeros(2), Value(flat=False))


ROWS = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.1], [0.9, 0.0]])


def _texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def _dots(ax: Any, which: int) -> Any:
    """Where nodes (0) or terminals (1) are drawn."""
    return ax.collections[1 + which].get_offsets().tolist()


def test_nodes_stand_above_the_middle_of_what_they_lead_to() -> None:
    ax = plot(small_tree())
    assert sorted(_dots(ax, 1)) == [[0.0, -2.0], [1.0, -2.0], [2.0, -2.0]]
    assert sorted(_dots(ax, 0)) == [[0.5, -1.0], [1.25, 0.0], [2.0, -1.0]]
    segments = sorted(line.tolist() for line in ax.collections[0].get_segments())
    assert [[1.25, 0.0], [0.5, -1.0]] in segments
    assert len(segments) == 5
    assert sorted(_texts(ax)) == ["0.25", "0.5"]


def test_lines_are_as_broad_as_many_rows_go_there() -> None:
    ax = plot(small_tree(), ROWS, machine=_machine())
    widths = {
        tuple(map(tuple, segment)): width
        for segment, width in zip(ax.collections[0].get_segments(), ax.collections[0].get_linewidths(), strict=True)
    }
    root, low, high = (1.25, 0.0), (0.5, -1.0), (2.0, -1.0)
    assert widths[root, low] == pytest.approx(3 * widths[root, high])
    assert widths[low, (1.0, -2.0)] == pytest.approx(2 * widths[low, (0.0, -2.0)])
    assert sorted(_texts(ax)) == ["0.25", "0.5", "1", "1", "2"]


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), nodes=st.integers(0, 25), depth=st.sampled_from([None, 1, 3]))
def test_trees_of_any_shape_are_drawn_without_crossings(seed: int, nodes: int, depth: int | None) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, RBF(0.5), rng.normal(size=(4, 2)), rng.normal(size=(9, 2)), nodes, 2)
    ax = _drawn(tree, max_depth=depth)
    if depth is None:
        assert (len(_dots(ax, 0)), len(_dots(ax, 1))) == (nodes, tree.n_terminals)
    levels: dict[float, list[tuple[float, float]]] = {}
    for (above, y), (below, _) in ax.collections[0].get_segments():
        levels.setdefault(y, []).append((above, below))
    for lines in levels.values():
        below = [x for _, x in sorted(lines)]
        assert below == sorted(below)


def _drawn(tree: Tree, **options: Any) -> Any:
    from matplotlib.figure import Figure

    return plot(tree, ax=Figure().add_subplot(), **options)


def test_it_is_drawn_where_it_is_told_or_in_the_current_axes() -> None:
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert plot(small_tree(), ax=ax) is ax
    assert not pyplot.get_fignums()
    assert plot(small_tree()) is pyplot.gca()
    file = BytesIO()
    ax.figure.savefig(file)
    assert file.getvalue()


def test_three_dots_stand_for_more_of_the_tree() -> None:
    ax = plot(small_tree(), ROWS, machine=_machine(), max_depth=1)
    assert sorted(text.split() for text in _texts(ax)) == [["...", "1"], ["...", "3"], ["0.5"]]
    assert (len(_dots(ax, 0)), len(_dots(ax, 1))) == (1, 0)


def test_a_single_terminal_and_a_trunk_are_drawn() -> None:
    single = tree_of(np.empty((0, 2)), [], np.empty((0, 2), dtype=int), [0, 0], np.empty((0, 1)), [[0.0]])
    assert _dots(_drawn(single), 1) == [[0.0, 0.0]]
    trunk = tree_of([[1.0], [2.0]], [0.0, 0.0], [[1, 1], [~0, ~0]], [0, 2], np.ones((2, 1)), [[0.0]])
    ax = _drawn(trunk)
    assert _dots(ax, 0) == [[0.0, 0.0], [0.0, -1.0]]
    assert _texts(ax) == []


def test_where_there_is_no_room_for_labels_there_are_none() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, RBF(0.5), rng.normal(size=(4, 2)), rng.normal(size=(9, 2)), 400, 1)
    assert _texts(_drawn(tree)) == []


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="pass the machine="):
        _drawn(small_tree(), rows=ROWS)
    with pytest.raises(ValueError, match="max_depth must be"):
        _drawn(small_tree(), max_depth=0)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "dormie\[plot\]"'):
        plot(small_tree())


def test_matplotlib_is_not_imported_before_a_picture_is_asked_for() -> None:
    code = "import sys, dormie.tree; print('matplotlib' in sys.modules)"
    assert fresh_process.printed(code).strip() == "False"

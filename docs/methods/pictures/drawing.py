"""What the pictures of the methods share: colours, how a stage is fitted for a picture, and a map of the plane.

Each script beside this module draws one picture with the public API, from a machine that it trains. The documentation's
build runs them (`make docs`), so no picture is older than the code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

import dormie

BLUE, ORANGE, GREY, INK = "#2a6fb0", "#d9822b", "#c9ced6", "#20262e"
PALE_BLUE, PALE_ORANGE, PALE_GREY = "#cfe0f1", "#f8dfc4", "#eef0f3"

# Costs by hand instead of a clock: the same stages are chosen on every computer.
COSTS = dormie.Profile("the pictures' own", {"dense/batch/dense": {"row": 1e-7, "value": 1e-9, "product": 2e-11}})

Floats = npt.NDArray[np.float64]


def plane(x: tuple[float, float], y: tuple[float, float], points: int = 260) -> tuple[Floats, Floats, Floats]:
    """Rows on a grid over the plane, and the coordinates of the grid."""
    across, up = np.meshgrid(np.linspace(*x, points), np.linspace(*y, points))
    return np.column_stack([across.ravel(), up.ravel()]), across, up


def settled_map(ax: Axes, predictor: Any, across: Floats, up: Floats, rows: Floats) -> None:
    """Colour where the plan's first method settles rows, by their label; grey where rows go on to the full sum."""
    labels = predictor.predict(rows)
    first = predictor.trace(rows).stage == predictor.plan.stages[0].name
    number = np.where(first, 1 + np.searchsorted(np.unique(labels), labels), 0)
    colours = ListedColormap([PALE_GREY, PALE_ORANGE, PALE_BLUE])
    ax.pcolormesh(across, up, number.reshape(across.shape), cmap=colours, vmin=0, vmax=2, rasterized=True)


def bare(ax: Axes, title: str) -> None:
    """A map of the plane: no ticks, a title."""
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)
    for side in ax.spines.values():
        side.set_color(GREY)


def open_frame(ax: Axes) -> None:
    """A chart without the lines above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)

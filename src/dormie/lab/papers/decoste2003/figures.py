"""DeCoste & Mazzoni 2003, its two figures: a row's nearest support vectors, and that easy rows need few of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dormie.lab import datasets
from dormie.lab.papers.decoste2003.pairs import (
    CALIBRATED,
    PAIRS,
    SIMPLE,
    SMOOTHED,
    Extent,
    Pair,
    certified,
    degree_9,
    nearest_stages,
)
from dormie.machine import Floats, Machine
from dormie.machine.typing import Integers
from dormie.methods.nearest import Nearest
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade

_PAIR = (4, 9)  # a hard one
_SHOWN = 8  # support vectors beside a row
_TYPICAL = 40  # support vectors that the row to show needs, or about so many


class Stopping(NamedTuple):
    """A nearest stage of one output, and its caution."""

    stage: Nearest
    caution: float = 1.0


class Ends(NamedTuple):
    """The thresholds of a nearest stage of one output: numbers of terms, L_k and H_k."""

    steps: Integers
    low: Floats
    high: Floats


def draw(folder: Path) -> list[Path]:
    """Write both figures to the folder as PNG files."""
    extent = Extent(PAIRS, ())
    pair = Pair.of(datasets.load("mnist"), _PAIR, extent)
    machine = degree_9(pair)
    stages = nearest_stages(machine, pair, extent)
    [caution] = certified(Cascade.of(stages[CALIBRATED]), machine, pair, extent.risk).cautions
    several = {name: Stopping(stages[name]) for name in (SIMPLE, SMOOTHED)}
    several[CALIBRATED] = Stopping(stages[CALIBRATED], caution)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"decoste2003-{name}.png" for name in ("nearest", "proportionality")]
    plot_query(several[SMOOTHED], pair, f"{pair.name}, (u·v)⁹", paths[0])
    plot_rows(several, machine, pair.test, f"{pair.name}, (u·v)⁹", paths[1])
    return paths


def steps_taken(stopping: Stopping, rows: Floats) -> Integers:
    """The number of support vectors that each row is compared with; all of them if the stage leaves it open."""
    found = stopping.stage.decide(rows, stopping.caution)
    assert found.settled is not None
    return np.where(found.settled, found.evaluations, stopping.stage.machine.n_points)


def ends_of(stopping: Stopping) -> Ends:
    """The thresholds of the stage, at its caution."""
    low, high = stopping.stage.thresholds.widened(stopping.caution)
    return Ends(stopping.stage.ordering.steps, low[:, 0, 0], high[:, 0, 0])


def plot_rows(several: Mapping[str, Stopping], machine: Machine, rows: Floats, title: str, path: Path) -> None:
    """Plot the output of each row over the number of support vectors it took, between the thresholds."""
    from matplotlib.figure import Figure  # optional

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    axes = figure.subplots(1, len(several), sharey=True)
    outputs = FullSum(machine).outputs(rows)[:, 0]
    for ax, (name, stopping) in zip(axes, several.items(), strict=True):
        ax.plot(steps_taken(stopping, rows), outputs, "C0.", markersize=2.5)
        _draw_thresholds(ax, ends_of(stopping))
        ax.set_title(f"{title}: {name} thresholds", fontsize=10)
    axes[0].set_ylabel("output of the machine, G(x)")
    axes[0].legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=80)


def _draw_thresholds(ax: Any, ends: Ends) -> None:
    """L_k and H_k over k, on a scale where 0, 1, 10, ... are equally far apart."""
    ax.plot(ends.steps, ends.high, "C3-", linewidth=1, label="H_k")
    ax.plot(ends.steps, ends.low, "C2-", linewidth=1, label="L_k")
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlim(left=0)
    ax.set_xlabel("support vectors, k")


def plot_query(stopping: Stopping, pair: Pair, title: str, path: Path) -> None:
    """Draw a positive row, the support vectors nearest to it with their terms, and G_k between the thresholds."""
    from matplotlib.figure import Figure  # optional

    stage, taken = stopping.stage, steps_taken(stopping, pair.test)
    row = pair.test[[int(np.argmin(np.where(pair.test_signs > 0, np.abs(taken - _TYPICAL), np.inf)))]]
    [order], [sums] = stage.order(row), stage.sums(row)[0][:, :, 0]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    grid = figure.add_gridspec(2, _SHOWN + 1, height_ratios=(1, 2))
    values = stage.machine.kernel.matrix(row, stage.machine.points[order[:_SHOWN]])[0]
    _draw_image(figure.add_subplot(grid[0, 0]), row[0], "the row")
    for at, (point, value) in enumerate(zip(order[:_SHOWN], values, strict=True)):
        text = f"{stage.machine.weights[point, 0]:+.2f} x {value:.2f}"
        _draw_image(figure.add_subplot(grid[0, at + 1]), stage.machine.points[point], text)
    ax = figure.add_subplot(grid[1, :])
    ends = ends_of(stopping)
    ax.plot(ends.steps, sums, "C0-", linewidth=1.2, label="G_k")
    _draw_thresholds(ax, ends)
    ax.axhline(0, color="0.7", linewidth=0.8)
    [stop] = steps_taken(stopping, row)
    ax.axvline(stop, color="0.4", linestyle=":", label=f"stops at k = {stop}")
    ax.legend(fontsize=8)
    ax.set_title(f"{title}: weight x kernel value of the nearest, and partial sums", fontsize=10)
    figure.savefig(path, dpi=80)


def _draw_image(ax: Any, pixels: Floats, text: str) -> None:
    side = math.isqrt(len(pixels))
    ax.imshow(pixels[: side * side].reshape(side, side), cmap="gray_r")
    ax.set_title(text, fontsize=8)
    ax.set_axis_off()

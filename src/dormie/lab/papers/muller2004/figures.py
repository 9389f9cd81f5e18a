"""Muller 2004: figure 1, its training data, and how many rows are still open after how many terms.

The paper has no other figure. The second one shows what its seconds leave open: how much of the sum each form of the
bound saves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.papers.muller2004.tables import Problem, mnist, plane, synthetic, terms_needed
from dormie.machine import Floats
from dormie.methods.fast_stopping import FastStopping
from dormie.numerics.evaluate import FullSum

_STYLES = {
    "the paper's bound, after each term": "C1-",
    "one-sided tails, after each term": "C0-",
    "the stage: one-sided, after every 32": "k--",
}


def draw(folder: Path) -> list[Path]:
    """Write both figures to the folder as PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _figure_1(folder / "muller2004-figure1.png"),
        open_rows([mnist(digit) for digit in (1, 2)], folder / "muller2004-terms.png"),
    ]


def _figure_1(path: Path) -> Path:
    """The training data, with what the machine makes of it."""
    from matplotlib.figure import Figure  # optional

    (X, y), machine = plane(), synthetic().machine
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    ax: Any = figure.subplots()
    for name, kind, mark in (("class 1", 1, "C0."), ("class -1", -1, "C1.")):
        ax.plot(*X[:1000][y[:1000] == kind].T, mark, markersize=3, label=name)
    ax.plot(*machine.points.T, "ko", markersize=5, fillstyle="none", markeredgewidth=0.5, label="support vectors")
    across = np.linspace(-1, 1, 200)
    grid = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
    ax.contour(across, across, FullSum(machine).outputs(grid).reshape(200, 200), levels=[0.0], colors="k")
    ax.set_aspect("equal")
    ax.legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=120)
    return path


def open_rows(problems: list[Problem], path: Path) -> Path:
    """The share of rows that is not settled after so many terms, by form of the bound."""
    from matplotlib.figure import Figure  # optional

    figure = Figure(figsize=(4 * len(problems), 3.2), layout="constrained")
    axes = figure.subplots(1, len(problems), sharey=True, squeeze=False)[0]
    for ax, problem in zip(axes, problems, strict=True):
        for (name, style), terms in zip(_STYLES.items(), _terms(problem), strict=True):
            ax.plot(*still_open(terms, problem.machine.n_points), style, label=name)
        ax.set_title(problem.title, fontsize="medium")
        ax.set_xlabel("terms added")
    axes[0].set_ylabel("share of rows still open")
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=100)
    return path


def _terms(problem: Problem) -> list[npt.NDArray[Any]]:
    """The terms of every row, in the order of the styles."""
    needed = [terms_needed(problem.machine, problem.rows, one_sided) for one_sided in (False, True)]
    return [*needed, np.asarray(FastStopping(problem.machine).decide(problem.rows).evaluations)]


def still_open(terms: npt.NDArray[Any], points: int) -> tuple[Floats, Floats]:
    """The numbers of terms from 0 to all, and the share of rows that needs more."""
    counts = np.arange(points + 1, dtype=np.float64)
    return counts, 1 - np.searchsorted(np.sort(terms), counts, side="right") / len(terms)

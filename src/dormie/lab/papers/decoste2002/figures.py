"""DeCoste 2002, figures 1 and 2, on Sonar with w+ and w- first.

Figure 1: rows far from the decision boundary need few landmarks. Figure 2: how often a guess is wrong that is made
before the interval excludes zero. In the span form, the guess by sphere caps (p+ > .5) is the sign of the interval's
middle. So is the guess by the reduced set of the first k landmarks, if it keeps the bias. The two differ only because
the paper fits the bias anew for each reduced set (its footnote 12), and so do we.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.papers.decoste2002 import deadlines
from dormie.lab.papers.decoste2002.problems import Problem, sonar
from dormie.lab.papers.decoste2002.walks import build, orders
from dormie.machine import Floats
from dormie.methods.geometry import Geometry
from dormie.numerics.evaluate import FullSum

_MARKS = {"certified ($F_L = F_H$)": "k--", "sphere caps ($p^+ > .5$)": "C0-", "reduced set, own bias": "C1-"}


@dataclass(frozen=True, eq=False)
class Curves:
    """The intervals and outputs of every row (column) after every number of landmarks (line)."""

    outputs: Floats  # G, one per row
    middles: Floats
    radii: Floats
    reduced: Floats  # outputs of the reduced sets, each with its own bias

    @property
    def certain(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.abs(self.middles) > self.radii)

    @property
    def steps(self) -> npt.NDArray[np.intp]:
        """The number of landmarks after which each row is certain; all landmarks if it never is."""
        return np.where(self.certain.any(axis=0), self.certain.argmax(axis=0) + 1, len(self.certain))

    def errors(self) -> dict[str, npt.NDArray[np.intp]]:
        """The number of wrong rows after every number of landmarks; rows that are not yet certified count as wrong."""
        positive = self.outputs > 0
        guesses = (positive_probability(self.middles, self.radii) > 0.5, self.reduced > 0)
        wrong = (~self.certain, *(guess != positive for guess in guesses))
        return {name: np.sum(each, axis=1) for name, each in zip(_MARKS, wrong, strict=True)}


def positive_probability(middles: Floats, radii: Floats) -> Floats:
    """p+ (equation 32): the share of the sphere that lies on the positive side."""
    low, high = middles - radii, middles + radii
    return np.asarray(np.maximum(high, 0) / (np.maximum(high, 0) + np.maximum(-low, 0)))


def curves(problem: Problem, stage: Geometry) -> Curves:
    """The curves of all training rows over all landmarks of the stage."""
    middles, radii = _paths(stage, problem.X)
    outputs = FullSum(stage.machine).outputs(problem.X)[:, 0]
    return Curves(outputs, middles, radii, middles - _excess_bias(stage, problem.C)[:, None])


def _paths(stage: Geometry, rows: Floats) -> tuple[Floats, Floats]:
    """The middles and radii of the intervals: a line for every number of landmarks, a column for every row."""
    ends = np.array([[(low[0], high[0]) for _, low, high in stage.steps(row[None])] for row in rows])
    low, high = ends[:, :, 0].T, ends[:, :, 1].T
    return (low + high) / 2, (high - low) / 2


def _excess_bias(stage: Geometry, C: float) -> Floats:
    """The excess of each reduced set's bias: the mean of both classes' mean outputs on their free support vectors."""
    weights = stage.machine.weights[:, 0]
    free = np.abs(weights) < C * (1 - 1e-9)
    sides = [_paths(stage, stage.machine.points[free & side])[0] for side in (weights > 0, weights < 0)]
    return np.asarray((sides[0].mean(axis=1) + sides[1].mean(axis=1)) / 2)


def draw(folder: Path) -> list[Path]:
    """Write both figures, and that of answers at a deadline, to the folder as PNG files."""
    problem = sonar()
    machine, _ = problem.svm()
    first = problem.folded_weights()
    found = {}
    for name, several in orders(1).items():
        stage = build(machine, machine.points[several[0](machine, machine.n_points)], first)
        found[name] = curves(problem, stage)
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"figure1": _figure_1, "figure2": _figure_2}
    drawn = [_panels(found, panel, folder / f"decoste2002-{name}.png") for name, panel in figures.items()]
    return [*drawn, deadlines.draw(folder / "decoste2002-deadline.png")]


def _panels(found: dict[str, Curves], panel: Callable[[Any, Curves], None], path: Path) -> Path:
    """Draw a figure with a panel for every order of landmarks; this needs no display."""
    from matplotlib.figure import Figure  # optional

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, len(found), sharex=True, sharey=True)
    figure.suptitle("Sonar, $w^+$ and $w^-$ first")
    for ax, (name, each) in zip(axes, found.items(), strict=True):
        ax.set_title(f"{name} order", fontsize="medium")
        ax.set_xlabel("landmarks k")
        panel(ax, each)
        ax.label_outer()
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=90)
    return path


def _figure_1(ax: Any, each: Curves) -> None:
    size = np.abs(each.outputs)
    for name, those, mark in (
        ("|G| up to 1: support vectors", size <= 1.001, "C1."),
        ("|G| over 1: the other rows", size > 1.001, "C0."),
    ):
        ax.plot(each.steps[those], size[those], mark, label=name)
    ax.set_ylabel("|G(x)|")


def _figure_2(ax: Any, each: Curves) -> None:
    for name, wrong in each.errors().items():
        k = np.arange(1, len(wrong) + 1)
        ax.plot(k, np.where(wrong > 0, wrong, np.nan), _MARKS[name], label=name)
    ax.set_yscale("log")
    ax.set_ylabel(f"rows of {len(each.outputs)} guessed wrong")

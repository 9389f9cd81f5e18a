"""DeCoste & Mazzoni 2003, plot of proportionality: a row far from the decision boundary needs few support vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.lab.papers.decoste2003.pairs import CALIBRATED, PAIRS, SIMPLE, SMOOTHED, Extent, Pair, degree_9, variants
from dormie.machine import Floats, Machine
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade

_PAIR = (4, 9)  # a hard one


def draw(folder: Path) -> list[Path]:
    """Write one figure to the folder as a PNG file."""
    extent = Extent(PAIRS, ())
    pair = Pair.of(datasets.load("mnist"), _PAIR, extent)
    machine = degree_9(pair)
    cascades = variants(machine, pair, extent)
    several = {name: steps(cascades[name], machine, pair.test) for name in (SIMPLE, SMOOTHED, CALIBRATED)}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "decoste2003-proportionality.png"
    plot(np.abs(FullSum(machine).outputs(pair.test)[:, 0]), several, f"{pair.name}, (u·v)⁹", path)
    return [path]


def steps(cascade: Cascade, machine: Machine, rows: Floats) -> npt.NDArray[np.int64]:
    """The number of support vectors that each row is compared with; all of them if the first stage leaves it open."""
    found = cascade.stages[0].decide(rows, cascade.cautions[0])
    assert found.settled is not None
    return np.where(found.settled, found.evaluations, machine.n_points)


def plot(sizes: Floats, several: dict[str, npt.NDArray[np.int64]], title: str, path: Path) -> None:
    """Plot steps over |G|, with a panel for each kind of thresholds; this needs no display."""
    from matplotlib.figure import Figure  # optional

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    axes = figure.subplots(1, len(several), sharex=True, sharey=True)
    for ax, (name, k) in zip(axes, several.items(), strict=True):
        ax.plot(sizes, k, "C0.", markersize=3)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_title(f"{title}, {name} thresholds")
        ax.set_xlabel("|G(x)|")
    axes[0].set_ylabel("support vectors touched, k")
    figure.savefig(path, dpi=150)

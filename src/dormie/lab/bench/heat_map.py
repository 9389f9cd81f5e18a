"""Results as a heat map: how many times as fast as scikit-learn, a row for each case and a column for each peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dormie.lab.bench.results import Result
from dormie.machine import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PEERS = {
    "scikit-learn-intelex": "scikit-learn-\nintelex",
    "onnxruntime": "ONNX\nRuntime",
    "numpy-float32": "NumPy\nfloat32",
    "dormie": "dormie,\nexact",
    "dormie, risk 0.001": "dormie,\nrisk 0.1 %",
}
_TICKS = (0.5, 1, 10, 100, 1000, 4000)
_MOST = 4000.0  # the deepest blue; the deepest red would be as many times slower


def draw(results: Sequence[Result]) -> Figure:
    """The heat map of all cases that were measured against scikit-learn, the largest factor first."""
    import matplotlib.pyplot as plt  # optional
    from matplotlib.colors import Normalize  # optional

    names, times = _times(results)
    norm = Normalize(-np.log10(_MOST), np.log10(_MOST))
    figure, axes = plt.subplots(figsize=(8.2, 1.1 + 0.36 * len(names)), layout="constrained")
    shown = axes.imshow(np.log10(times), cmap="RdBu", norm=norm, aspect="auto")
    axes.set_facecolor("#f4f5f7")  # of what was not measured
    for (row, column), factor in np.ndenumerate(times):
        if np.isfinite(factor):
            colour = "white" if norm(np.log10(factor)) > 0.85 else "black"
            axes.text(column, row, _short(factor), ha="center", va="center", color=colour)
    axes.set_xticks(range(len(_PEERS)), [*_PEERS.values()])
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(len(_PEERS)) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(names)) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    bar = figure.colorbar(shown, ax=axes, shrink=0.7, label="times as fast as scikit-learn")
    bar.set_ticks([*np.log10(_TICKS)], labels=[f"{factor:,g}" for factor in _TICKS])
    bar.ax.set_ylim(np.log10(_TICKS[0]), np.log10(_MOST))
    return figure


def _times(results: Sequence[Result]) -> tuple[list[str], Floats]:
    """The names of cases and their factors, cases x peers; NaN where nothing was measured; exact plans come first."""
    found: dict[str, dict[str, float]] = {}
    for result in sorted(results, key=lambda each: each.risk or 0.0):
        factors = found.setdefault(f"{result.case} ({result.size})", {})
        for peer in _PEERS:
            if (factor := result.times(peer)) is not None:
                factors.setdefault(peer, factor)
    order = sorted(found, key=lambda case: max(found[case].values(), default=0.0), reverse=True)
    return order, np.array([[found[case].get(peer, np.nan) for peer in _PEERS] for case in order])


def _short(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"

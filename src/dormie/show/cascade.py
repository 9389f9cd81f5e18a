"""The funnel: how many rows reach each stage, and how many it settles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.predictor import Predictor, cascade
from dormie.show.axes import BLUE, GREY, axes_for, percent_axis, rows_to_show
from dormie.show.funnel import funnel_of

_ROOM = 0.55  # the share of the width that a text takes


class CascadeDisplay:
    """
    How rows flow through the stages of a plan.

    Parameters
    ----------
    stages : sequence of str
        The stages in order.
    reached : array-like of shape (n_stages,)
        The share of the rows that reaches each stage.
    settled : array-like of shape (n_stages,)
        The share of all rows that each stage settles.
    evaluations : array-like of shape (n_stages,)
        The mean number of kernel evaluations, in all stages, of the rows that each stage settles.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import dormie
    >>> from dormie.show import CascadeDisplay
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> fast = dormie.compile(SVC(gamma=1.0).fit(X, y), methods=["geometry"])
    >>> display = CascadeDisplay.from_predictor(fast, X)
    >>> display.settled.sum()
    np.float64(1.0)
    """

    def __init__(
        self, *, stages: Sequence[str], reached: npt.ArrayLike, settled: npt.ArrayLike, evaluations: npt.ArrayLike
    ) -> None:
        self.stages = list(stages)
        self.reached: Floats = np.asarray(reached, dtype=np.float64)
        self.settled: Floats = np.asarray(settled, dtype=np.float64)
        self.evaluations: Floats = np.asarray(evaluations, dtype=np.float64)

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, *, ax: Any = None) -> Self:
        """
        Send rows through a plan and draw where they stop.

        Parameters
        ----------
        predictor : Predictor
            The compiled model.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        CascadeDisplay
            The display.
        """
        rows = rows_to_show(X, predictor.plan.machine)
        funnel = funnel_of(predictor.plan, cascade.run(predictor.plan.cascade, rows))
        return cls(**funnel._asdict()).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """
        Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        CascadeDisplay
            This display.
        """
        self.figure_, (self.ax_,) = axes_for(ax, size=(7.2, 1.3 + 0.55 * len(self.stages)))
        places = np.arange(len(self.stages))
        self.ax_.barh(places, self.reached, color=GREY, height=0.66, label="reach the stage")
        self.ax_.barh(places, self.settled, color=BLUE, height=0.66, label="are settled by it")
        for place, (reached, settled, evaluations) in enumerate(
            zip(self.reached, self.settled, self.evaluations, strict=True)
        ):
            after = f" after {evaluations:,.0f} evaluation{'s' * (round(evaluations) != 1)}" if settled else ""
            inside = settled > _ROOM  # in the blue; else on the grey where that has room, or beside it
            side, ha = (-6, "right") if inside or reached > _ROOM else (6, "left")
            self.ax_.annotate(
                f"{settled:.2%}{after}",
                (settled if inside else reached, place),
                xytext=(side, 0),
                textcoords="offset points",
                ha=ha,
                va="center",
                color="white" if inside else "black",
            )
        self.ax_.set_yticks(places, self.stages)
        self.ax_.invert_yaxis()
        self.ax_.set(xlim=(0.0, 1.0), xlabel="share of the rows")
        percent_axis(self.ax_.xaxis)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False)
        return self

"""Work goes where doubt is: kernel evaluations of rows against how far their outputs are from another answer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rules import ClassRule
from dormie.predictor import Predictor
from dormie.show.axes import BLUE, axes_for, rows_to_show

_MOST_ROWS = 5000  # more points than that hide each other


class ProportionalityDisplay:
    """
    How many kernel evaluations rows take, by how doubtful they are.

    Parameters
    ----------
    margin : array-like of shape (n_rows,)
        How far the full outputs of each row are from another answer: the size of the output, or, with several classes,
        the smallest lead of the winner.
    evaluations : array-like of shape (n_rows,)
        The kernel evaluations of each row.
    points : int
        The number of points of the machine: the evaluations of a full sum.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import dormie
    >>> from dormie.show import ProportionalityDisplay
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> fast = dormie.compile(SVC(gamma=1.0).fit(X, y), methods=["geometry"])
    >>> display = ProportionalityDisplay.from_predictor(fast, X)
    >>> display.points
    162
    """

    def __init__(self, *, margin: npt.ArrayLike, evaluations: npt.ArrayLike, points: int) -> None:
        self.margin: Floats = np.asarray(margin, dtype=np.float64)
        self.evaluations: Floats = np.asarray(evaluations, dtype=np.float64)
        self.points = points

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, *, ax: Any = None) -> Self:
        """
        Measure rows and draw them.

        Parameters
        ----------
        predictor : Predictor
            The compiled classifier.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows. Of more than 5,000, an even selection is shown.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        ProportionalityDisplay
            The display.

        Raises
        ------
        ValueError
            If the model is no classifier: values have no margin.
        """
        machine = predictor.plan.machine
        if not isinstance(machine.rule, ClassRule):
            raise ValueError("only classifiers have a margin, and this model gives values")
        rows = rows_to_show(X, machine)
        rows = rows[:: max(1, -(-rows.shape[0] // _MOST_ROWS))]
        low, high = predictor.interval(rows)
        outputs = (low / 2 + high / 2).reshape(rows.shape[0], -1)
        evaluations = predictor.trace(rows).evaluations
        return cls(margin=machine.rule.lead(outputs), evaluations=evaluations, points=machine.n_points).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """
        Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        ProportionalityDisplay
            This display.
        """
        self.figure_, (self.ax_,) = axes_for(ax)
        self.ax_.scatter(self.margin, self.evaluations, s=9, alpha=0.35, color=BLUE, linewidths=0)
        self.ax_.axhline(self.points, color="black", linewidth=1, linestyle="--")
        self.ax_.annotate(
            f"full sum: {self.points:,}",
            (1.0, self.points),
            xycoords=("axes fraction", "data"),
            xytext=(-4, -4),
            textcoords="offset points",
            ha="right",
            va="top",
        )
        self.ax_.set_yscale("log")
        self.ax_.set(xlabel="distance of the output from another answer", ylabel="kernel evaluations of the row")
        self.ax_.set_xlim(left=0.0)
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self

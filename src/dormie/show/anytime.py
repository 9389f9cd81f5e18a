"""What a deadline gets: answers that are settled, and answers that are wrong, by time and by kernel evaluations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rules import ClassRule
from dormie.predictor import Predictor
from dormie.show.axes import BLUE, ORANGE, axes_for, percent_axis, rows_to_show

_TIMES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)  # of the time that `predict` takes
_ROUNDS = 3  # the median of so many is shown: a pause of the computer is no property of the plan


class AnytimeDisplay:
    """
    How good answers are when time or work is cut short.

    Parameters
    ----------
    seconds : array-like of shape (n_deadlines,)
        The deadlines.
    settled : array-like of shape (n_deadlines,)
        The share of the rows that is settled by each.
    wrong : array-like of shape (n_deadlines,)
        The share of the rows that has another answer than `predict` gives.
    full : float
        The seconds that `predict` takes.
    budgets : array-like of shape (n_budgets,)
        Kernel evaluations per row.
    certified : array-like of shape (n_budgets,)
        The share of the rows whose answer certified intervals settle with so many.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The two axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import dormie
    >>> from dormie.show import AnytimeDisplay
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> fast = dormie.compile(SVC(gamma=1.0).fit(X, y), methods=["geometry"])
    >>> display = AnytimeDisplay.from_predictor(fast, X, deadlines=[0.0, 1.0])
    >>> display.settled[-1]
    np.float64(1.0)
    """

    def __init__(
        self,
        *,
        seconds: npt.ArrayLike,
        settled: npt.ArrayLike,
        wrong: npt.ArrayLike,
        full: float,
        budgets: npt.ArrayLike,
        certified: npt.ArrayLike,
    ) -> None:
        self.seconds: Floats = np.asarray(seconds, dtype=np.float64)
        self.settled: Floats = np.asarray(settled, dtype=np.float64)
        self.wrong: Floats = np.asarray(wrong, dtype=np.float64)
        self.full = full
        self.budgets: Floats = np.asarray(budgets, dtype=np.float64)
        self.certified: Floats = np.asarray(certified, dtype=np.float64)

    @classmethod
    def from_predictor(
        cls, predictor: Predictor, X: Any, *, deadlines: Sequence[float] | None = None, ax: Any = None
    ) -> Self:
        """
        Answer rows at several deadlines, and with several budgets, and draw how good the answers are.

        Parameters
        ----------
        predictor : Predictor
            The compiled classifier.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.
        deadlines : sequence of float, default=None
            Seconds; by default from a tenth of what `predict` takes to three times that.
        ax : sequence of two matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        AnytimeDisplay
            The display.

        Raises
        ------
        ValueError
            If the model is no classifier.
        """
        if not isinstance(predictor.plan.machine.rule, ClassRule):
            raise ValueError("answers of classifiers are settled or not, and this model gives values")
        rows = rows_to_show(X, predictor.plan.machine)
        labels, full = predictor.predict(rows), min(_seconds_of(predictor, rows) for _ in range(_ROUNDS))
        chosen = [factor * full for factor in _TIMES] if deadlines is None else list(deadlines)
        found = np.array([_at(predictor, rows, labels, seconds) for seconds in chosen])
        budgets, certified = _certified(predictor, rows)
        return cls(
            seconds=chosen,
            settled=found[:, 0],
            wrong=found[:, 1],
            full=full,
            budgets=budgets,
            certified=certified,
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """
        Draw the display.

        Parameters
        ----------
        ax : sequence of two matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        AnytimeDisplay
            This display.
        """
        self.figure_, self.axes_ = axes_for(ax, columns=2, size=(9.6, 3.6))
        by_time, by_work = self.axes_
        by_time.plot(1e3 * self.seconds, self.settled, "o-", color=BLUE, label="settled")
        by_time.plot(1e3 * self.seconds, self.wrong, "o-", color=ORANGE, label="other than predict's")
        by_time.axvline(1e3 * self.full, color="black", linewidth=1, linestyle="--", label="time of predict")
        by_time.set(xlabel="deadline in milliseconds", ylabel="share of the rows", ylim=(-0.02, 1.02))
        by_work.plot(self.budgets, self.certified, "o-", color=BLUE, label="settled by certified intervals")
        by_work.set_xscale("log", base=2)
        by_work.set(xlabel="kernel evaluations per row", ylim=(-0.02, 1.02))
        for axes in self.axes_:
            percent_axis(axes.yaxis)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False)
        return self


def _seconds_of(predictor: Predictor, rows: Any) -> float:
    began = time.perf_counter()
    predictor.predict(rows)
    return time.perf_counter() - began


def _at(predictor: Predictor, rows: Any, labels: npt.NDArray[Any], seconds: float) -> tuple[float, float]:
    """The shares of rows settled at a deadline, and with another label than they end with: medians of a few rounds."""
    rounds = [predictor.predict(rows, deadline=seconds) for _ in range(_ROUNDS)]
    settled = np.median([answers.settled.mean() for answers in rounds])
    return float(settled), float(np.median([(answers.labels != labels).mean() for answers in rounds]))


def _certified(predictor: Predictor, rows: Any) -> tuple[list[int], list[float]]:
    """The share of rows that certified intervals settle, for budgets that are powers of 2, and for the full sum."""
    machine = predictor.plan.machine
    budgets = [2**power for power in range(machine.n_points.bit_length())] + [machine.n_points]
    shares = []
    for budget in budgets:
        low, high = predictor.interval(rows, budget)
        with np.errstate(invalid="ignore"):
            shares.append(float(machine.rule.settled(_matrix(low), _matrix(high)).mean()))
    return budgets, shares


def _matrix(ends: Floats) -> Floats:
    return ends.reshape(len(ends), -1)

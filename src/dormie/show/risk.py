"""What a risk buys: disagreement with the full machine against work, from cautious cascades to bold ones.

Work is counted in kernel evaluations, which no other program on the computer changes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.plan.guarantee import Risk
from dormie.plan.plan import Plan
from dormie.predictor import Predictor, cascade
from dormie.show.axes import BLUE, ORANGE, axes_for, rows_to_show

_FACTORS = (4.0, 2.8, 2.0, 1.6, 1.3, 1.0, 0.8, 0.6, 0.45, 0.3, 0.2, 0.1)  # on the cautions of the plan


class RiskDisplay:
    """
    How disagreement grows as a plan with a risk becomes bolder, and how much work it saves.

    Parameters
    ----------
    factors : array-like of shape (n_plans,)
        Factors on the cautions of the plan's stages; 1 is the plan itself.
    disagreement : array-like of shape (n_plans,)
        The share of the rows with another answer than the full machine's.
    evaluations : array-like of shape (n_plans,)
        The mean number of kernel evaluations of a row.
    rows : int
        The number of rows.
    alpha : float
        The risk that the plan promises.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> from dormie.show import RiskDisplay
    >>> measured = {"disagreement": [0.0, 4e-4, 5e-3], "evaluations": [90.0, 45.0, 33.0]}
    >>> display = RiskDisplay(factors=[2.0, 1.0, 0.5], **measured, rows=10_000, alpha=1e-3)
    >>> display.plot().ax_.get_ylabel()
    'share of 10,000 rows with another answer'
    """

    def __init__(
        self,
        *,
        factors: npt.ArrayLike,
        disagreement: npt.ArrayLike,
        evaluations: npt.ArrayLike,
        rows: int,
        alpha: float,
    ) -> None:
        self.factors: Floats = np.asarray(factors, dtype=np.float64)
        self.disagreement: Floats = np.asarray(disagreement, dtype=np.float64)
        self.evaluations: Floats = np.asarray(evaluations, dtype=np.float64)
        self.rows, self.alpha = rows, alpha

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, *, ax: Any = None) -> Self:
        """
        Send rows through the plan at several cautions and draw what is gained and lost.

        Parameters
        ----------
        predictor : Predictor
            The compiled model, with a risk.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows; other ones than those that certified the risk.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        RiskDisplay
            The display.

        Raises
        ------
        ValueError
            If the plan promises no risk.
        """
        plan = predictor.plan
        if not isinstance(plan.guarantee, Risk):
            raise ValueError(f"the plan promises no risk ({plan.guarantee}): compile it with risk=0.001, say")
        rows = rows_to_show(X, plan.machine)
        right = plan.machine.rule.answer(plan.full_sum.outputs(rows))
        found = np.array([_measured(plan, factor, rows, right) for factor in _FACTORS])
        return cls(
            factors=_FACTORS,
            disagreement=found[:, 0],
            evaluations=found[:, 1],
            rows=rows.shape[0],
            alpha=plan.guarantee.alpha,
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """
        Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; new ones by default.

        Returns
        -------
        RiskDisplay
            This display.
        """
        self.figure_, (self.ax_,) = axes_for(ax)
        here = self.factors == 1.0
        self.ax_.plot(self.evaluations, self.disagreement, "o-", color=BLUE, label="more cautious, or bolder")
        self.ax_.plot(
            self.evaluations[here], self.disagreement[here], "o", color=ORANGE, markersize=10, label="the plan"
        )
        self.ax_.axhline(self.alpha, color="black", linewidth=1, linestyle="--", label=f"promised: {self.alpha:.3g}")
        self.ax_.set_yscale("symlog", linthresh=1.0 / max(1, self.rows))
        self.ax_.set(
            xlabel="kernel evaluations per row",
            ylabel=f"share of {self.rows:,} rows with another answer",
            ylim=(0.0, None),
        )
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False)
        return self


def _measured(plan: Plan, factor: float, rows: Any, right: npt.NDArray[Any]) -> tuple[float, float]:
    """The share of rows with another answer, and mean evaluations, when cautions are so many times larger."""
    found = cascade.run(plan.cascade.scaled(factor), rows)
    return float(plan.machine.rule.differ(found.answers, right).mean()), float(np.mean(found.evaluations))

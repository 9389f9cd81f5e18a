"""A plan at work, in pictures: displays in scikit-learn's manner, with data and a `plot` method each.

They show what words and tables say less well: how few rows reach the full sum (`CascadeDisplay`), what a deadline gets
(`AnytimeDisplay`), that work goes where doubt is (`ProportionalityDisplay`), and what a risk buys (`RiskDisplay`).
matplotlib is imported when something is drawn. `report` writes all of a plan as one page, without matplotlib.
"""

from __future__ import annotations

from dormie.show.anytime import AnytimeDisplay
from dormie.show.cascade import CascadeDisplay
from dormie.show.proportionality import ProportionalityDisplay
from dormie.show.report import report
from dormie.show.risk import RiskDisplay

__all__ = ["AnytimeDisplay", "CascadeDisplay", "ProportionalityDisplay", "RiskDisplay", "report"]

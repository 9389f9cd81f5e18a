"""The linear filter (DeCoste & Mazzoni 2003): a linear machine settles rows far from the decision boundary."""

from __future__ import annotations

from dormie.methods.linear_filter.method import METHOD
from dormie.methods.linear_filter.stage import LinearFilter

__all__ = ["METHOD", "LinearFilter"]

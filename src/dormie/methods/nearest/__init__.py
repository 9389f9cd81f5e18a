"""Nearest support vectors (DeCoste & Mazzoni 2003): partial sums, largest terms of each row first."""

from __future__ import annotations

from dormie.methods.nearest.method import METHOD
from dormie.methods.nearest.stage import Nearest

__all__ = ["METHOD", "Nearest"]

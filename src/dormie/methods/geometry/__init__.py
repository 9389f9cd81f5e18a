"""Anytime intervals (DeCoste 2002): bounds on the output from kernel values with a few landmarks."""

from __future__ import annotations

from dormie.methods.geometry.method import METHOD
from dormie.methods.geometry.stage import Geometry

__all__ = ["METHOD", "Geometry"]

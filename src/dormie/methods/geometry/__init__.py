"""Anytime intervals (DeCoste 2002): what a few landmarks tell bounds the output."""

from __future__ import annotations

from dormie.methods.geometry.method import METHOD
from dormie.methods.geometry.stage import Geometry

__all__ = ["METHOD", "Geometry"]

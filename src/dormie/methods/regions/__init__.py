"""Anytime intervals by region (DeCoste 2002, last section): landmarks of its own for every cluster of rows.

The bound is that of geometry (`dormie.methods.geometry.span`), and holds with any landmarks for any row. So a row may
take the landmarks that suit rows like it: those of the nearest of a few centers.
"""

from __future__ import annotations

from dormie.methods.regions.method import METHOD
from dormie.methods.regions.stage import Regions

__all__ = ["METHOD", "Regions"]

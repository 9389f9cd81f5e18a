"""Open pairs: the pairs of a one-vs-one vote that a small reduced set leaves open, in full."""

from __future__ import annotations

from dormie.methods.open_pairs.method import METHOD
from dormie.methods.open_pairs.stage import OpenPairs

__all__ = ["METHOD", "OpenPairs"]

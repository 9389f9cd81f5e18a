"""Scores: a reduced set with one output for each class, fitted to the full machine's answers, not to its outputs."""

from __future__ import annotations

from dormie.methods.scores.method import METHOD
from dormie.methods.scores.stage import Scores

__all__ = ["METHOD", "Scores"]

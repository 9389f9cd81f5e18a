"""Fast stopping (Muller 2004): the largest terms first, and a bound on what the others can still add."""

from __future__ import annotations

from dormie.methods.fast_stopping.method import METHOD
from dormie.methods.fast_stopping.stage import FastStopping

__all__ = ["METHOD", "FastStopping"]

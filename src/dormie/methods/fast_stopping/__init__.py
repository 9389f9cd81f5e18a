"""Fast stopping (Muller 2004): partial sums, largest terms first, and a bound on the rest."""

from __future__ import annotations

from dormie.methods.fast_stopping.method import METHOD
from dormie.methods.fast_stopping.stage import FastStopping

__all__ = ["METHOD", "FastStopping"]

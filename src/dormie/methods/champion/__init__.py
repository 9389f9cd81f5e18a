"""The champion: the winner of a one-vs-one vote, guessed by a small reduced set and proved by its own pairs."""

from __future__ import annotations

from dormie.methods.champion.method import METHOD
from dormie.methods.champion.stage import Champion

__all__ = ["METHOD", "Champion"]

"""The full sum: it settles every row, so every plan ends with it."""

from __future__ import annotations

from dormie.methods.dense.method import METHOD
from dormie.methods.dense.stage import Dense, Float32Dense, cheapest

__all__ = ["METHOD", "Dense", "Float32Dense", "cheapest"]

"""A reader, and in one line what it reads: the lines are the table of models in docs/models.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dormie.machine import Machine


class Reader(NamedTuple):
    """How models of one class are read, and what of them, in one line for users."""

    read: Callable[..., Machine]
    line: str

"""The result of an experiment: a table of our numbers beside the printed ones, as plain data.

The command line turns it into a rich table or into JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Cell = int | float | tuple[float, ...] | None  # a pair holds two numbers of one line, as in "k min, max"
Numbers = Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """A line for every quantity, a column for the paper, and a column for each variant computed here."""

    title: str
    columns: Mapping[str, Numbers]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All quantities, in the order of the last columns, which are those of this run."""
        return list(dict.fromkeys(line for numbers in reversed(list(self.columns.values())) for line in numbers))

    def as_record(self) -> dict[str, Any]:
        """Plain data for JSON."""
        lines = [{"line": line, **{name: each.get(line) for name, each in self.columns.items()}} for line in self.lines]
        return {"title": self.title, "lines": lines, "notes": list(self.notes)}


def text(cell: Cell) -> str:
    """A cell as text: three digits or one decimal, pairs with a comma."""
    if cell is None:
        return ""
    if isinstance(cell, tuple):
        return ", ".join(map(text, cell))
    if cell == int(cell):
        return f"{int(cell):,}"
    return f"{cell:,.1f}" if abs(cell) >= 10 else f"{cell:.3g}"

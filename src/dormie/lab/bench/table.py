"""Prints a comparison: a rich table and its notes."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dormie.lab.bench.compare import Comparison, Standing

_NOISY = 1.5  # ratio of the median time to the best, above which a warning is printed
_CAPTION = (
    "microseconds per row, best of {rounds} or more interleaved rounds, all cores; one row = mean over calls with one "
    "row; ratio = times as fast as {reference}; dormie x = times that dormie is as fast; differ = labels that differ"
)


def print_comparison(comparison: Comparison, console: Console) -> None:
    console.print(_table(comparison))
    left_out = (f"{peer} left out: {why}" for peer, why in comparison.left_out.items())
    for note in (*comparison.notes, *left_out, *_noise(comparison)):
        console.print(escape(f"  {note}"))


def _noise(comparison: Comparison) -> list[str]:
    """A warning if rounds of the same work took very different times, because other programs used the cores."""
    worst = max(comparison.standings, key=lambda standing: standing.batch.median / standing.batch.best)
    spread = worst.batch.median / worst.batch.best
    if spread < _NOISY:
        return []
    return [f"the computer was busy: the median batch round of {worst.peer} took {spread:.1f} times its best one"]


def _table(comparison: Comparison) -> Table:
    reference = comparison.reference
    caption = _CAPTION.format(rounds=min(s.batch.rounds for s in comparison.standings), reference=reference.peer)
    table = Table(title=escape(f"{comparison.title}\n{comparison.model}, {comparison.rows:,} rows"), caption=caption)
    table.add_column("peer", no_wrap=True)
    for heading in ("batch", "ratio", "dormie x", "one row", "ratio", "dormie x"):
        table.add_column(heading, justify="right")
    table.add_column("differ", justify="right", no_wrap=True)
    table.add_column("rows timed", justify="right")
    for standing in comparison.standings:
        table.add_row(*_cells(standing, comparison))
    return table


def _cells(standing: Standing, comparison: Comparison) -> list[str]:
    dormie, reference = comparison.of("dormie"), comparison.reference
    batch, single = standing.batch.best, standing.single.best
    return [
        standing.peer,
        short(batch),
        short(reference.batch.best / batch),
        short(batch / dormie.batch.best) if dormie else "",
        short(single),
        short(reference.single.best / single),
        short(single / dormie.single.best) if dormie else "",
        f"{standing.differences:,}/{standing.compared:,}",
        f"{standing.batch.rows:,}",
    ]


def short(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

"""`dormie demo`: trains an SVC, compiles it, checks every label, and shows the speed-up."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dormie.lab.bench import Comparison, Standing, compare
from dormie.lab.bench.cases import digits
from dormie.plan.guarantee import Exact


def demo(
    seconds: Annotated[float, typer.Option(min=0, help="Measuring time for each of the two.")] = 4.0,
) -> None:
    """Train an SVC on scikit-learn's digits, compile it, and compare the two."""
    console = Console()
    console.print("Training an SVC on scikit-learn's digits, compiling it, predicting with both ...")
    case = digits()
    comparison = compare(
        case.model, case.rows, peers=("scikit-learn", "dormie"), seconds=seconds, full=True, title=case.title
    )
    theirs, ours = comparison.standings
    console.print(_table(comparison, theirs, ours))
    console.print(f"{comparison.model}; {'; '.join(case.notes)}.", markup=False, soft_wrap=True)
    if ours.differences:
        console.print(f"FAILED: {ours.differences:,} of {ours.compared:,} labels differ from scikit-learn's.")
        raise typer.Exit(1)
    console.print(f"Guarantee: {Exact()}.")


def _table(comparison: Comparison, theirs: Standing, ours: Standing) -> Table:
    table = Table(title=f"The same SVC, {comparison.rows:,} rows, all cores")
    table.add_column("")
    for heading in ("scikit-learn", "dormie", "times as fast"):
        table.add_column(heading, justify="right")
    batch, single = (theirs.batch.best, ours.batch.best), (theirs.single.best, ours.single.best)
    table.add_row("rows per second, batch", *(f"{1e6 / each:,.0f}" for each in batch), f"{batch[0] / batch[1]:.1f}")
    table.add_row("single row, microseconds", *(f"{each:,.1f}" for each in single), f"{single[0] / single[1]:.1f}")
    table.add_row("labels that differ", "", f"{ours.differences:,} of {ours.compared:,}", "")
    return table

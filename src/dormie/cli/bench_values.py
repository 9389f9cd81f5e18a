"""`dormie bench-values`: values with a tolerance and a risk, and the most anomalous rows, against scikit-learn."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from dormie.cli.failures import require_known
from dormie.lab.bench.values import VALUE_CASES


def bench_values(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE]...", help=f"Of {', '.join(VALUE_CASES)}; all by default.")
    ] = None,
) -> None:
    """Compare values with scikit-learn's: processor time of a row with one thread, and errors."""
    require_known("case", cases or [], VALUE_CASES)
    console = Console(soft_wrap=True)
    for name in cases or VALUE_CASES:
        found = VALUE_CASES[name]()
        console.print(
            f"{found.title}: {found.model:.3g} us a row, compiled {found.compiled:.3g}: {found.times:.3g} times; "
            f"{found.off} of {found.compared:,} rows off by too much, largest error {found.largest:.3g}; "
            f"{found.stages}",
            markup=False,
            highlight=False,
        )

"""`dormie papers`: repeats the papers' experiments, and prints their numbers beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import rich.table
import typer
from rich.console import Console
from rich.markup import escape

from dormie.cli.failures import require_known
from dormie.lab.bench.environment import environment
from dormie.lab.papers import PAPERS, Paper
from dormie.lab.papers.table import Table, text


def papers(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...", help=f"Of {', '.join(PAPERS)}.")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Measuring time for each table.")] = 4.0,
    small: Annotated[
        bool, typer.Option("--small", help="Use fewer rows where all take long: decoste2003 takes more than an hour.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("papers-out"),
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
) -> None:
    """Repeat the papers' experiments, beside the printed numbers; without a name, list the papers."""
    console, errors = Console(), Console(stderr=True)
    require_known("paper", names or [], PAPERS)
    records = []
    try:
        for name in names or []:
            errors.print(f"{name}: training and measuring ...", markup=False)
            paper = PAPERS[name]
            work = paper.small if small and paper.small is not None else paper.tables
            tables = [_shown(table, None if as_json else console) for table in work(seconds)]
            figures = _draw(paper, out, errors)
            errors.print("".join(f"  {figure}\n" for figure in figures), end="", markup=False, soft_wrap=True)
            records.append({"paper": name, "tables": tables, "figures": [str(figure) for figure in figures]})
    except (ValueError, OSError) as error:
        errors.print(str(error), markup=False, style="red")
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps({"environment": environment(), "papers": records or _list()}))
    elif not names:
        for line in _list():
            console.print(f"{line['paper']:12s} {line['title']}", markup=False, soft_wrap=True)


def _list() -> list[dict[str, str]]:
    return [{"paper": name, "title": paper.title} for name, paper in PAPERS.items()]


def _shown(table: Table, console: Console | None) -> dict[str, Any]:
    """Print the table if there is a console, and return its plain data."""
    if console is not None:
        console.print(_rich(table))
        for note in table.notes:
            console.print(escape(f"  {note}"))
    return table.as_record()


def _rich(table: Table) -> rich.table.Table:
    grid = rich.table.Table(title=escape(table.title))
    grid.add_column("")
    for column in table.columns:
        grid.add_column(column, justify="right")
    for line in table.lines:
        grid.add_row(line, *(text(numbers.get(line)) for numbers in table.columns.values()))
    return grid


def _draw(paper: Paper, out: Path, errors: Console) -> list[Path]:
    if paper.figures is None:
        return []
    try:
        return paper.figures(out)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        errors.print('figures left out, they need matplotlib: pip install "dormie[plot]"', markup=False)
        return []

"""`dormie bench`: compares all peers in one table, on a ready-made case or on the user's own model and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dormie.cli.failures import Exit, Failure, blaming, require_known
from dormie.cli.models import Features, TextModel, Trust, load_model
from dormie.cli.rows import read_rows
from dormie.convert import read
from dormie.lab.bench import CASES, PEERS, Case, Comparison, compare, make_case
from dormie.lab.bench.compare import as_record
from dormie.lab.bench.environment import environment
from dormie.lab.bench.risk import with_risk
from dormie.lab.bench.table import print_comparison


def bench(
    cases: Annotated[list[str] | None, typer.Argument(metavar="[CASE]...", help=f"Of {', '.join(CASES)}.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Predict only the first ROWS rows.")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Measuring time for each peer.")] = 10.0,
    peers: Annotated[str, typer.Option(help="The peers to compare, separated by commas.")] = ",".join(PEERS),
    full: Annotated[
        bool, typer.Option("--full", help="Compare the labels of all rows, not only of timed ones.")
    ] = False,
    risk: Annotated[
        float | None, typer.Option(help="Also a plan with this risk, such as 0.001, calibrated on some of the rows.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")] = False,
    model: Annotated[Path | None, typer.Option(help="A model file, instead of a case.")] = None,
    rows_file: Annotated[Path | None, typer.Option(help="Rows for --model.")] = None,
    n_features: Features = None,
    trust: Trust = False,
) -> None:
    """Compare peers on the same model and rows: microseconds per row, and labels that differ."""
    errors = Console(stderr=True)
    chosen = [name.strip() for name in peers.split(",")]
    require_known("case", cases or [], CASES)
    require_known("peer", chosen, PEERS)
    results = []
    try:
        own = bool(model or rows_file)
        for case in _own_case(model, rows_file, TextModel(n_features), trust) if own else _ready_made(cases, errors):
            results.append(_measure(case, rows, chosen, seconds, full, risk))
            if not as_json:
                print_comparison(results[-1], _wide_enough())
    except (ValueError, OSError) as error:
        errors.print(str(error), markup=False, style="red")
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps({"environment": environment(), "comparisons": [as_record(result) for result in results]}))


def _wide_enough() -> Console:
    """A console for the terminal; for a file, which has no width, one of 110 columns, so that tables stay readable."""
    console = Console()
    return console if console.is_terminal else Console(width=110)


def _ready_made(names: list[str] | None, errors: Console) -> Iterator[Case]:
    for name in names or ["digits"]:
        errors.print(f"{name}: reading data and training ...", markup=False)
        yield make_case(name)


def _own_case(model: Path | None, rows_file: Path | None, text: TextModel, trust: bool) -> Iterator[Case]:
    if model is None or rows_file is None:
        raise Failure(Exit.USAGE, "--model and --rows-file go together: the model to compare, and the rows to predict")
    loaded = load_model(model, trust, text)
    with blaming(Exit.MODEL, model):
        machine = read(loaded)
    yield Case(model.name, loaded, read_rows(rows_file, machine, None))


def _measure(
    case: Case, rows: int | None, peers: list[str], seconds: float, full: bool, risk: float | None
) -> Comparison:
    case = replace(case, rows=case.rows[:rows])
    case, more = (case, {}) if risk is None else with_risk(case, risk)
    found = compare(
        case.model,
        case.rows,
        peers=peers,
        seconds=seconds,
        full=full,
        title=case.title,
        notes=case.notes,
        more=more,
    )
    return replace(found, compiled_in=case.compiled_in)

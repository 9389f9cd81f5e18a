"""`dormie compile`: from a model file to a plan file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from dormie import planner
from dormie.cli.failures import Exit, blaming, require_place
from dormie.cli.inspect import record, show
from dormie.cli.models import Features, Model, Scale, TextModel, Trust, load_model
from dormie.cli.rows import Columns, read_rows
from dormie.convert import read

Output = Annotated[Path, typer.Option("--output", "-o", help="The plan file to write.")]


def compile(
    model: Model,
    output: Output,
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows without labels that the model was not trained on: a risk is certified on them."),
    ] = None,
    fit_rows: Annotated[Path | None, typer.Option(help="With a risk: rows to fit to; training rows will do.")] = None,
    columns: Columns = None,
    risk: Annotated[
        float | None, typer.Option(help="The share of the rows that may get another answer, such as 0.001.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="The probability that the risk holds.")] = 0.95,
    tolerance: Annotated[float | None, typer.Option(help="The largest error of a value or probability.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="For two classes: the least probability or score of the second.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Methods to choose from, separated by commas.")] = None,
    effort: Annotated[
        Literal["quick", "normal", "thorough"], typer.Option(help="How long it may take: seconds, minutes, more.")
    ] = "normal",
    fast_at: Annotated[
        Literal["batch", "row"], typer.Option(help="What the plan is to be fastest at: many rows, or one at a time.")
    ] = "batch",
    seed: Annotated[int, typer.Option(help="The seed of all random draws.")] = 0,
    n_features: Features = None,
    scale: Scale = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")] = False,
) -> None:
    """Compile a model into a plan, which `dormie predict` and dormie.load read.

    Without a risk or a tolerance every answer is the model's own.
    """
    require_place(output, model, rows, fit_rows)
    loaded = load_model(model, trust, TextModel(n_features, scale))
    with blaming(Exit.MODEL, model):
        machine = read(loaded)
    given, fitted = (None if file is None else read_rows(file, machine, columns) for file in (rows, fit_rows))
    chosen = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    with blaming(Exit.USAGE):
        fast = planner.compile(
            loaded,
            given,
            fit_rows=fitted,
            risk=risk,
            confidence=confidence,
            tolerance=tolerance,
            threshold=threshold,
            methods=chosen,
            effort=effort,
            fast_at=fast_at,
            seed=seed,
        )
    with blaming(Exit.OUTPUT, output):
        fast.save(output)
    if as_json:
        print(json.dumps(record(output, fast)))
        return
    show(fast)
    Console(stderr=True).print(f"written to {output}", markup=False, highlight=False, soft_wrap=True)

"""`dormie reduce`: a model of few vectors in place of one of many, as a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dormie import planner
from dormie.cli.failures import Exit, Failure, blaming, require_place
from dormie.cli.models import Features, Model, Scale, TextModel, Trust, load_model
from dormie.cli.rows import Columns, read_rows
from dormie.convert import read
from dormie.methods.reduced_set.reduce import Reduction
from dormie.methods.reduced_set.reduce import reduce as reduce_model


def reduce(
    model: Model,
    vectors: Annotated[int, typer.Argument(min=1, help="How many vectors the new model has.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A LIBSVM text model, or a plan (.dormie).")],
    rows: Annotated[
        Path | None, typer.Option(help="Rows without labels to be right on; training rows will do.")
    ] = None,
    columns: Columns = None,
    seed: Annotated[int, typer.Option(help="The seed of all random draws.")] = 0,
    n_features: Features = None,
    scale: Scale = None,
    trust: Trust = False,
) -> None:
    """Approximate a model by one of few vectors, and say how far it is off."""
    require_place(output, model, rows)
    loaded = load_model(model, trust, TextModel(n_features, scale))
    with blaming(Exit.MODEL, model):
        machine = read(loaded)
    given = None if rows is None else read_rows(rows, machine, columns)
    with blaming(Exit.USAGE):
        reduction = reduce_model(machine, vectors, given, seed=seed)
    with blaming(Exit.OUTPUT, output):
        _write(reduction, output)
    Console().print(reduction.report(), markup=False, highlight=False, soft_wrap=True)


def _write(reduction: Reduction, output: Path) -> None:
    if output.suffix.lower() == ".dormie":
        planner.compile(reduction, methods=[]).save(output)
        return
    try:
        reduction.write_libsvm(output)
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{error}. Write a plan instead: -o {output.with_suffix('.dormie')}") from error

"""`dormie report`: a page about a plan at work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from dormie.cli.failures import Exit, Failure, blaming, require_place
from dormie.cli.models import Features, PlanFile, Scale, TextModel, Trust, load_answering, load_plan
from dormie.cli.rows import Columns, Rows, read_rows
from dormie.show.report.measured import image_shape, measure
from dormie.show.report.report import write


def report(
    plan: PlanFile,
    rows: Rows,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    against: Annotated[
        Path | None, typer.Option(help="The model to be timed beside, in place of the plan's own full sum.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Rows are grey images of this height and width, such as 28x28.")
    ] = None,
    columns: Columns = None,
    n_features: Features = None,
    scale: Scale = None,
    trust: Trust = False,
) -> None:
    """Write one HTML page about a plan at work: its promise, where rows stop, what they cost, how long answers take."""
    fast = load_plan(plan)
    require_place(output, plan, rows, against)
    size = None if image is None else _size(image)
    with blaming(Exit.USAGE, "--image"):
        if size is not None:
            image_shape(fast.plan, size)
    other = None if against is None else load_answering(against, trust, TextModel(n_features, scale))
    given = read_rows(rows, fast.plan.machine, columns)
    with blaming(Exit.ROWS, rows):
        measured = measure(fast, given, against=other, image=size)
    with blaming(Exit.OUTPUT, output):
        write(measured, output)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", text)
    if found is None:
        raise Failure(Exit.USAGE, f"--image is a height and a width, such as 28x28, got {text}")
    return int(found[1]), int(found[2])

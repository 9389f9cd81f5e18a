"""`dormie predict`: answers of a file of rows, which may be larger than memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from dormie.cli.failures import Exit, Failure, blaming, require_place
from dormie.cli.models import PlanFile, load_plan
from dormie.cli.rows import Columns, Rows, names_of, opened
from dormie.machine.rules import ClassRule
from dormie.predictor import Predictor
from dormie.progress import Progress
from dormie.scale.tables import predict_batches, write_answers
from dormie.scale.tables.answers import require_format


def predict(
    plan: PlanFile,
    rows: Rows,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The answers: a CSV, Parquet, Arrow, Feather or NPY file.")
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities, a column for each class.")] = False,
    columns: Columns = None,
    threads: Annotated[int | None, typer.Option(min=1, help="The most threads to use.")] = None,
) -> None:
    """Answer every row of a file. It is read in blocks, so that it may be larger than memory.

    The answers appear when they are complete.
    """
    fast = load_plan(plan)
    answering = Predictor(fast.plan, threads)
    require_place(output, plan, rows)
    with blaming(Exit.OUTPUT, output):
        require_format(output)
    with blaming(Exit.ROWS, rows):
        file = opened(rows)
        if proba and not hasattr(fast, "predict_proba"):
            raise Failure(Exit.USAGE, f"{plan}: this model has no probabilities: compile a CalibratedClassifierCV")
        answers = predict_batches(
            answering, file, method="predict_proba" if proba else "predict", columns=names_of(columns)
        )
        with closing(_counted(answers, file.n_rows)) as counted:
            write_answers(output, counted, columns=_names(fast, proba))


def _counted(answers: Iterator[npt.NDArray[Any]], rows: int | None) -> Generator[npt.NDArray[Any], None, None]:
    """The same answers, while a line of progress tells how many there are."""
    done, of = 0, "" if rows is None else f" of {rows:,}"
    with Progress() as progress:
        for block in answers:
            done += len(block)
            progress.say(f"{done:,}{of} rows")
            yield block


def _names(fast: Predictor, proba: bool) -> list[str] | None:
    """The columns of probabilities are named for their classes."""
    rule = fast.plan.machine.rule
    return [str(label) for label in np.asarray(rule.classes)] if proba and isinstance(rule, ClassRule) else None

"""The command-line application: collects the commands, which are defined in one file each."""

from __future__ import annotations

import typer

from dormie.cli.bench import bench
from dormie.cli.demo import demo
from dormie.cli.papers import papers

app = typer.Typer(
    help="Compiles a trained kernel machine into a predictor that stops as soon as the answer is settled.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)
app.command()(bench)
app.command()(papers)

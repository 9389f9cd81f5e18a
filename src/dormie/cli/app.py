"""The command-line application: collects the commands, which are defined in one file each."""

from __future__ import annotations

from typing import Annotated

import typer

from dormie._version import __version__
from dormie.cli.bench import bench
from dormie.cli.bench_values import bench_values
from dormie.cli.compile import compile
from dormie.cli.datasets import datasets
from dormie.cli.demo import demo
from dormie.cli.failures import Commands
from dormie.cli.inspect import inspect
from dormie.cli.papers import papers
from dormie.cli.predict import predict
from dormie.cli.raster import raster
from dormie.cli.reduce import reduce
from dormie.cli.report import report
from dormie.cli.verify import verify

app = typer.Typer(
    cls=Commands,
    help="Compiles a trained kernel machine into a predictor that stops as soon as the answer is settled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (demo, compile, inspect, verify, predict, report, raster, reduce, bench, bench_values, papers, datasets):
    app.command()(command)


def _show_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # its callback does the work
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and exit.")
    ] = False,
) -> None:
    """Compiles a trained kernel machine into a predictor that stops as soon as the answer is settled."""

"""`dormie datasets`: which data sets are on this computer, which are not, and how to get them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Annotated

import typer
from rich.console import Console

from dormie.cli.failures import require_known
from dormie.lab.datasets import NAMES
from dormie.lab.datasets.places import Part, how_to_get, located
from dormie.lab.datasets.registry import RECIPES


@dataclass(frozen=True)
class _Line:
    """What is told of a data set, and whether all its parts are here."""

    name: str
    description: str
    here: bool
    files: tuple[str, ...]
    how_to_get: str


def datasets(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Of these alone, in full.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of lines.")] = False,
) -> None:
    """List the data sets: what is there, what is missing, and how to get it.

    Files are looked for in the folder named by DORMIE_DATA and in the cache folder. What they hold is checked when they
    are read.
    """
    require_known("data set", names or [], NAMES)
    lines = [_line(name) for name in names or NAMES]
    if as_json:
        print(json.dumps([asdict(line) for line in lines]))
    else:
        _print(lines, in_full=bool(names))


def _line(name: str) -> _Line:
    recipe = RECIPES[name]
    parts = [part for part in (recipe.train, recipe.test) if part is not None]
    files = [_files(part) for part in parts]
    return _Line(name, recipe.description, all(files), tuple(chain(*files)), "\n  ".join(map(how_to_get, parts)))


def _files(part: Part) -> list[str]:
    found = located(part)
    return [] if found is None else [str(place) for place in found[1]]


def _print(lines: list[_Line], *, in_full: bool) -> None:
    console = Console()
    for line in lines:
        text = f"{line.name:14s} {'here' if line.here else 'missing':8s} {line.description}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        if in_full:
            detail = "".join(f"  {file}\n" for file in line.files) + ("" if line.here else f"  {line.how_to_get}\n")
            console.print(detail, end="", markup=False, highlight=False, soft_wrap=True)
    if not in_full and any(not line.here for line in lines):
        hint = (
            "What is missing is fetched when first used; `dormie datasets NAME` says from where, and how to do without."
        )
        console.print(hint, markup=False, soft_wrap=True)

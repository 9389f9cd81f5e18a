"""How the parts of data sets are described: in which files, of which forms, they may be had, and where from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dormie.lab.datasets.openml import OpenML
from dormie.planner.cache_folder import cache_folder

PACKED = ("", ".gz", ".bz2", ".xz")

Parser = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class Form:
    """One form in which a part of a data set is served.

    `files` are names without .gz, .bz2 or .xz: each may lie in the set's folder packed or not. `origins` are public
    homes, each with one address for every file. `parse` makes (X, y) of the files' bytes.
    """

    files: tuple[str, ...]
    parse: Parser
    origins: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Part:
    """The training part or the test part of a data set: the sha256 of its contents, and the forms that give them."""

    folder: str
    contents: str
    forms: tuple[Form, ...]
    openml: OpenML | None = None


def data_folder() -> Path | None:
    """The folder named by DORMIE_DATA, if any."""
    named = os.environ.get("DORMIE_DATA")
    return Path(named).expanduser() if named else None


def folders(part: Part) -> Iterator[Path]:
    """Where files of the part are looked for, in order."""
    folder = data_folder()
    if folder is not None:
        yield folder / part.folder
    yield cache_folder() / part.folder


def located(part: Part) -> tuple[Form, list[Path]] | None:
    """The first form all of whose files are in one folder, and their paths."""
    for folder in folders(part):
        for form in part.forms:
            places = [_file(folder, name) for name in form.files]
            found = [place for place in places if place is not None]
            if len(found) == len(places):
                return form, found
    return None


def _file(folder: Path, name: str) -> Path | None:
    return next((place for end in PACKED if (place := folder / f"{name}{end}").is_file()), None)


def how_to_get(part: Part) -> str:
    """Where the part can be had, and where to put it."""
    forms = sorted(part.forms, key=lambda form: not form.origins)
    ways = [f"{_and(form.files)}{_source(form)}" for form in forms]
    if part.openml is not None:
        ways.append(f"or install scikit-learn and pandas, which fetch {part.openml.name} from https://www.openml.org")
    return (
        f"put one of these, packed (.gz, .bz2, .xz) or not, into the folder {part.folder} of the folder named by the "
        f"environment variable DORMIE_DATA: {'; '.join(ways)}"
    )


def _source(form: Form) -> str:
    return f" from {_and(form.origins[0])}" if form.origins else ", if you have it"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(names)

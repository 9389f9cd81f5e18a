"""The tests with the oldest and the newest versions of what dormie depends on, and with those to come.

    nox -s "tests(3.11-oldest)"        # or: nox, for all that there is a Python for

What is oldest is written once, in pyproject.toml: its lower bounds are taken as they are. A Python that is missing is
an error where CI is set, as in the workflow, and passed over elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_PARTS = [
    ("3.11", "oldest"),
    ("3.11", "newest"),
    ("3.12", "newest"),
    ("3.13", "newest"),
    ("3.14", "newest"),
    ("3.14", "pre-release"),
    ("3.14t", "newest"),
]


_OF_USERS = ("sklearn", "cli", "dask", "raster", "tables", "plot")  # extras; the others are for work on dormie


def _oldest() -> list[str]:
    """The lower bounds of all dependencies that have one, as exact versions."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    bounds = {*project["dependencies"], *(bound for name in _OF_USERS for bound in extras[name])}
    found = [re.fullmatch(r"([\w-]+(?:\[[\w,]+\])?)>=([\d.]+)", bound) for bound in sorted(bounds)]
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound]


# Later ones warn of what the oldest scikit-learn, matplotlib and typer do, and the oldest scikit-learn does not see the
# names of a later polars' columns.
_OF_THAT_TIME = ["pytest<9", "pyparsing<3.3", "click<8.3", "polars<2"]


@nox.session
@nox.parametrize(("python", "versions"), _PARTS, ids=[f"{python}-{versions}" for python, versions in _PARTS])
def tests(session: nox.Session, versions: str) -> None:
    """The whole suite; deprecations are errors, as pyproject.toml says."""
    asked = {"oldest": [*_oldest(), *_OF_THAT_TIME], "newest": ["--upgrade"], "pre-release": ["--upgrade", "--pre"]}[
        versions
    ]
    session.install("-e", ".[test]", *asked, env={"DORMIE_REQUIRE_NATIVE": "1"})
    session.run("python", "-m", "pytest", "--numprocesses", "auto", *session.posargs, env=_ONE_THREAD)

"""A commit of the repository, built and installed into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

_SAME = ("numpy", "scipy", "scikit-learn")  # both versions get what this process has


@dataclass(frozen=True)
class Version:
    """A commit, and the Python that has it installed."""

    name: str
    python: Path


def installed(ref: str, repository: Path, folder: Path) -> Version:
    """The version of a commit, built from what git has of it; one that was built before is taken as it is."""
    commit = _run("git", "rev-parse", "--short", f"{ref}^{{commit}}", cwd=repository).strip()
    place = folder / commit
    found = Version(commit, place / "bin" / "python")
    if not (place / "ready").exists():
        source = extracted(commit, repository, place / "source")
        venv.create(place, with_pip=True, clear=False)
        same = [f"{name}=={version(name)}" for name in _SAME]
        told = {"DORMIE_REQUIRE_NATIVE": "1", "SETUPTOOLS_SCM_PRETEND_VERSION": f"0+g{commit}"}
        _run(str(found.python), "-m", "pip", "wheel", "--no-deps", "-w", str(place), str(source), cwd=place, **told)
        (wheel,) = place.glob("*.whl")
        _run(str(found.python), "-m", "pip", "install", str(wheel), *same, cwd=place)
        (place / "ready").touch()
    return found


def extracted(commit: str, repository: Path, place: Path) -> Path:
    """The files of a commit, in a folder; changes that were not committed are not among them."""
    place.mkdir(parents=True, exist_ok=True)
    archive = place.parent / "source.tar"
    _run("git", "archive", "--output", str(archive), commit, cwd=repository)
    _run("tar", "xf", str(archive), cwd=place)
    return place


def _run(*command: str, cwd: Path, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout[-8000:], file=sys.stderr)
        raise RuntimeError(f"{' '.join(command)} failed, with status {done.returncode}")
    return done.stdout

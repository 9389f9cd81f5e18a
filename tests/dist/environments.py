"""Pythons, environments of their own, and commands in them, without a network where the system can cut it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import ROOT

_CUT = ("unshare", "--net", "--map-root-user")
_ASK = "import sys, sysconfig; print(*sys.version_info[:2], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"


@dataclass(frozen=True)
class Interpreter:
    """A Python of this computer."""

    command: str
    version: tuple[int, int]
    locked: bool = True  # whether it has the global lock

    @property
    def takes_abi3(self) -> bool:
        """Whether the wheel of the stable ABI is for it."""
        return self.version >= (3, 12) and self.locked

    def __str__(self) -> str:
        return ".".join(map(str, self.version)) + ("" if self.locked else "t")


def interpreter(command: str) -> Interpreter | None:
    """The Python behind a command; None where there is none, or one too old for dormie."""
    try:
        done = subprocess.run([command, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor, unlocked = map(int, done.stdout.split())
    return Interpreter(command, (major, minor), not unlocked) if (major, minor) >= (3, 11) else None


def requirements(*extras: str) -> list[str]:
    """What dormie needs by pyproject.toml, with these extras and those that they name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = dict.fromkeys(project["dependencies"])
    for extra in extras:
        for each in project["optional-dependencies"][extra]:
            name, _, inner = each.rstrip("]").partition("[")
            found |= dict.fromkeys(requirements(*inner.split(",")) if name == "dormie" else [each])
    return list(found)


@functools.cache
def can_cut_the_network() -> bool:
    """Whether this system lets a process give up its network."""
    return shutil.which(_CUT[0]) is not None and subprocess.run([*_CUT, "true"], capture_output=True).returncode == 0


def run(command: Iterable[Any], folder: Path, *, network: bool = False, more: Mapping[str, str] | None = None) -> str:
    """What a command prints. It must succeed. PYTHONPATH and the like are kept from it; `more` is set."""
    words = [*(() if network or not can_cut_the_network() else _CUT), *map(str, command)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DORMIE_"))}
    done = subprocess.run(words, cwd=folder, env=environment | dict(more or {}), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(words)}\nfailed ({done.returncode}):\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
        )
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Environment:
    """An environment that was empty: it installs from folders of wheels alone, never from an index."""

    folder: Path

    @classmethod
    def of(cls, python: Interpreter, folder: Path) -> Environment:
        run([python.command, "-m", "venv", "--clear", folder], folder.parent)
        return cls(folder)

    @property
    def scripts(self) -> Path:
        return self.folder / "bin"

    def pip(self, *words: Any, links: Iterable[Path], **variables: str) -> str:
        offline = {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": " ".join(map(str, links)),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        return run([self.scripts / "python", "-m", "pip", *words], self.folder, more=offline | variables)

    def run(self, *words: Any) -> str:
        """A script of the environment, in a folder where no dormie lies."""
        return run([self.scripts / words[0], *words[1:]], self.folder)

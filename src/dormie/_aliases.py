"""Modules under a second name: public ones with short names, and old names that work for one release more.

`dormie.kernels` is `dormie.machine.kernels`, and so on: users should not have to know in which room a thing lives.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PUBLIC = {
    "dormie.datasets": "dormie.lab.datasets",
    "dormie.kernels": "dormie.machine.kernels",
    "dormie.rules": "dormie.machine.rules",
    "dormie.tree": "dormie.methods.tree",
}
RENAMED = {
    "dormie.bench": "dormie.lab.bench",
    "dormie.papers": "dormie.lab.papers",
    "dormie.readers": "dormie.convert",
    "dormie.reduction": "dormie.methods.reduced_set",
}


class _Finder:
    """Knows modules by their other names."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        real = _real_name(fullname)
        return None if real == fullname else ModuleSpec(fullname, _Alias(real))  # type: ignore[arg-type]


class _Alias:
    """Gives the module that is there, not a second copy of it. (No importlib.abc.Loader: that takes long to import.)"""

    def __init__(self, real: str) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in RENAMED:
            warnings.warn(
                f"{spec.name} is now {self._real}; the old name goes with the next release", FutureWarning, stacklevel=2
            )
        module = import_module(self._real)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec  # the import system has put the alias in its place


def _real_name(name: str) -> str:
    """The name of a module, or of one inside an aliased package, in the house."""
    for alias, real in (PUBLIC | RENAMED).items():
        if name == alias or name.startswith(f"{alias}."):
            return real + name.removeprefix(alias)
    return name


def install() -> None:
    """Make the other names importable."""
    sys.meta_path.insert(0, _Finder())

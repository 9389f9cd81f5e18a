"""Second names of modules: short public names, and old names that work for one more release, with a warning.

`dormie.kernels` is `dormie.machine.kernels`, and so on, so that users need not know how the source is laid out.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PUBLIC = {
    "dormie.dask": "dormie.scale.dask",
    "dormie.datasets": "dormie.lab.datasets",
    "dormie.kernels": "dormie.machine.kernels",
    "dormie.raster": "dormie.scale.raster",
    "dormie.rules": "dormie.machine.rules",
    "dormie.steps": "dormie.machine.preparation",
    "dormie.tables": "dormie.scale.tables",
    "dormie.tree": "dormie.methods.tree",
}
RENAMED = {
    "dormie.bench": "dormie.lab.bench",
    "dormie.margin": "dormie.machine.margin",
    "dormie.papers": "dormie.lab.papers",
    "dormie.readers": "dormie.convert",
    "dormie.reduction": "dormie.methods.reduced_set",
    "dormie.stages": "dormie.methods",
}


class _Finder:
    """Finds a module by its second name."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        real = _real_name(fullname)
        return None if real == fullname else ModuleSpec(fullname, _Alias(real))  # type: ignore[arg-type]


class _Alias:
    """Loads the module itself for its second name, not a copy of it.

    Not an importlib.abc.Loader: that module takes long to import.
    """

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
        module.__spec__ = self._own_spec  # the import system has replaced it by that of the second name


def _real_name(name: str) -> str:
    """The full name of a module, or of one inside a package, that was asked for by its second name."""
    for alias, real in (PUBLIC | RENAMED).items():
        if name == alias or name.startswith(f"{alias}."):
            return real + name.removeprefix(alias)
    return name


def install() -> None:
    """Make the second names importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):  # a reload would add another
        sys.meta_path.insert(0, _Finder())

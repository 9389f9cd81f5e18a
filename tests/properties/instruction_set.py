"""The checks of every method, for a process that runs on one instruction set (DORMIE_ISA)."""

from __future__ import annotations

from importlib import import_module

from dormie.methods import METHODS
from dormie.numerics import backend as native


def check_all() -> None:
    """Raise at the first thing that is wrong; else print what was checked: the instruction set, and every method."""
    print(native.info()["instruction_set"])
    for name in METHODS:
        import_module(f"tests.methods.{name}.test_stage").check_instruction_set()
        print(name)

"""Exact rewrites: the same function of a row, with fewer terms or better conditioned, and nothing approximated.

Each rewrite is a module of two functions: `accepts(machine)` says whether it applies and pays, `apply(machine)`
returns the machine that results. Its docstring states what is preserved. Later rewrites rest on earlier ones:
folding leaves one vector an output, merging can cancel weights to zero, `quadratic` and `dependent` (which `check`
their own results) need not look at points that are gone, and the centre is that of the points kept.
"""

from __future__ import annotations

from typing import Protocol

from dormie.machine import Machine
from dormie.simplify import (
    center,
    dependent,
    drop_zero_weights,
    fold_input_map,
    fold_linear,
    merge_duplicates,
    quadratic,
)


class Rewrite(Protocol):
    def accepts(self, machine: Machine, /) -> bool: ...

    def apply(self, machine: Machine, /) -> Machine: ...


REWRITES: dict[str, Rewrite] = {
    "fold_linear": fold_linear,
    "fold_input_map": fold_input_map,
    "merge_duplicates": merge_duplicates,
    "drop_zero_weights": drop_zero_weights,
    "quadratic": quadratic,
    "dependent": dependent,
    "center": center,
}


def simplify(machine: Machine) -> tuple[Machine, tuple[str, ...]]:
    """The machine after every rewrite that accepts it, and the names of those, in order."""
    applied = []
    for name, rewrite in REWRITES.items():
        if rewrite.accepts(machine):
            machine = rewrite.apply(machine)
            applied.append(name)
    return machine, tuple(applied)

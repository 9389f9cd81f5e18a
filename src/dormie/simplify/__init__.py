"""Exact rewrites: the same function of a row, with fewer terms or better conditioned, and nothing approximated.

Each rewrite is a module of three functions: `accepts(machine)` says whether it applies and pays, `apply(machine)`
returns the machine that results, and `deviation(before, after)` bounds how far rounding on the way has moved the
outputs, by the norm of a row in the coordinates of the result (None where not even rounding changed). Its docstring
states what is preserved. Later rewrites rest on earlier ones: folding leaves one vector an output, merging can cancel
weights to zero, `quadratic` and `dependent` (which `check` their own results) need not look at points that are gone,
and the centre is that of the points kept.
"""

from __future__ import annotations

from typing import Protocol

from dormie.machine import Machine, Origin
from dormie.machine.margin import Margin
from dormie.numerics.rounding import in_terms_of
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

    def deviation(self, before: Machine, after: Machine, /) -> Margin | None: ...


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
    """The machine after every rewrite that accepts it, and the names of those, in order.

    Where one of them changed how the sum is rounded, the machine keeps what it was rewritten from as its origin.
    """
    applied, origin = [], machine.origin
    source = machine if origin is None else origin.machine
    for name, rewrite in REWRITES.items():
        if rewrite.accepts(machine):
            before, machine = machine, rewrite.apply(machine)
            moved = rewrite.deviation(before, machine)
            if moved is not None:
                so_far = Margin.none(machine.n_outputs) if origin is None else origin.deviation
                origin = Origin(source, moved + in_terms_of(so_far, before.input_map, machine.input_map))
            applied.append(name)
    return machine if machine.origin is origin else machine.with_origin(origin), tuple(applied)

"""Exact rewrites: the same function with fewer terms, or better conditioned. Nothing is approximated.

Each rewrite is a module with three functions: `accepts(machine)` says whether it applies and pays, `apply(machine)`
returns the rewritten machine, and `deviation(before, after)` bounds how far the rounding of the rewrite moved the
outputs, as a function of the norm of a row in the coordinates of the result (None where not even the rounding of the
sum changed). The module's docstring states what is preserved.

The order matters: folding leaves one vector for each output, merging can cancel weights to zero, `quadratic` and
`dependent` (which `check` their results) work on the points that are left, and `center` uses the mean of the points
that are kept.
"""

from __future__ import annotations

from typing import Protocol

from dormie.machine import Machine, MachineSum, Origin
from dormie.machine.margin import Margin
from dormie.numerics.rounding import remapped_margin
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
    """Apply every rewrite that accepts the machine; returns the result and the names of the rewrites, in order.

    If one of them changed how the sum rounds, the result keeps the machine before the rewrites as its origin.
    """
    if isinstance(machine, MachineSum):
        return _simplified_members(machine)
    applied, origin = [], machine.origin
    source = machine if origin is None else origin.machine
    for name, rewrite in REWRITES.items():
        if rewrite.accepts(machine):
            before, machine = machine, rewrite.apply(machine)
            moved = rewrite.deviation(before, machine)
            if moved is not None:
                so_far = Margin.none(machine.n_outputs) if origin is None else origin.deviation
                origin = Origin(source, moved + remapped_margin(so_far, before, machine))
            applied.append(name)
    return machine if machine.origin is origin else machine.with_origin(origin), tuple(applied)


def _simplified_members(machine: MachineSum) -> tuple[Machine, tuple[str, ...]]:
    """The sum of the simplified members, and the names of all rewrites of any of them."""
    found = [simplify(member) for member in machine.members]
    names = tuple(name for name in REWRITES if any(name in applied for _, applied in found))
    return MachineSum([member for member, _ in found], machine.rule, machine.feature_names, machine.factors), names

"""A check shared by the rewrites that compute new vectors: the result is used only if it preserves the outputs.

Such a rewrite is exact in real numbers, but rounding may spoil it. So its result is compared with the machine before,
on the points and on rows around them, and discarded if outputs differ by more than a few hundred roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel, Normalized
from dormie.numerics import reference

_CLOSE = 1e-12  # of sum |beta_i K(x, s_i)|: several hundred roundings
_MOST_GROWTH = 16.0  # of that sum, to which the rounding errors of the result are proportional
_LEAST_SUM = 1e-200  # where sums are smaller, their terms may have underflowed
_ROWS_OF_A_KIND = 256


def preserves(before: Machine, after: Machine) -> bool:
    """Whether outputs are equal up to rounding, and no new terms are so large that they must cancel each other."""
    before, after = before.bare, after.bare
    with np.errstate(over="ignore", invalid="ignore"):
        rows = _check_rows(before.points)
        sums = reference.absolute_sums(before, rows)
        change = np.abs(reference.outputs(after, rows) - reference.outputs(before, rows))
        grown = reference.absolute_sums(after, rows)
    sizes = sums + np.abs(before.bias)
    same = (change <= _CLOSE * sizes) & (grown <= _MOST_GROWTH * sizes)
    return bool(same.all() and _LEAST_SUM < sums.max() < np.inf)


def _check_rows(points: Floats) -> Floats:
    """Rows in mapped coordinates: some points, the same points moved at random, and random rows of the same scale."""
    rng = np.random.default_rng(0)
    some = points[rng.permutation(len(points))[:_ROWS_OF_A_KIND]]
    moved = some + rng.normal(size=some.shape) * points.std(axis=0)
    free = rng.normal(size=(_ROWS_OF_A_KIND, points.shape[1])) * 2 * np.sqrt(np.mean(points**2, axis=0))
    return np.vstack([some, moved, free])


def inner(kernel: Kernel) -> Kernel:
    """The kernel inside a normalised one; any other kernel itself."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel


def tried(
    attempt: Callable[[Machine], Machine | None],
) -> tuple[Callable[[Machine], bool], Callable[[Machine], Machine]]:
    """`accepts` and `apply` of a rewrite that must be computed to know whether it applies; both share one attempt."""
    results: WeakKeyDictionary[Machine, Machine | None] = WeakKeyDictionary()

    def accepts(machine: Machine) -> bool:
        if machine not in results:
            results[machine] = attempt(machine)
        return results[machine] is not None

    def apply(machine: Machine) -> Machine:
        result = results[machine] if accepts(machine) else None
        assert result is not None, "apply a rewrite only where it accepts the machine"
        return result

    return accepts, apply

"""Which rows are prepared roughly: their last projection, if it is large, is in float32, which takes half the time.

Stages that leave open what is close take rows so, in the native core alone. The projected row is off by more then. That
is counted among its errors, and the margin, a function of them, keeps every answer right. But a margin as large as the
outputs would leave all rows open: products in float32 lose much where large numbers cancel, and the outputs of a
machine with large weights move much for it. So each machine has a limit, and a row whose error is above it is projected
in float64. An error is told from the row alone: neither its batch nor the stage changes the row's numbers.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Radial
from dormie.machine.rules import ValueRule
from dormie.numerics.rounding import margin

__all__ = ["most_rough_error"]

_SHARE = 1 / 32  # of a usual output: what a margin may be. On MNIST behind PCA(50) it leaves one row in 300 more open.
_SAMPLE = 32  # points whose outputs tell which are usual
_MOST = 2.0**100  # far from where float32 overflows
_MOST_UNIT_ERROR = 2.0**40  # below it, a reach is far above the length that it stands for
_FOUND: WeakKeyDictionary[Machine, float] = WeakKeyDictionary()


def most_rough_error(machine: Machine) -> float:
    """The largest error, in units of u, of a projection in float32; 0 where none is wanted.

    Where it is the kernel is radial: margins are then a constant and a multiple of the errors, however large these are.
    And answers are labels: values are wanted to a tolerance that may be much smaller.
    """
    preparation = machine.preparation
    if preparation is None or isinstance(machine.rule, ValueRule) or not isinstance(machine.kernel, Radial):
        return 0.0
    if machine not in _FOUND:
        _FOUND[machine] = 2 * preparation.unit_error * _reach(machine)  # margins count every error twice
    return min(_FOUND[machine], _MOST) if preparation.unit_error < _MOST_UNIT_ERROR else 0.0


def _reach(machine: Machine) -> float:
    """The reach at which the margin of most outputs is a small share of what they usually are."""
    of = margin(machine)
    if of.degree != 1:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reaches = ((_SHARE * _usual(machine) - of.constant) / of.slope - of.start) / of.gain
    return max(0.0, float(np.median(np.nan_to_num(reaches, nan=0.0, posinf=_MOST, neginf=0.0))))


def _usual(machine: Machine) -> Floats:
    """The median size of each output at some of the points."""
    some = machine.points[:: max(1, machine.n_points // _SAMPLE)][: 2 * _SAMPLE]
    if not len(some):
        return np.zeros(machine.n_outputs)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        outputs = machine.kernel.matrix(some, machine.points) @ machine.weights + machine.bias
    return np.asarray(np.median(np.abs(outputs), axis=0))

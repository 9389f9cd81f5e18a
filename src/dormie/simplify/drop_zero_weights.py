"""Points whose weights are all zero are dropped. Preserves every output, term by term."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Machine
from dormie.machine.kernels import Custom
from dormie.machine.typing import Booleans


def accepts(machine: Machine) -> bool:
    used = _used(machine)
    # A user's kernel function may fail if it is given no points.
    return not used.all() and not (isinstance(machine.kernel, Custom) and not used.any())


def apply(machine: Machine) -> Machine:
    used = _used(machine)
    if hasattr(machine.points, "shape"):
        points = machine.points[used]
    else:
        points = [point for point, keep in zip(machine.points, used, strict=True) if keep]
    return replace(machine, points=points, weights=machine.weights[used])


def deviation(before: Machine, after: Machine) -> None:
    """None: terms of 0 change neither a sum nor its rounding."""


def _used(machine: Machine) -> Booleans:
    return np.asarray(machine.weights.any(axis=1))

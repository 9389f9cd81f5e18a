"""What points know of w: <phi(p), w> for any points p, and how far each number may be off.

Certificates about w are differences of such numbers that nearly cancel, so the bounds here decide how small a
difference can be told from rounding. With an RBF kernel errors are proportional to the values, and the values are what
is summed: a bound by the sums is far tighter than the largest error times all weights, which one outlier would spoil.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dormie.kernels import RBF, Normalized
from dormie.machine import Floats, Machine
from dormie.rounding import UNIT, kernel_value_error, tile_value_error
from dormie.rules import Value
from dormie.stages.dense import Dense

_LEAST = 1e-300  # more than an RBF value loses below the normal range


@dataclass(frozen=True)
class Known:
    """One row for each point, one column for each output."""

    values: Floats  # <phi(p), w>
    errors: Floats  # how far each may be off
    sizes: Floats  # at least sum_i |beta_i| |K(p, s_i)|, but for rounding

    @classmethod
    def by(cls, machine: Machine, points: Floats) -> Known:
        """What the points (in mapped coordinates) know of the machine's w."""
        weights = np.abs(machine.weights)
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = _narrow_gamma(machine, points)
            far = np.zeros_like(weights) if gamma is None else _squares(machine.points) * weights
            dense = _bare(machine, np.hstack([machine.weights, weights, far]))
            values, sizes, far = np.split(dense.outputs(points), 3, axis=1)
            if not machine.kernel.nonnegative:  # Cauchy-Schwarz
                own = np.sqrt(machine.kernel.diagonal(machine.points)) @ weights
                sizes = np.outer(np.sqrt(machine.kernel.diagonal(points)), own) * (1 + 1e-9)
            errors = _of_any(machine, points) if gamma is None else _of_rbf(machine, gamma, points, sizes, far)
            return cls(values, errors + 1.02 * dense.sum_roundings * UNIT * sizes, sizes)


def _bare(machine: Machine, weights: Floats) -> Dense:
    """Sums over the machine's points with these weights, for rows in mapped coordinates."""
    rule, bias = Value(flat=False), np.zeros(weights.shape[1])
    return Dense(replace(machine, weights=weights, bias=bias, rule=rule, input_map=None))


def _of_any(machine: Machine, points: Floats) -> Floats:
    """What the errors of kernel values add to each output, by the largest of them."""
    largest = max(bound(machine.kernel, points, machine.points) for bound in (tile_value_error, kernel_value_error))
    return np.asarray(1.01 * largest * np.abs(machine.weights).sum(axis=0))


def _of_rbf(machine: Machine, gamma: float, points: Floats, sizes: Floats, far: Floats) -> Floats:
    """The same for RBF values: each is off by the share of itself that its exponent is off by.

    An exponent is off by a few units of gamma (|p| + |s|)^2 <= 2 gamma (|p|^2 + |s|^2). far: sum_i |beta_i| |s_i|^2 K.
    """
    exponents = 2 * _exponent_roundings(machine) * gamma * (_squares(points) * sizes + far)
    return np.asarray(1.02 * UNIT * (exponents + 20 * sizes) + _LEAST * np.abs(machine.weights).sum(axis=0))


def _exponent_roundings(machine: Machine) -> float:
    """Of the native tiles (see `tile_value_error`) or of NumPy, whichever has more."""
    d = machine.n_features
    return max(min(d, 64 + d / 64) + 16, d + 4)


def _narrow_gamma(machine: Machine, points: Floats) -> float | None:
    """The gamma of an RBF kernel whose exponents are off by so little that errors are proportional to values."""
    kernel = machine.kernel.kernel if isinstance(machine.kernel, Normalized) else machine.kernel
    if not isinstance(kernel, RBF):
        return None
    reach = sum(math.sqrt(_squares(a).max(initial=0.0)) for a in (points, machine.points))
    return kernel.gamma if kernel.gamma * reach * reach * _exponent_roundings(machine) * UNIT < 1e-3 else None


def _squares(points: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", points, points)[:, None])

"""The origin of a machine with a radial kernel is moved to the mean of its points: K depends only on differences x - s.

It pays because the native core computes |x - s|^2 as |x|^2 - 2 x.s + |s|^2, which cancels badly far from the origin. If
points also lie far from each other (clusters 1e8 apart), subtracting any center loses the digits that distinguish near
points. Such machines are not changed, and are evaluated by differences.

Preserves the distance of a row and a point up to the length of the vector u (|x_j - c_j| + |s_j - c_j|), u = 2^-53:
the two subtractions have errors of half a unit in the last place each. Most of them are exact: the center c_j is a
multiple of a power of two close to the standard deviation of feature j, so s_j - c_j is exact wherever c_j is no
further from s_j than 0 is, and always for integers and other numbers of few bits.

An input map (x - a)/b becomes (x - (a + b c))/b. Rounding a + b c moves every mapped row by at most u |a_j/b_j + c_j|
in feature j, which is no more than the rounding of (x_j - a_j)/b_j before, as mapped rows lie around c.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import Radial
from dormie.machine.margin import Margin
from dormie.numerics.rounding import UNIT

_LARGEST = 1e150  # the squares of larger coordinates overflow
_MOST_MOVED = 2.0**-40
_UP = 1.2  # covers the rounding of the lengths that points and rows are moved by
_SPARSE = 0.5  # with this share of zeros or more, sparse points save more than centering does


def accepts(machine: Machine) -> bool:
    points = machine.points
    if not isinstance(machine.kernel, Radial) or machine.n_points == 0 or machine.has_sparse_points:
        return False
    if np.abs(points).max() > _LARGEST:
        return False
    if np.count_nonzero(points) <= (1 - _SPARSE) * points.size:
        return False
    mean = points.mean(axis=0)
    return bool(mean @ mean > points.var(axis=0).sum()) and _most_moved(machine) < _MOST_MOVED


def apply(machine: Machine) -> Machine:
    middle = _short_mean(machine.points)
    shift = Affine(middle, np.ones_like(middle))
    input_map = shift if machine.input_map is None else machine.input_map.then(shift)
    return replace(machine, points=machine.points - middle, input_map=input_map)


def _most_moved(machine: Machine) -> float:
    """How far rounding moves points, and rows as far out, times the slope of the kernel."""
    assert isinstance(machine.kernel, Radial)
    middle = _short_mean(machine.points)
    lost = np.abs(_rounding_of_difference(machine.points, middle)) + 2 * UNIT * np.abs(machine.points - middle)
    return float(machine.kernel.slope * np.linalg.norm(lost, axis=1).max())


def deviation(before: Machine, after: Machine) -> Margin:
    """The distance by which rounding moved points and mapped rows, times a bound on the slope of K."""
    assert isinstance(after.kernel, Radial)
    assert after.input_map is not None
    middle = _short_mean(before.points)
    moved = float(np.linalg.norm(_rounding_of_difference(before.points, middle), axis=1).max())
    if before.input_map is not None:
        scale, center = np.abs(after.input_map.scale), np.abs(after.input_map.center)
        moved += 2 * UNIT * float(np.linalg.norm((center + np.abs(before.input_map.center)) / scale + np.abs(middle)))
    weights = np.abs(after.weights).sum(axis=0)
    return Margin(_UP * after.kernel.slope * moved * weights, np.zeros_like(weights))


def _rounding_of_difference(a: Floats, b: Floats) -> Floats:
    """The exact rounding error of `a - b`."""
    difference = a - b
    part = difference - a
    return np.asarray((a - (difference - part)) + (-b - part))


def _short_mean(points: Floats) -> Floats:
    """The mean of each feature, rounded to a multiple of a power of two no larger than its standard deviation."""
    mean, spread = points.mean(axis=0), points.std(axis=0)
    _, exponent = np.frexp(spread)
    grid = np.where(spread > 0, np.ldexp(1.0, exponent - 1), 0.0)
    grid = np.maximum(grid, np.spacing(np.abs(mean)))  # the mean of a constant feature is not rounded
    return np.asarray(np.rint(mean / grid) * grid)

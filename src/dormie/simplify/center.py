"""The origin of an RBF machine moves to the middle of its points: K depends on differences x - s only.

It pays because tiles compute |x - s|^2 as |x|^2 - 2 x.s + |s|^2, which cancels badly far from the origin. Where points
lie far from each other as well (clusters 1e8 apart), differences from any centre lose what tells near points apart:
such machines stay as they are, and are evaluated by differences.

Preserves every kernel value up to a relative change of 2 gamma sum_j |x_j - s_j| u (|x_j - c_j| + |s_j - c_j|),
u = 2^-53: the two subtractions round to half a unit in the last place each. Mostly they do not round at all: the
centre c_j is a multiple of a power of two close to the spread of feature j, so s_j - c_j is exact wherever c_j is no
further from s_j than 0 is, and for whole numbers and other numbers of few bits everywhere.

With an input map (x - a)/b the new one is (x - (a + b c))/b. Rounding a + b c moves every mapped row by at most
u |a_j/b_j + c_j| in feature j: no more than (x_j - a_j)/b_j was rounded by before, as mapped rows lie around c.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF
from dormie.machine.margin import Margin
from dormie.numerics.rounding import UNIT

_LARGEST = 1e150  # the squares of larger coordinates overflow
_MOST_MOVED = 2.0**-40
_SPARSE = 0.5  # from this share of zeros on, zeros are worth more than a centred origin


def accepts(machine: Machine) -> bool:
    points = machine.points
    if not isinstance(machine.kernel, RBF) or machine.n_points == 0 or np.abs(points).max() > _LARGEST:
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
    """How far, in units that K changes by 1 in, points and rows as far out are moved by rounding."""
    assert isinstance(machine.kernel, RBF)
    middle = _short_mean(machine.points)
    lost = np.abs(_rounding_of_difference(machine.points, middle)) + 2 * UNIT * np.abs(machine.points - middle)
    return float(np.sqrt(machine.kernel.gamma) * np.linalg.norm(lost, axis=1).max())


def deviation(before: Machine, after: Machine) -> Margin:
    """What rounding moved the points and the mapped rows by, times the steepest that K is anywhere."""
    assert isinstance(after.kernel, RBF)
    assert after.input_map is not None
    middle = _short_mean(before.points)
    moved = float(np.linalg.norm(_rounding_of_difference(before.points, middle), axis=1).max())
    if before.input_map is not None:
        scale, center = np.abs(after.input_map.scale), np.abs(after.input_map.center)
        moved += 2 * UNIT * float(np.linalg.norm((center + np.abs(before.input_map.center)) / scale + np.abs(middle)))
    weights = np.abs(after.weights).sum(axis=0)
    return Margin(np.sqrt(after.kernel.gamma) * moved * weights, np.zeros_like(weights))


def _rounding_of_difference(a: Floats, b: Floats) -> Floats:
    """How far `a - b` is from the difference, exactly."""
    difference = a - b
    part = difference - a
    return np.asarray((a - (difference - part)) + (-b - part))


def _short_mean(points: Floats) -> Floats:
    """The mean, in each feature rounded to a power of two no larger than the standard deviation."""
    mean, spread = points.mean(axis=0), points.std(axis=0)
    _, exponent = np.frexp(spread)
    grid = np.where(spread > 0, np.ldexp(1.0, exponent - 1), 0.0)
    grid = np.maximum(grid, np.spacing(np.abs(mean)))  # a constant feature has no spread: its mean stays as it is
    return np.asarray(np.rint(mean / grid) * grid)

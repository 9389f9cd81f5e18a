"""The input map of a linear machine is folded into its points and bias: s . (x - c)/a = (s/a) . x - (s/a) . c.

Preserves every output to about 16 times the rounding error of the machine before, for rows of mapped size about one.
Subtracting the center first keeps that error small, whereas the folded form adds two numbers of the size of w . c/a
that cancel. So the map is kept where folding would cost more than four bits, that is, where for some output
sum_j |w_j c_j/a_j| exceeds 16 times |b| + sum_j |w_j|; and where a quotient would overflow or underflow.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Linear
from dormie.machine.margin import Margin
from dormie.machine.sparse_points import norms, scaled
from dormie.numerics.rounding import UNIT

_MOST_CANCELLATION = 16.0


def accepts(machine: Machine) -> bool:
    if not isinstance(machine.kernel, Linear) or machine.input_map is None:
        return False
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if machine.has_sparse_points:  # the map keeps zeros: there is no shift
            return _normal_numbers(machine.points.data, scaled(machine.points, machine.input_map.scale).data)
        points = machine.points / machine.input_map.scale
        return _normal_numbers(machine.points, points) and _harmless(machine, points * machine.input_map.center)


def apply(machine: Machine) -> Machine:
    assert machine.input_map is not None  # accepts() has checked it
    if machine.has_sparse_points:
        return replace(machine, points=scaled(machine.points, machine.input_map.scale), input_map=None)
    points = machine.points / machine.input_map.scale
    shifts = np.array([math.fsum(terms) for terms in points * machine.input_map.center])
    bias = [math.fsum([b, *-(column * shifts)]) for b, column in zip(machine.bias, machine.weights.T, strict=True)]
    return replace(machine, points=points, bias=np.array(bias), input_map=None)


def deviation(before: Machine, after: Machine) -> Margin:
    """One rounding of every quotient, plus a few of the terms that the bias is the sum of."""
    assert before.input_map is not None
    weights = np.abs(after.weights).T
    sparse = after.has_sparse_points
    shifts = np.zeros(after.n_points) if sparse else np.abs(after.points * before.input_map.center).sum(axis=1)
    constant = 8 * UNIT * (weights @ shifts + np.abs(after.bias) + np.abs(before.bias))
    return Margin(constant, 4 * UNIT * (weights @ norms(after.points)))


def _normal_numbers(points: Floats, quotients: Floats) -> bool:
    """Whether the quotient of every nonzero coordinate is finite and not subnormal."""
    sizes = np.abs(quotients[points != 0])
    return bool(((sizes >= np.finfo(np.float64).tiny) & np.isfinite(sizes)).all())


def _harmless(machine: Machine, shifts: Floats) -> bool:
    weights = np.abs(machine.weights.T)
    cancelling = weights @ np.abs(shifts).sum(axis=1)
    wanted = np.abs(machine.bias) + weights @ np.abs(machine.points).sum(axis=1)
    return bool((np.isfinite(cancelling + wanted) & (cancelling <= _MOST_CANCELLATION * wanted)).all())

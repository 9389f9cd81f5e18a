"""The slow twin of the nearest stage, in plain loops straight from DeCoste & Mazzoni (2003)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dormie.machine import Machine
from tests.oracles import full_sum as naive


def components(basis: Any, x: Sequence[float]) -> tuple[list[float], float]:
    """Along each direction, and the length of what is left."""
    z = [sum(a * b for a, b in zip(direction, x, strict=True)) for direction in np.asarray(basis).tolist()]
    return z, math.sqrt(max(sum(a * a for a in x) - sum(a * a for a in z), 0.0))


def approximate_kernel(machine: Machine, basis: Any, row: Sequence[float]) -> list[float]:
    """K~(x, s_i), the kernel of the sketches; components outside the basis count for lengths only."""
    z, rest = components(basis, naive.mapped(machine, row))
    found = []
    for point in machine.points.tolist():
        s, s_rest = components(basis, point)
        found.append(naive.kernel_value(machine.kernel, [*z, 0.0, rest], [*s, s_rest, 0.0]))
    return found


def scores(machine: Machine, basis: Any, row: Sequence[float]) -> list[float]:
    """|beta_i| K~(x, s_i); with several outputs their weights together."""
    values = approximate_kernel(machine, basis, row)
    return [
        sum(abs(w) for w in weights) * abs(value)
        for weights, value in zip(machine.weights.tolist(), values, strict=True)
    ]


def is_tug_of_war(machine: Machine, sizes: Sequence[float], order: Sequence[int], slack: float) -> bool:
    """Whether each is a largest score (but for slack) of the side whose weights have come to less so far."""
    sides = [0 if machine.n_outputs > 1 or w[0] > 0 else 1 for w in machine.weights.tolist()]
    left, taken = set(range(machine.n_points)), [0.0, 0.0]
    for i in order:
        waiting = {sides[j] for j in left}
        due = min(waiting) if len(waiting) == 1 else 0 if taken[0] <= taken[1] else 1
        largest = max(sizes[j] for j in left if sides[j] == due)
        if i not in left or sides[i] != due or not sizes[i] >= largest * (1 - slack) - slack * max(sizes):
            return False
        left.remove(i)
        taken[due] += sum(abs(w) for w in machine.weights[i].tolist())
    return True


def partial_sums(
    machine: Machine, order: Sequence[int], row: Sequence[float], before: Sequence[float]
) -> list[list[float]]:
    """G_k of every output, of no term, of the first of the order, the first two, ...

    before: what counts for each term until it is added.
    """
    x = naive.mapped(machine, row)
    sums = [
        b + sum(w * value for w, value in zip(weights, before, strict=True))
        for b, weights in zip(machine.bias.tolist(), machine.weights.T.tolist(), strict=True)
    ]
    found = [sums]
    for i in order:
        value = naive.kernel_value(machine.kernel, x, machine.points[i].tolist()) - before[i]
        sums = [g + w * value for g, w in zip(sums, machine.weights[i].tolist(), strict=True)]
        found.append(sums)
    return found


def thresholds(sums: Sequence[Sequence[float]], up: Sequence[bool], window: int) -> list[tuple[float, float] | None]:
    """(L_k, H_k) at every step, smoothed over `window` steps to either side; their midpoint twice where L_k > H_k.

    sums: rows x steps; up: whether each row's full output is positive. None where rows of a sign are missing.
    """
    if all(up) or not any(up):
        return [None] * len(sums[0])
    low = [min(row[k] for row, positive in zip(sums, up, strict=True) if positive) for k in range(len(sums[0]))]
    high = [max(row[k] for row, positive in zip(sums, up, strict=True) if not positive) for k in range(len(sums[0]))]
    found: list[tuple[float, float] | None] = []
    for k in range(len(low)):
        near = range(max(k - window, 0), min(k + window + 1, len(low)))
        lowest, highest = min(low[j] for j in near), max(high[j] for j in near)
        middle = (lowest + highest) / 2
        found.append((lowest, highest) if lowest <= highest else (middle, middle))
    return found


def stop(sums: Sequence[float], found: Sequence[tuple[float, float] | None]) -> tuple[int, int] | None:
    """The label (0 or 1) by the threshold that is crossed first, and at which step; None where none is."""
    for k, (g, ends) in enumerate(zip(sums, found, strict=True)):
        if ends is not None and g > ends[1]:
            return 1, k
        if ends is not None and g < ends[0]:
            return 0, k
    return None

"""Slow twins of the geometry stage, straight from DeCoste 2002 and from the definitions, in mpmath numbers.

The paper embeds landmarks S_1..S_k, then N, P and the query Q, from their distances alone; `paper_intervals` does just
that (Table 2 with its general V_ij put right). `span_intervals` is the same thing in inner products, with nothing
rounded. `w_greedy_order` and `sgma_order` work out every projection anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

from dormie.machine import Floats, Machine
from tests.oracles import full_sum as naive

Real = Any  # an mpmath number
DIGITS = 80


def _kernel(machine: Machine, u: Sequence[Any], v: Sequence[Any]) -> Real:
    return naive.kernel_value(machine.kernel, _reals(u), _reals(v), mpmath.mpf)


def _reals(values: Sequence[Any]) -> list[Real]:
    return [mpmath.mpf(value) for value in values]


class _Combination:
    """sum_i weights_i phi(points_i): equation (4)."""

    def __init__(self, points: Sequence[Sequence[Any]], weights: Sequence[Any]) -> None:
        self.points, self.weights = points, weights


def _inner(machine: Machine, one: _Combination, other: _Combination) -> Real:
    return sum(
        (
            a * b * _kernel(machine, u, v)
            for u, a in zip(one.points, one.weights, strict=True)
            for v, b in zip(other.points, other.weights, strict=True)
        ),
        mpmath.mpf(0),
    )


def _squared_distance(machine: Machine, one: _Combination, other: _Combination) -> Real:
    """Equation (5)."""
    return _inner(machine, one, one) - 2 * _inner(machine, one, other) + _inner(machine, other, other)


def _embed_point(known: list[list[Real]], squared_distances: Sequence[Real]) -> list[Real]:
    """One more row of Table 2: coordinates of a point from its distances to those embedded; its last is given by `j =
    i - 1`."""
    mine: list[Real] = []
    for j in range(len(known) - 1):  # j + 1 in the paper's count
        step = known[j + 1][j]
        total = step**2 + squared_distances[j] - squared_distances[j + 1]
        for m in range(j):
            total += (mine[m] - known[j + 1][m]) ** 2 - (mine[m] - known[j][m]) ** 2
        # A point in the span of those before it has no direction of its own.
        mine.append(total / (2 * step) if step > 10 ** (-DIGITS // 3) else mpmath.mpf(0))
    return mine


def _last_coordinate(first_squared_distance: Real, coordinates: Sequence[Real]) -> Real:
    rest = first_squared_distance - sum((x**2 for x in coordinates), mpmath.mpf(0))
    return mpmath.sqrt(max(rest, mpmath.mpf(0)))


def _embed(squared_distances: list[list[Real]]) -> list[list[Real]]:
    """Table 2 for all points, rows padded with the zeros of its `j >= i`."""
    n = len(squared_distances)
    rows: list[list[Real]] = [[]]
    for i in range(1, n):
        mine = _embed_point(rows, squared_distances[i][:i])
        mine.append(_last_coordinate(squared_distances[i][0], mine))
        rows.append(mine)
    return [row + [mpmath.mpf(0)] * (n - len(row)) for row in rows]


def paper_intervals(machine: Machine, landmarks: Floats, row: Floats) -> list[tuple[Real, Real]]:
    """[G_L, G_H] of one row at every k, for one output whose weights sum to zero: sections 2.3 to 4.4."""
    with mpmath.workdps(DIGITS):
        points, weights = machine.points.tolist(), _reals(machine.weights[:, 0].tolist())
        positive = [i for i, weight in enumerate(weights) if weight > 0]
        negative = [i for i, weight in enumerate(weights) if weight < 0]
        s = sum((weights[i] for i in positive), mpmath.mpf(0))  # (7)
        plus = _Combination([points[i] for i in positive], [weights[i] / s for i in positive])  # (6)
        minus = _Combination([points[i] for i in negative], [-weights[i] / s for i in negative])
        c = (_inner(machine, minus, minus) - _inner(machine, plus, plus)) * s**2  # (10), before normalising
        query = _Combination([naive.mapped(machine, row.tolist(), mpmath.mpf)], [mpmath.mpf(1)])
        bounds = []
        for k in range(1, len(landmarks) + 1):
            placed = [_Combination([landmark], [mpmath.mpf(1)]) for landmark in landmarks[:k].tolist()]
            low, high = _paper_bounds(machine, placed, minus, plus, query)
            bias = mpmath.mpf(float(machine.bias[0]))  # the paper's -b
            bounds.append(((low * s - c / s) / 2 + bias, (high * s - c / s) / 2 + bias))  # (13), (14)
        return bounds


def _paper_bounds(
    machine: Machine, placed: list[_Combination], minus: _Combination, plus: _Combination, query: _Combination
) -> tuple[Real, Real]:
    """g_L and g_H: stage 1 embeds S, N and P, stage 2 what is known of Q, stage 3 takes the extrema."""
    everything = [*placed, minus, plus]
    table = [[_squared_distance(machine, a, b) for b in everything] for a in everything]
    embedded = _embed(table)
    k = len(placed)
    n, p = embedded[k], embedded[k + 1]
    to_query = [_squared_distance(machine, query, landmark) for landmark in placed]
    q = _embed_point([embedded[i][:i] for i in range(k)], to_query)  # Q_1..Q_w
    radius2 = to_query[0] - sum((x**2 for x in q), mpmath.mpf(0))  # (16)
    radius = mpmath.sqrt(max(radius2, mpmath.mpf(0)))
    g_w = sum(((a - b) ** 2 - (a - c) ** 2 for a, b, c in zip(q, n, p, strict=False)), mpmath.mpf(0))  # (30)
    n_x, p_x, p_y = n[k - 1], p[k - 1], p[k]
    reach = mpmath.sqrt((p_x - n_x) ** 2 + p_y**2)
    q_x = radius * (p_x - n_x) / reach if reach > 0 else mpmath.mpf(0)  # (28)
    q_y = mpmath.sqrt(max(radius**2 - q_x**2, mpmath.mpf(0)))
    extrema = [
        g_w + (x - n_x) ** 2 - (x - p_x) ** 2 + y**2 - (y - p_y) ** 2  # (31)
        for x in (q_x, -q_x)
        for y in (q_y, -q_y)
    ]
    return min(extrema), max(extrema)


def span_intervals(machine: Machine, landmarks: Floats, row: Floats) -> list[list[tuple[Real, Real]]]:
    """Middle and radius of every output at every k: projections on the landmarks' span, in real numbers."""
    with mpmath.workdps(DIGITS):
        x = naive.mapped(machine, row.tolist(), mpmath.mpf)
        marks = landmarks.tolist()
        gram = mpmath.matrix([[_kernel(machine, u, v) for v in marks] for u in marks])
        values = mpmath.matrix([_kernel(machine, u, x) for u in marks])
        factor = mpmath.cholesky(gram)
        q = _forward(factor, values)
        per_output = [_w_side(machine, marks, factor, o) for o in range(machine.n_outputs)]
        own = _kernel(machine, x, x)
        return [
            [_span_interval(c, w2, q, own, float(machine.bias[o]), k + 1) for o, (c, w2) in enumerate(per_output)]
            for k in range(len(marks))
        ]


def _w_side(machine: Machine, marks: list[list[float]], factor: Any, output: int) -> tuple[list[Real], Real]:
    """Coordinates of w on the landmarks, and its squared norm."""
    w = _Combination(machine.points.tolist(), _reals(machine.weights[:, output].tolist()))
    g = [_inner(machine, w, _Combination([mark], [mpmath.mpf(1)])) for mark in marks]
    return _forward(factor, g), _inner(machine, w, w)


def _forward(factor: Any, right: Any) -> list[Real]:
    found: list[Real] = []
    for i in range(len(right)):
        known = sum((factor[i, j] * found[j] for j in range(i)), mpmath.mpf(0))
        found.append((right[i] - known) / factor[i, i])
    return found


def _span_interval(c: list[Real], w2: Real, q: list[Real], own: Real, bias: float, k: int) -> tuple[Real, Real]:
    middle = sum((a * b for a, b in zip(c[:k], q[:k], strict=True)), mpmath.mpf(bias))
    rho2 = w2 - sum((a**2 for a in c[:k]), mpmath.mpf(0))
    far2 = own - sum((a**2 for a in q[:k]), mpmath.mpf(0))
    zero = mpmath.mpf(0)
    return middle, mpmath.sqrt(max(rho2, zero)) * mpmath.sqrt(max(far2, zero))


def outside(machine: Machine, taken: list[int]) -> tuple[Floats, Floats]:
    """The Gram matrix of what of every point lies outside the span of those taken, and <that, w> for every output."""
    gram = machine.kernel.matrix(machine.points, machine.points)
    if taken:
        known = gram[:, taken]
        gram = gram - known @ np.linalg.solve(gram[np.ix_(taken, taken)], known.T)
    return gram, gram @ machine.weights


def _candidates(machine: Machine, gram: Floats, least: float) -> np.ndarray[Any, Any]:
    return np.flatnonzero(np.diagonal(gram) > least * machine.kernel.diagonal(machine.points))


def w_greedy_order(machine: Machine, n: int, least: float) -> list[int]:
    """At every step the point with the most <residual of w, phi(s)>^2 / (|residual of phi(s)|^2 |w|^2) in all."""
    order: list[int] = []
    norms = np.einsum(
        "ic,ij,jc->c", machine.weights, machine.kernel.matrix(machine.points, machine.points), machine.weights
    )
    while len(order) < n:
        gram, corr = outside(machine, order)
        allowed = [j for j in _candidates(machine, gram, least) if j not in order]
        if not allowed:
            break
        gains = [
            sum(corr[j, o] ** 2 / gram[j, j] / norms[o] for o in range(machine.n_outputs) if norms[o] > 0)
            for j in allowed
        ]
        order.append(int(allowed[int(np.argmax(gains))]))
    return order


def sgma_order(machine: Machine, n: int, least: float) -> list[int]:
    """At every step the point whose direction takes the most of the residual kernel matrix's trace, of all points."""
    order: list[int] = []
    while len(order) < n:
        gram, _ = outside(machine, order)
        allowed = [j for j in _candidates(machine, gram, least) if j not in order]
        if not allowed:
            break
        order.append(int(allowed[int(np.argmax([(gram[:, j] ** 2).sum() / gram[j, j] for j in allowed]))]))
    return order


def radius_order(machine: Machine, n: int, least: float) -> list[int]:
    """At every step the point that leaves the least (sum of shares of rho^2) (sum of R^2), over the points as rows."""
    order: list[int] = []
    gram, corr = outside(machine, order)
    norms = np.einsum("ic,ic->c", machine.weights, corr)
    while len(order) < n:
        gram, corr = outside(machine, order)
        allowed = [j for j in _candidates(machine, gram, least) if j not in order]
        if not allowed:
            break
        rho2 = np.einsum("ic,ic->c", machine.weights, corr)
        left = [
            ((rho2 - corr[j] ** 2 / gram[j, j]) / norms).sum() * (np.trace(gram) - (gram[:, j] ** 2).sum() / gram[j, j])
            for j in allowed
        ]
        order.append(int(allowed[int(np.argmin(left))]))
    return order

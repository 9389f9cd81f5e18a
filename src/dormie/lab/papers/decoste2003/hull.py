"""Rows made inside the convex hull of the training rows, to measure thresholds on: the paper's proposal.

Thresholds fail on rows that lean the wrong way more than any sample row did: rows that the machine gives one sign,
close to support vectors of the other. Such rows are made between a training row near the decision boundary and the mean
of the training rows of the other sign that are nearest to it. All are convex combinations of training rows. Each is
drawn evenly from the part of its segment where the machine still gives the first row's sign.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats, Machine
from dormie.numerics.evaluate import FullSum

_NEIGHBOURS = 3
_HALVINGS = 10  # of a segment, to find where the sign changes


def hull_rows(machine: Machine, rows: Floats, count: int, seed: int = 0) -> Floats:
    """At most `count` rows of either sign, made from rows of both signs."""
    g = FullSum(machine).outputs(rows)[:, 0]
    made = [_segments(machine, rows, sign * g, sign, count) for sign in (1, -1)]
    starts, ends, reach = (np.concatenate(parts) for parts in zip(*made, strict=True))
    share = reach * np.random.default_rng(seed).random(len(reach))
    return np.asarray(starts + share[:, None] * (ends - starts))


def _segments(machine: Machine, rows: Floats, g: Floats, sign: int, count: int) -> tuple[Floats, Floats, Floats]:
    """Starts among rows with g > 0, ends among the others, and how far along each segment g stays positive.

    g: outputs times the sign
    """
    mine = np.flatnonzero(g > 0)
    mine, others = mine[np.argsort(g[mine], kind="stable")[:count]], rows[g <= 0]
    starts = rows[mine]
    nearness = 2 * starts @ others.T - np.einsum("ij,ij->i", others, others)
    ends = others[np.argsort(-nearness, axis=1, kind="stable")[:, :_NEIGHBOURS]].mean(axis=1)
    low, high, full = np.zeros(len(mine)), np.ones(len(mine)), FullSum(machine)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        same = sign * full.outputs(starts + middle[:, None] * (ends - starts))[:, 0] > 0
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return starts, ends, low

"""Slow twins of calibration and audit: sums of fractions, and integrals by the midpoint rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def p_value(rows: int, disagreements: int, alpha: float) -> Fraction:
    """P(Bin(rows, alpha) <= disagreements), term by term, without rounding."""
    p = Fraction(alpha)
    return sum((math.comb(rows, k) * p**k * (1 - p) ** (rows - k) for k in range(disagreements + 1)), start=Fraction(0))


Groups = Sequence[Sequence[tuple[int, int]]]  # of each plan, cautious first, (rows, disagreements) of every group


def tested(groups: Groups, alpha: float, confidence: float) -> int:
    """The number of plans that are tested: up to the first that fails."""
    passes = [all(p_value(rows, wrong, alpha) <= 1 - confidence for rows, wrong in plan) for plan in groups]
    return passes.index(False) + 1 if False in passes else len(passes)


def boldest(groups: Groups, alpha: float, confidence: float) -> int | None:
    """The index of the plan to certify: the boldest such that it passes, and all before it."""
    passed = None
    for index, plan in enumerate(groups):
        if any(p_value(rows, wrong, alpha) > 1 - confidence for rows, wrong in plan):
            break
        passed = index
    return passed


def evidence(hits: int, misses: int, p: float) -> float:
    """The mixture of likelihood ratios against rates up to p, by the midpoint rule over the rates q above p.

    With q = sin^2 t Jeffreys' prior is even in t from 0 to pi/2.
    """
    steps = 20_000
    start = math.asin(math.sqrt(p))
    width = (math.pi / 2 - start) / steps
    q = np.sin(start + width * (np.arange(steps) + 0.5)) ** 2
    ratios = (q / p) ** hits * ((1 - q) / (1 - p)) ** misses
    return float(ratios.sum() * width / (math.pi / 2))


def mean_step(hits: int, misses: int, p: float, rate: float) -> float:
    """The evidence against rates up to p after one more row, on average, if its chance to disagree is `rate`."""
    return rate * evidence(hits + 1, misses, p) + (1 - rate) * evidence(hits, misses + 1, p)


def weighted_evidence(hits: Sequence[int], misses: Sequence[int], p: float) -> float:
    """The mean over bets u of the products of 1 + u (Y/p - 1)/2^level, by the midpoint rule, Y = 1 for hits."""
    steps = 20_000
    total = 0.0
    for k in range(steps):
        u = math.sin((k + 0.5) * math.pi / 2 / steps) ** 2
        product = 1.0
        for level, (s, f) in enumerate(zip(hits, misses, strict=True)):
            share = u / 2**level
            product *= (1 - share + share / p) ** s * (1 - share) ** f
        total += product
    return total / steps

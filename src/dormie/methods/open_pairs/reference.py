"""The open_pairs stage in NumPy: class by class, and pair by pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.rules import Value
from dormie.machine.typing import Integers, Positions
from dormie.methods.champion.members import Members, pairs_of
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.reference import ReducedSet
from dormie.numerics.reference import outputs

_TRIES = 3  # classes for a row: see native/methods/open_pairs.cpp
_NONE = -1


class OpenPairs:
    """The twin of the native core's `OpenPairs`."""

    def __init__(self, machine: Machine, guess: Levels, half_widths: Floats, members: Members) -> None:
        self._machine = machine
        self._guess = guess
        self._half_widths = half_widths
        self._pairs = [_pair(machine, members.of_group(o), o) for o in range(machine.n_outputs)]

    def decide(self, rows: Any, caution: float) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row."""
        require_finite(rows, self._machine)
        vote: Any = self._machine.rule
        guess = ReducedSet(self._machine, self._guess, caution * self._half_widths, by_champion=True)
        middle, radius = guess.interval(rows, 0)
        answers = np.full(rows.shape[0], _NONE)
        evaluations = np.full(rows.shape[0], len(self._guess.points))
        champions = vote.answer(middle)
        for _ in range(_TRIES):
            now = champions.copy()
            for k in range(len(vote.classes)):
                mine = np.flatnonzero(now == k)
                evaluations[mine] += self._sum_open(rows, mine, k, middle, radius)
                answers[mine], champions[mine] = self._judge(k, middle[mine])
        return answers, answers >= 0, evaluations

    def _sum_open(self, rows: Any, mine: Positions, k: int, middle: Floats, radius: Floats) -> Integers:
        """Sum the open pairs of class k in full, for rows `mine`; returns the kernel evaluations of each."""
        evaluations = np.zeros(len(mine), dtype=np.int64)
        for o in pairs_of(self._machine, k)[0]:
            is_open = ~(np.abs(middle[mine, o]) > radius[mine, o])
            few, pair = mine[is_open], self._pairs[o]
            with np.errstate(over="ignore", invalid="ignore"):
                middle[few, o] = outputs(pair, rows[few])[:, 0]
            radius[few, o] = -1  # no more than any output
            evaluations += is_open * pair.n_points
        return evaluations

    def _judge(self, k: int, middle: Floats) -> tuple[Integers, Integers]:
        """For rows whose champion is class k: k if it wins all its pairs, and else the class that beats it."""
        pairs, signs = pairs_of(self._machine, k)
        own = middle[:, pairs] * signs
        wins = (own > 0).all(axis=1)
        worst = own.argmin(axis=1)
        beaten = ~wins & (own.min(axis=1) < 0)
        return np.where(wins, k, _NONE), np.where(beaten, worst + (worst >= k), _NONE)


def _pair(machine: Machine, members: Integers, output: int) -> Machine:
    """The machine of one pair, over the points that count for it."""
    weights, bias = machine.weights[members][:, [output]], machine.bias[[output]]
    return replace(machine, points=machine.points[members], weights=weights, bias=bias, rule=Value(flat=False))

"""The champion in NumPy: the guess's own pairs, class by class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped_norms, require_finite
from dormie.machine.rules import OneVsOneVote
from dormie.machine.typing import Booleans, Integers
from dormie.methods.champion.members import Members, contender, pairs_of
from dormie.methods.reduced_set.levels import Levels
from dormie.numerics.reference import absolute_sums, interval, outputs
from dormie.numerics.rounding import margin

_CACHED = 1 << 18  # numbers of a class: see native/methods/champion.cpp


class Champion:
    """The twin of the native core's `Champion`."""

    def __init__(self, machine: Machine, guess: Levels, members: Members) -> None:
        self._machine = machine
        self._members = members
        self._vectors = len(guess.points)
        self._guess = replace(machine, points=guess.points, weights=guess.weights)
        self._contenders = [contender(machine, members, k) for k in range(len(members.starts) - 1)]
        most = max(each.n_points for each in self._contenders) * machine.n_features
        self._tries = 2 if most <= _CACHED else 1
        self._margin = margin(machine)

    def decide(self, rows: Any) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row."""
        require_finite(rows, self._machine)
        with np.errstate(over="ignore", invalid="ignore"):
            guesses = self._machine.rule.answer(outputs(self._guess, rows))
        answers, evaluations = np.full(rows.shape[0], -1), np.full(rows.shape[0], self._vectors)
        for _ in range(self._tries):
            now = guesses.copy()
            for k, machine in enumerate(self._contenders):
                mine = np.flatnonzero(now == k)
                evaluations[mine] += machine.n_points
                wins, guesses[mine] = self._try(k, machine, rows[mine])
                answers[mine[wins]] = k
        return answers, answers >= 0, evaluations

    def _try(self, k: int, machine: Machine, rows: Any) -> tuple[Booleans, Integers]:
        """Whether rows surely win all pairs of class k, and if not, the class that beats it most clearly, or -1."""
        middle, radius = interval(machine, rows)
        wins = self._wins(k, middle - radius, rows)
        worst = middle.argmin(axis=1)
        beaten = ~wins & (middle.min(axis=1) < 0)
        return wins, np.where(beaten, worst + (worst >= k), -1)

    def _wins(self, k: int, low: Floats, rows: Any) -> Booleans:
        """Whether rows surely win all pairs of class k, given lower bounds, whatever the source's rounding does."""
        pairs, _ = pairs_of(self._machine, k)
        with np.errstate(over="ignore", invalid="ignore"):
            low = low - self._margin(mapped_norms(self._machine, rows))[:, pairs]
            return np.asarray((low > 0).all(axis=1) & ~self._may_overflow(rows))

    def _may_overflow(self, rows: Any) -> Booleans:
        """Whether an output that is not worked out may overflow, and with it the sums that break ties."""
        assert isinstance(self._machine.rule, OneVsOneVote)
        if not self._machine.rule.break_ties:
            return np.zeros(rows.shape[0], dtype=np.bool_)
        return np.asarray(~np.isfinite(absolute_sums(self._machine, rows).sum(axis=1)))

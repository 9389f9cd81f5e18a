"""Thresholds measured on rows: what the linear_filter and nearest stages of DeCoste & Mazzoni (2003) stop by.

A quantity that leans the way an output will go (a linear machine's output, a partial sum) says the output's sign once
it is above `high` or below `low`. How far it has leant the wrong way on sample rows is what thresholds come from. They
are kept as a middle and a half-width, so that a more cautious stage has the same thresholds, further out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rules import OneVsOneVote, Rule, Sign, Value
from dormie.methods.base import Usable

Booleans = npt.NDArray[np.bool_]

_MOST_SHOWN = 20  # numbers in a message
NEVER = 1e300  # the half-width of thresholds that nothing is beyond; plan files hold no infinity


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Middles and half-widths, ... x outputs."""

    middle: Floats
    half: Floats

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Thresholds:
        """From how far down positive rows came and how far up negative ones; where that leaves a gap, its middle.

        Where one of the two was never seen (-inf or inf) nothing is known of either.
        """
        seen = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
        return cls((low + high) / 2, np.where(seen, np.maximum(high - low, 0) / 2, NEVER))

    def apart(self, caution: float) -> tuple[Floats, Floats]:
        """The low and high thresholds, `caution` times as far from their middle as measured."""
        with np.errstate(over="ignore"):
            return self.middle - caution * self.half, self.middle + caution * self.half


def needs_classifier(stage: str, machine: Machine) -> Usable:
    """Usable where the machine tells classes of vectors."""
    if isinstance(machine.rule, Value):
        return Usable(
            f"{stage} tells the signs of outputs: a regressor, whose outputs are the answer, has no use for it"
        )
    if machine.kernel.is_python:
        return Usable(f"{stage} needs rows that are vectors; a Python function as kernel may be of anything")
    return Usable()


def require_floats(stage: str, name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """ValueError unless an array is finite float64 of that shape."""
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{stage}: {name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{stage}: {name} is not finite; numbers this large leave nothing to measure")


def require_thresholds(stage: str, arrays: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...]) -> None:
    """ValueError unless `middle` and `half` are thresholds of that shape."""
    for name in ("middle", "half"):
        require_floats(stage, name, arrays[name], shape)
    if (arrays["half"] < 0).any():
        raise ValueError(f"{stage}: half must not be negative")


def some_of(numbers: npt.NDArray[Any]) -> str:
    """A list of numbers for a message, which need not hold all of a long one."""
    few: list[Any] = numbers[:_MOST_SHOWN].tolist()
    return f"{few}" if len(few) == len(numbers) else f"{few} and {len(numbers) - len(few):,} more"


def require_caution(stage: str, caution: Any) -> float:
    """The caution as a float, or ValueError."""
    if isinstance(caution, bool) or not isinstance(caution, int | float | np.number) or not 0 <= caution < np.inf:
        raise ValueError(f"{stage}: caution must be a finite number of at least 0, got {caution!r}")
    return float(caution)


def positive(rule: Rule, outputs: Floats) -> Booleans:
    """Which outputs the rule takes for positive ones."""
    zero_too = (isinstance(rule, Sign) and rule.zero == 1) or (isinstance(rule, OneVsOneVote) and rule.break_ties)
    return np.asarray(outputs >= 0 if zero_too else outputs > 0)


def relevant(rule: Rule, outputs: Floats) -> Booleans:
    """Which outputs the row's answer rests on: in a vote those of the winner's pairs, else all.

    A pair that the winner is not in may be called either way: as long as the winner's own pairs are called rightly,
    no other class gets as many votes.
    """
    if not isinstance(rule, OneVsOneVote):
        return np.ones(outputs.shape, dtype=bool)
    first, second = rule.pairs
    answers = rule.answer(outputs)[:, None]
    return np.asarray((answers == first) | (answers == second))


def crossed(rule: Rule, values: Floats, low: Floats, high: Floats) -> tuple[npt.NDArray[np.intp], Booleans]:
    """The answers of rows by the thresholds that their values (rows x outputs) are beyond, -1 where that settles none.

    The twin of `Referee` in thresholds.hpp.
    """
    finite = np.isfinite(values)
    above, below = finite & (values > high), finite & (values < low)
    box = np.where(above, 1.0, -np.inf), np.where(below, -1.0, np.inf)
    settled = rule.settled(*box)
    return np.where(settled, rule.answer(np.where(above, 1.0, np.where(below, -1.0, 0.0))), -1), settled

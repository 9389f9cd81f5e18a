"""Measured thresholds, at which the linear_filter and nearest stages of DeCoste & Mazzoni (2003) stop.

Both stages compute a value that predicts an output: a linear machine's output, or a partial sum. A value above `high`
counts as a positive output, a value below `low` as a negative one. The thresholds are fitted to the values that had
the wrong sign on sample rows. They are stored as a middle and a half-width; a caution multiplies the half-width.

Where the largest output is the answer, the sign of an output says little. There the nearest stage compares outputs in
pairs (`in_pairs`): the largest is the one whose differences from all others are positive, so thresholds are those of
differences, and the rule is a one-vs-one vote on them. The linear filter goes by the signs of the outputs there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign
from dormie.machine.typing import Booleans, Positions
from dormie.methods.base import Usable, needs_plain_rule

_MOST_SHOWN = 20  # most numbers listed in a message
NEVER = 1e300  # the half-width of thresholds that no value passes; plan files cannot store infinity


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Middles and half-widths, arrays of equal shape whose last axis is the outputs."""

    middle: Floats
    half: Floats

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Thresholds:
        """From the lowest value of a positive row and the highest value of a negative row.

        If these two are in order, and so leave a gap, both thresholds are the middle of the gap. If one of the two is
        infinite, because no sample row had that sign, no value passes the thresholds.
        """
        measured = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(measured, low, 0.0), np.where(measured, high, 0.0)
        return cls((low + high) / 2, np.where(measured, np.maximum(high - low, 0) / 2, NEVER))

    def widened(self, caution: float) -> tuple[Floats, Floats]:
        """The low and high thresholds, at `caution` times the measured distance from their middle."""
        require_caution(caution)
        with np.errstate(over="ignore"):
            return self.middle - caution * self.half, self.middle + caution * self.half


def needs_classifier(stage: str, machine: Machine) -> Usable:
    """Usable if the machine classifies and its rows are vectors."""
    if machine.kernel.is_python:
        return Usable(f"{stage} needs rows that are vectors; a Python kernel may take any objects")
    return needs_plain_rule(stage, machine)


def needs_products(stage: str, machine: Machine) -> Usable:
    """The same for stages that work kernel values out from inner products."""
    usable = needs_classifier(stage, machine)
    if usable and not machine.kernel.of_inner_products:
        return Usable(f"{stage} works with inner products, and {machine.kernel} with differences: leave it out")
    return usable


def require_floats(stage: str, name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array is finite, float64 and of the given shape."""
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{stage}: {name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{stage}: {name} is not finite; numbers this large leave nothing to measure")


def require_thresholds(stage: str, thresholds: Thresholds, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the thresholds are of the given shape, and the half-widths not negative."""
    require_floats(stage, "middle", thresholds.middle, shape)
    require_floats(stage, "half", thresholds.half, shape)
    if (thresholds.half < 0).any():
        raise ValueError(f"{stage}: half must not be negative")


def some_of(numbers: npt.NDArray[Any]) -> str:
    """A list of numbers for a message, shortened where it is long."""
    few: list[Any] = numbers[:_MOST_SHOWN].tolist()
    return f"{few}" if len(few) == len(numbers) else f"{few} and {len(numbers) - len(few):,} more"


def require_caution(caution: Any) -> None:
    """Raise ValueError unless the caution is a finite number of at least 0."""
    number = isinstance(caution, int | float | np.integer | np.floating) and not isinstance(caution, bool)
    if not number or not 0 <= caution < np.inf or (isinstance(caution, int) and caution.bit_length() > 1023):
        raise ValueError(f"caution must be a finite number of at least 0, got {caution!r}")


def positive(rule: Rule, outputs: Floats) -> Booleans:
    """Which outputs the rule counts as positive."""
    zero_too = (isinstance(rule, Sign) and rule.zero == 1) or (isinstance(rule, OneVsOneVote) and rule.break_ties)
    return np.asarray(outputs >= 0 if zero_too else outputs > 0)


def relevant(rule: Rule, outputs: Floats) -> Booleans:
    """Which outputs decide the answer of a row: in a one-vs-one vote the pairs of the winner, otherwise all outputs.

    A pair without the winner may have either sign: as long as the winner's own pairs have the right sign, no other
    class gets as many votes.
    """
    if not isinstance(rule, OneVsOneVote):
        return np.ones(outputs.shape, dtype=bool)
    first, second = rule.pairs
    answers = rule.answer(outputs)[:, None]
    return np.asarray((answers == first) | (answers == second))


def in_pairs(rule: Rule) -> Rule:
    """The rule of the values that thresholds of pairs are for: a vote in place of an argmax, otherwise the rule.

    Ties are not enough: measured thresholds may go round in a circle, each output ahead of the next.
    """
    return OneVsOneVote(rule.classes, break_ties=True) if isinstance(rule, Argmax) else rule


def compared(rule: Rule, values: Floats) -> Floats:
    """Values (... x outputs) as `in_pairs` reads them: for an argmax the differences a - b of all pairs a < b."""
    if not isinstance(rule, Argmax):
        return values
    first, second = np.triu_indices(len(rule.classes), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values[..., first] - values[..., second])


def comparisons(machine: Machine) -> int:
    """How many values `compared` gives for each row."""
    c = machine.n_outputs
    return c * (c - 1) // 2 if isinstance(machine.rule, Argmax) else c


def crossed(rule: Rule, values: Floats, low: Floats, high: Floats) -> tuple[Positions, Booleans]:
    """Answers of rows from the thresholds that their values (rows x outputs) pass, and which answers are settled.

    An answer is -1 where it is not settled. The NumPy twin of `Referee` in native/methods/thresholds.hpp.
    """
    finite = np.isfinite(values)
    above, below = finite & (values > high), finite & (values < low)
    box = np.where(above, 1.0, -np.inf), np.where(below, -1.0, np.inf)
    settled = rule.settled(*box)
    return np.where(settled, rule.answer(np.where(above, 1.0, np.where(below, -1.0, 0.0))), -1), settled

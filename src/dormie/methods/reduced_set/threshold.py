"""The paper's "Bayes threshold": for each output the threshold with the fewest errors on labelled rows.

The outputs of a reduced machine have errors, and these are biased if one class is smaller than the other. Moving the
threshold corrects part of the bias and costs nothing at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rules import Argmax, ClassRule, OneVsOneVote, Rule, Sign
from dormie.machine.typing import Booleans, Positions

_LEAST_GAP = 1e-6  # relative to the largest value: least distance of a threshold beyond all values


def refitted_bias(rule: Rule, bias: Floats, outputs: Floats, answers: Positions) -> Floats:
    """The bias that gives each output the fewest wrong signs on the rows of the classes it separates."""
    zero = bool(rule.zero) if isinstance(rule, Sign) else isinstance(rule, OneVsOneVote) and rule.break_ties
    shifts = [
        least_errors_shift(output[taking_part], positive[taking_part], zero)
        for output, (taking_part, positive) in zip(outputs.T, _sides(rule, answers), strict=True)
    ]
    return np.asarray(bias + np.array(shifts))


def _sides(rule: Rule, answers: Positions) -> Iterator[tuple[Booleans, Booleans]]:
    """For every output, which rows it is judged on, and for which of them it should be positive."""
    everyone = np.ones(len(answers), dtype=np.bool_)
    match rule:
        case Sign():
            yield everyone, answers == 1
        case Argmax(classes):
            yield from ((everyone, answers == k) for k in range(len(classes)))
        case OneVsOneVote():
            for a, b in zip(*rule.pairs, strict=True):
                yield (answers == a) | (answers == b), answers == a


def least_errors_shift(values: Floats, positive: Booleans, zero: bool) -> float:
    """The shift of the values with the fewest wrong signs; 0 unless it has fewer than no shift.

    The threshold lies halfway between two values; of several equally good ones, the smallest shift is taken. `zero`:
    whether 0 counts as positive.
    """
    wrong_now = int((((values > 0) | ((values == 0) & zero)) != positive).sum())
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    cuts = np.append(first, len(values))  # values from a cut on count as positive
    positive_below = np.concatenate([[0], np.cumsum(positive[order])])[cuts]
    wrong = positive_below + (len(values) - cuts) - (positive.sum() - positive_below)
    if wrong.min() >= wrong_now:
        return 0.0
    reach = np.abs(distinct[[0, -1]]).max()
    gap = max(float(distinct[-1] - distinct[0]) / len(distinct), _LEAST_GAP * reach, np.finfo(np.float64).tiny)
    ends = np.concatenate([[distinct[0] - gap], distinct, [distinct[-1] + gap]])
    middles = ((ends[1:] + ends[:-1]) / 2)[wrong == wrong.min()]
    return -float(middles[np.abs(middles).argmin()])


def positions(rule: ClassRule, labels: Any, count: int) -> Positions:
    """The labels of `count` rows as indices into the rule's classes; raises ValueError for an unknown label."""
    given: npt.NDArray[Any] = np.asarray(labels)
    if given.shape != (count,):
        raise ValueError(f"y must have one label for each of the {count} rows of X, got shape {given.shape}")
    matches = given[:, None] == rule.classes
    unknown = np.flatnonzero(~matches.any(axis=1))
    if len(unknown):
        [label] = given[unknown[:1]].tolist()
        classes = ", ".join(map(repr, rule.classes[:10].tolist()))
        raise ValueError(f"y[{unknown[0]}] is {label!r}, which is none of the classes ({classes})")
    return np.asarray(matches.argmax(axis=1))

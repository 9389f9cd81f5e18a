"""How the rows of a model were scaled before LIBSVM saw them: range files of svm-scale, and scale files of R's e1071.

A range file names lower and upper limits, and the least and the largest value of each feature. svm-scale leaves
features that never change out of the file, and out of the rows that it writes: they are 0 there. With `-y` the file
has the limits and the range of the targets, too. Scaled numbers are printed with six digits; here they are not rounded.

`write.svm` of e1071 writes the mean and the standard deviation of each feature, a line each, and those of the targets
to a file of their own. A model that does not scale has an empty file.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np

from dormie.convert.libsvm.text import Text, number
from dormie.machine import Floats
from dormie.machine.typing import Positions


class Line(NamedTuple):
    """The values of a scaled number v: slope v + offset."""

    slope: float
    offset: float


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from each of some features, what it is divided by then, and how targets are scaled back."""

    text: Text
    features: Positions
    center: Floats
    scale: Floats
    others_are_zero: bool
    targets: Line | None = None

    @property
    def width(self) -> int:
        """The least number of features of a row."""
        return int(self.features.max(initial=-1)) + 1


def read_scaling(path: str | PathLike[str]) -> Scaling:
    """Read a range file of svm-scale or a scale file of e1071."""
    text = Text.of_file(path)
    if text.first_word in ("x", "y"):
        return _range_file(text)
    center, scale = _all_numbers(text, 0, len(text.lines), 2).T
    with text.at(int(np.argmin(np.abs(scale))) + 1 if len(scale) else 1):
        if not scale.all():
            raise ValueError("a feature is divided by its standard deviation, which is 0 here")
    return Scaling(text, np.arange(len(center)), center, scale, others_are_zero=False)


def read_target_scaling(path: str | PathLike[str]) -> Line:
    """Read the scale file of e1071 for targets."""
    text = Text.of_file(path)
    if len(text.lines) != 1:
        raise text.error(f"the mean and the standard deviation of the targets are one line, found {len(text.lines)}")
    [[center, scale]] = _all_numbers(text, 0, 1, 2)
    return Line(scale, center)


def _range_file(text: Text) -> Scaling:
    start = 3 if text.first_word == "y" else 0
    targets = _targets(text) if start else None
    if text.lines[start : start + 1] != [b"x"]:
        raise text.error(f"line {start + 1} of this range file is not x: it is damaged, or not of svm-scale")
    lower, upper = _limits(text, start + 1)
    indices, least, most = _all_numbers(text, start + 2, len(text.lines), 3).T
    changing = least != most  # svm-scale leaves the others out of the rows, named or not
    features = (indices[changing] - 1).astype(np.intp)
    if len(np.unique(features)) < len(features) or features.min(initial=0) < 0:
        raise text.error("features are numbered from 1, and none occurs twice")
    scale = (most - least)[changing] / (upper - lower)
    return Scaling(text, features, least[changing] - lower * scale, scale, others_are_zero=True, targets=targets)


def _targets(text: Text) -> Line:
    lower, upper = _limits(text, 1)
    [[least, most]] = _all_numbers(text, 2, 3, 2)
    slope = (most - least) / (upper - lower)
    return Line(slope, least - lower * slope)


def _limits(text: Text, line: int) -> tuple[float, float]:
    [[lower, upper]] = _all_numbers(text, line, line + 1, 2)
    with text.at(line + 1):
        if not lower < upper:
            raise ValueError(f"the upper limit must be above the lower one, got {lower} and {upper}")
    return lower, upper


def _all_numbers(text: Text, start: int, end: int, count: int) -> Floats:
    """The numbers in some lines, so many in each."""
    if end > len(text.lines):
        raise text.error(f"the file ends after line {len(text.lines)}: it is cut short")
    found = np.empty((end - start, count))
    for row, line in enumerate(text.lines[start:end]):
        with text.at(start + row + 1):
            fields = line.split()
            if len(fields) != count:
                raise ValueError(f"expected {count} numbers, found {len(fields)}")
            found[row] = [number(field) for field in fields]
    return found

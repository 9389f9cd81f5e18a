"""The linear filter (DeCoste & Mazzoni 2003): a linear machine first, for the rows that need no other.

One vector an output, fitted to the full machine's outputs on sample rows; a row is settled where the linear outputs are
so far from 0 that hardly any sample row of the other sign came there. It costs as much as one support vector an output.

The paper trains a linear SVM on the labels. Least squares on the outputs of the full machine (with a ridge), where only
what falls short of an output counts, settles at least as much at the same rate of disagreement, and takes a few
products of one matrix. In a one-vs-one machine the vector and the thresholds of a pair come from the rows of its two
classes: see `dormie.methods.thresholds.relevant`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import CautiousStage, Decisions, require
from dormie.methods.linear_filter import reference
from dormie.methods.memory import Shapes, Size, padded
from dormie.methods.thresholds import (
    Booleans,
    Thresholds,
    needs_classifier,
    positive,
    relevant,
    require_caution,
    require_floats,
    require_thresholds,
)
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum

# The arrays that the native core keeps; the thresholds come with each call.
_LINEAR = ("vectors", "bias")

_RIDGE = 0.1  # of the mean variance of the features
_ROUNDS = 10  # of fitting to what falls short: more bring little
_DEVIATIONS = 2.0  # from the mean of the rows that lean the wrong way
_LEAST_LEAN = 0.05  # of the outputs' spread: what no wrong-leaning row was seen beyond may still be wrong


class LinearFilter(CautiousStage):
    """Answers from a linear machine, where it is sure.

    arrays: `vectors` (c x d) and `bias` (c), for rows as they come, before the input map; `middle` and `half` (c), of
    the thresholds.
    """

    name = "linear_filter"
    words = "a linear machine, where its output is far enough to one side (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, arrays: Arrays, caution: float = 1.0) -> None:
        _require_fit(machine, arrays)
        self.machine = machine
        self.arrays = arrays
        self.caution = require_caution(self.name, caution)
        self._thresholds = Thresholds(arrays["middle"], arrays["half"]).apart(self.caution)
        self._native = backend.build("LinearFilter", machine, *backend.contiguous(arrays, _LINEAR))

    @classmethod
    def fit(cls, machine: Machine, rows: Any, outputs: Floats | None = None) -> LinearFilter:
        """The filter that fits the machine on checked rows, unlabelled; the rows need not be held out.

        outputs: of the machine for these rows, where they are known already
        """
        require(needs_classifier(cls.name, machine))
        outputs, x = FullSum(machine).outputs(rows) if outputs is None else outputs, mapped(machine, rows)
        if not len(x):
            raise ValueError("linear_filter: there are no rows to fit it on")
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused with the arrays it ends up in
            return cls(machine, _fitted(machine, x, outputs))

    def cautious(self, caution: float) -> LinearFilter:
        return LinearFilter(self.machine, self.arrays, caution)

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            answers, settled = self._native.decide(*backend.arguments(rows, *self._thresholds))
        else:
            require_finite(rows)
            answers, settled = reference.decide(self.machine, self.arrays, rows, *self._thresholds)
        return Decisions(answers, settled, self.machine.n_outputs)

    def outputs(self, rows: Any) -> Floats:
        """The linear machine's outputs."""
        if self._native is not None:
            return self._native.outputs(*backend.arguments(rows))  # type: ignore[no-any-return]
        require_finite(rows)
        return reference.outputs(self.arrays, rows)

    def estimate(self, rows: Any) -> None:
        """None: its outputs say on which side the machine's are, not how far."""

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"caution": self.caution}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - they are those of the machine
        return machine.outputs * (padded(machine.features, 8) + 32)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> LinearFilter:
        if set(numbers) != {"caution"} or set(arrays) != {"vectors", "bias", "middle", "half"}:
            raise ValueError("linear_filter: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["caution"])

    def __reduce__(self) -> tuple[type[LinearFilter], tuple[Any, ...]]:
        return LinearFilter, (self.machine, self.arrays, self.caution)


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    c = machine.n_outputs
    require(needs_classifier(LinearFilter.name, machine))
    require_thresholds(LinearFilter.name, arrays, (c,))
    for name, shape in (("vectors", (c, machine.n_features)), ("bias", (c,))):
        require_floats(LinearFilter.name, name, arrays[name], shape)


def _fitted(machine: Machine, x: Floats, outputs: Floats) -> Arrays:
    """The arrays that fit the outputs of mapped rows."""
    counted = relevant(machine.rule, outputs)
    found = [_fit_one(x[mine], g[mine]) for g, mine in zip(outputs.T, counted.T, strict=True)]
    vectors, bias = np.array([v for v, _ in found]), np.array([b for _, b in found])
    thresholds = _lean(x @ vectors.T + bias, positive(machine.rule, outputs), counted)
    vectors, bias = _on_raw_rows(machine, vectors, bias)
    return {"vectors": vectors, "bias": bias, "middle": thresholds.middle, "half": thresholds.half}


def _fit_one(x: Floats, g: Floats) -> tuple[Floats, float]:
    """The vector and bias that come nearest to one output; where they go beyond it, they are at it."""
    if not len(x):
        return np.zeros(x.shape[1]), 0.0
    mean = x.mean(axis=0)
    centered, d = x - mean, x.shape[1]
    ridge = _RIDGE * float(np.einsum("ij,ij->", centered, centered)) / d
    if ridge == 0 or not np.isfinite(ridge):  # all rows are the same, or out of range: there is nothing to go by
        return np.zeros(d), float(g.mean())
    solve, goal = _least_squares(centered, ridge), g
    for _ in range(_ROUNDS):
        vector, level = solve(goal), goal.mean()
        f = centered @ vector + level
        goal = np.where(g > 0, np.maximum(g, f), np.minimum(g, f))
    steeper, higher = _line(centered @ vector, g)
    return steeper * vector, higher - steeper * float(vector @ mean)


def _line(f: Floats, g: Floats) -> tuple[float, float]:
    """Slope and height of the line through outputs near the border: there a ridge, which flattens, must not move it."""
    near = np.abs(g) <= np.median(np.abs(g))
    f, g = f[near], g[near]
    varies = float(np.var(f))
    slope = float(np.mean((f - f.mean()) * (g - g.mean()))) / varies if varies > 0 else 0.0
    slope = slope if slope > 0 else 1.0
    return slope, float(g.mean() - slope * f.mean())


def _least_squares(x: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """From a goal for each row, whatever its mean, to the vector that fits it best; x is centred."""
    n, d = x.shape
    if n < d:
        rows = np.linalg.inv(x @ x.T + ridge * np.eye(n))
        return lambda goal: np.asarray(x.T @ (rows @ (goal - goal.mean())))
    features = np.linalg.inv(x.T @ x + ridge * np.eye(d))
    return lambda goal: np.asarray(features @ (x.T @ (goal - goal.mean())))


def _lean(values: Floats, positives: Booleans, counted: Booleans) -> Thresholds:
    """Thresholds of every output: mean and a few standard deviations of the rows that lean the wrong way."""
    columns = zip(values.T, positives.T, counted.T, strict=True)
    ends = np.array([_lean_of(f[mine], up[mine]) for f, up, mine in columns])
    return Thresholds.between(ends[:, 0], ends[:, 1])


def _lean_of(f: Floats, up: Booleans) -> tuple[float, float]:
    """The low and high thresholds of one output; infinite where rows of a sign are missing."""
    if up.all() or not up.any():
        return -np.inf, np.inf
    least = _LEAST_LEAN * float(f.std())
    return -max(_far_end(-f[up]), least), max(_far_end(f[~up]), least)


def _far_end(leaning: Floats) -> float:
    """Beyond nearly all of what leans further than 0."""
    wrong = leaning[leaning > 0]
    return float(wrong.mean() + _DEVIATIONS * wrong.std()) if len(wrong) else 0.0


def _on_raw_rows(machine: Machine, vectors: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """The same linear machine on rows before the input map."""
    if machine.input_map is None:
        return vectors, bias
    raw = vectors / machine.input_map.scale
    return raw, bias - raw @ machine.input_map.center

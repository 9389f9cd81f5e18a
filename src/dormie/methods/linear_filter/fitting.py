"""Fitting the linear filter: one vector, bias and pair of thresholds for each output.

mode="paper" has the paper's filter: each vector is a linear SVM (`dormie.methods.linear_filter.svm`), and the high
threshold is the mean of the linear outputs that are positive though the machine's are not, plus a few standard
deviations of them; likewise the low one.

mode="calibrated" fits each vector to the outputs of the full machine by ridge regression with a one-sided error: a
linear output beyond the machine's output, on the same side of zero, counts as no error. It takes only a few products
with one matrix. The thresholds are those of the paper, but for a least distance from 0, which a caution can scale where
no sample row is wrong.

In a one-vs-one machine the vector and thresholds of a pair are fitted to the rows of its two classes: see
`dormie.methods.thresholds.relevant`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Booleans
from dormie.methods.linear_filter.svm import linear_svm
from dormie.methods.thresholds import Thresholds, positive, relevant

MODES = ("paper", "calibrated")
_RIDGE = 0.1  # relative to the mean variance of the features
_ROUNDS = 10  # of the one-sided fit: more rounds gain little
_DEVIATIONS = 2.0  # from the mean of the values of the wrong sign to a threshold; the paper's number is not known
_LEAST_THRESHOLD = 0.05  # relative to the spread of the values: rows nearer to 0 may be wrong though no sample row was


@dataclass(frozen=True, eq=False)
class LinearMachine:
    """One vector and bias for each output; they apply to rows before the input map."""

    vectors: Floats  # c x d
    bias: Floats  # c


def require_mode(mode: str) -> None:
    """Raise ValueError unless there is such a mode."""
    if mode not in MODES:
        raise ValueError(f"linear_filter: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")


def fitted(machine: Machine, x: Floats, outputs: Floats, mode: str) -> tuple[LinearMachine, Thresholds]:
    """The linear machine and its thresholds, fitted to the machine's outputs for mapped rows."""
    used, up, svm = relevant(machine.rule, outputs), positive(machine.rule, outputs), mode == "paper"
    columns = zip(outputs.T, up.T, used.T, strict=True)
    found = [linear_svm(x[rows], u[rows]) if svm else _fit_output(x[rows], g[rows]) for g, u, rows in columns]
    vectors, bias = np.array([v for v, _ in found]), np.array([b for _, b in found])
    thresholds = _thresholds(x @ vectors.T + bias, up, used, 0.0 if svm else _LEAST_THRESHOLD)
    return LinearMachine(*_before_input_map(machine, vectors, bias)), thresholds


def _fit_output(x: Floats, g: Floats) -> tuple[Floats, float]:
    """Vector and bias of one output by ridge regression; in each round, values beyond g become their own targets."""
    if not len(x):
        return np.zeros(x.shape[1]), 0.0
    mean = x.mean(axis=0)
    centered, d = x - mean, x.shape[1]
    ridge = _RIDGE * float(np.einsum("ij,ij->", centered, centered)) / d
    if ridge == 0 or not np.isfinite(ridge):  # all rows are equal, or out of range: there is no slope to fit
        return np.zeros(d), float(g.mean())
    solve, target = _least_squares(centered, ridge), g
    for _ in range(_ROUNDS):
        vector, level = solve(target), target.mean()
        f = centered @ vector + level
        target = np.where(g > 0, np.maximum(g, f), np.minimum(g, f))
    slope, height = _line_near_boundary(centered @ vector, g)
    return slope * vector, height - slope * float(vector @ mean)


def _line_near_boundary(f: Floats, g: Floats) -> tuple[float, float]:
    """Slope and height of the regression of g on f over the half of the rows with the smallest |g|.

    The ridge shrinks the vector and so shifts its zero; this line corrects it where the sign is decided.
    """
    near = np.abs(g) <= np.median(np.abs(g))
    f, g = f[near], g[near]
    variance = float(np.var(f))
    slope = float(np.mean((f - f.mean()) * (g - g.mean()))) / variance if variance > 0 else 0.0
    slope = slope if slope > 0 else 1.0
    return slope, float(g.mean() - slope * f.mean())


def _least_squares(x: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """The function from targets of centered rows x, less their mean, to the vector of ridge regression."""
    n, d = x.shape
    if n < d:
        rows = np.linalg.inv(x @ x.T + ridge * np.eye(n))
        return lambda target: np.asarray(x.T @ (rows @ (target - target.mean())))
    features = np.linalg.inv(x.T @ x + ridge * np.eye(d))
    return lambda target: np.asarray(features @ (x.T @ (target - target.mean())))


def _thresholds(values: Floats, positives: Booleans, used: Booleans, least: float) -> Thresholds:
    """The thresholds of every output, from its linear values, the signs of the outputs, and the rows to use."""
    columns = zip(values.T, positives.T, used.T, strict=True)
    ends = np.array([_low_and_high(f[rows], up[rows], least) for f, up, rows in columns])
    return Thresholds.between(ends[:, 0], ends[:, 1])


def _low_and_high(f: Floats, up: Booleans, least: float) -> tuple[float, float]:
    """The low and high thresholds of one output; infinite if all rows have the same sign.

    least: the least distance from 0, in standard deviations of all values
    """
    if up.all() or not up.any():
        return -np.inf, np.inf
    distance = least * float(f.std())
    return -max(_extent_of_wrong(-f[up]), distance), max(_extent_of_wrong(f[~up]), distance)


def _extent_of_wrong(values: Floats) -> float:
    """Mean plus some standard deviations of the positive values, which have the wrong sign here; 0 without any."""
    wrong = values[values > 0]
    return float(wrong.mean() + _DEVIATIONS * wrong.std()) if len(wrong) else 0.0


def _before_input_map(machine: Machine, vectors: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """The same linear machine for rows before the input map."""
    if machine.input_map is None:
        return vectors, bias
    raw = vectors / machine.input_map.scale
    return raw, bias - raw @ machine.input_map.center

"""Slow twins of the reduction: the losses, the paper's extraction, margins and thresholds straight from definitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import Rule


def stacked_solution(values: Floats, targets: Floats, ridge: float) -> Floats:
    """The least |values w - targets|^2 + ridge |w|^2, as one dense least-squares problem [K; sqrt(ridge) I]."""
    n = values.shape[1]
    rows = np.vstack([values, np.sqrt(ridge) * np.eye(n)])
    return solved(rows, np.vstack([targets, np.zeros((n, targets.shape[1]))]))


def solved(matrix: Floats, right: Floats) -> Floats:
    """The shortest least-squares solution."""
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)


def output_loss(values: Floats, targets: Floats, sizes: Sequence[int], ridge: float) -> float:
    """Sum over sizes of the logarithm of what the best weights leave of the targets, a value."""
    total = 0.0
    for n in sizes:
        weights = stacked_solution(values[:, :n], targets, ridge)
        left = ((values[:, :n] @ weights - targets) ** 2).sum() + ridge * (weights**2).sum()
        total += float(np.log(left / targets.size))
    return total


def squared_distance(machine: Machine, vectors: Floats, weights: Floats) -> Floats:
    """|w - w'|^2 of every output, term by term over the difference of the two expansions."""
    points, beta = np.vstack([machine.points, vectors]), np.vstack([machine.weights, -weights])
    gram = machine.kernel.matrix(points, points)
    return np.array([sum(b[i] * b[j] * gram[i, j] for i in range(len(b)) for j in range(len(b))) for b in beta.T])


def best_distance(machine: Machine, vectors: Floats) -> Floats:
    """|w - w'|^2 of every output with the best weights."""
    gram = machine.kernel.matrix(vectors, vectors)
    known = machine.kernel.matrix(vectors, machine.points) @ machine.weights
    return squared_distance(machine, vectors, solved(gram, known))


def extracted(machine: Machine, n: int) -> Floats:
    """The paper's first phase: each vector in turn takes the most of the residual of w, found from every point.

    The residual is what the best weights of the vectors so far leave; outputs count by the share of their own. Slow:
    gradients are finite differences.
    """
    vectors = np.empty((0, machine.n_features))
    for _ in range(n):
        residual = _residual(machine, vectors)
        norms = squared_distance(residual, vectors[:0], np.zeros((0, machine.n_outputs)))

        def left(z: Floats, of: Machine = residual, norms: Floats = norms) -> float:
            return float((best_distance(of, z[None]) / norms).sum())

        found = [scipy.optimize.minimize(left, point, method="L-BFGS-B") for point in machine.points]
        vectors = np.vstack([vectors, min(found, key=lambda one: one.fun).x])
    return vectors


def _residual(machine: Machine, vectors: Floats) -> Machine:
    known = machine.kernel.matrix(vectors, machine.points) @ machine.weights
    weights = solved(machine.kernel.matrix(vectors, vectors), known)
    points = np.vstack([machine.points, vectors])
    return replace(machine, points=points, weights=np.vstack([machine.weights, -weights]))


def slope(loss: Callable[[Floats], float], at: Floats, step: float = 1e-6) -> Floats:
    """The gradient by central differences."""
    gradient = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        moved = np.zeros_like(at)
        moved[place] = step
        gradient[place] = (loss(at + moved) - loss(at - moved)) / (2 * step)
    return gradient


def kernel_matrix(kernel: Kernel, rows: Floats, vectors: Floats) -> Floats:
    return np.array([[kernel.matrix(x[None], z[None])[0, 0] for z in vectors] for x in rows])


def same_answer_throughout(rule: Rule, outputs: Floats, reach: float) -> bool:
    """Whether no corner or face middle of the box of that half-width around the outputs has another answer."""
    steps = itertools.product((-reach, 0.0, reach), repeat=len(outputs))
    answers = rule.answer(outputs + np.array(list(steps)))
    return bool((answers == answers[0]).all())


def fewest_errors(values: Floats, positive: Any) -> int:
    """The errors of the best threshold of all, by trying one below, between and above all values."""
    ends = np.unique(values)
    tried = [ends[0] - 1, *(ends[1:] + ends[:-1]) / 2, ends[-1] + 1]
    return min(int(((values > t) != positive).sum()) for t in tried)

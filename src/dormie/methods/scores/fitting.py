"""Fitting scores: vectors and weights for which the largest score is the full machine's answer as often as can be.

The loss is the cross-entropy of the softmax of the scores and the full machine's answers on rows. Vectors, weights and
biases move together, by Adam on batches of rows. Fitted by least squares to sums of outputs instead, scores guessed
worse than approximated outputs; fitted to answers they guess better where classes are many and features few (26
classes, 16 features, 32 vectors: 94.8 % against 92.4 %), and rows where they are wrong have small gaps.

The full machine answers any row, so rows are made besides those that are given: a score for each class has fewer
numbers to learn from than outputs have, and soon knows the given rows by heart.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import ClassRule
from dormie.machine.typing import Positions
from dormie.methods.reduced_set import adam
from dormie.methods.reduced_set.derivatives import Array, KernelDerivatives, unit_kernel
from dormie.methods.reduced_set.initial_vectors import k_means_vectors
from dormie.methods.reduced_set.rescaling import rescaled
from dormie.methods.scores.stage import ScoreMachine
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.evaluate import FullSum

_BATCH = 1000
_STEPS = 2000
_MANY_VECTORS = 256  # with more, a step takes longer, and fewer steps are taken: sqrt(2) times fewer for twice as many
_VECTOR_RATE = 0.06  # of the first steps, relative to the typical standard deviation of a feature
_WEIGHT_RATE = 1.0  # of the first steps, where kernel values are about 1
_MOST_COPIES = 6  # of each row; 26 classes, 128 vectors: three raised the rows settled at 0.1 % wrong from 84 % to 88 %
_WORK = 1e11  # most multiply-adds for the answers of rows that are made: some seconds
_SHARE = 0.3  # of a difference of two rows that a row is moved by; 0.15 was hardly better than no more rows


def with_more(machine: Machine, rows: Floats, answers: Positions, seed: int) -> tuple[Floats, Positions]:
    """Mapped rows and their answers, and as many more as the work allows: see `moved`."""
    work = machine.n_points * (machine.n_features + machine.n_outputs)
    copies = min(_MOST_COPIES, int(_WORK / (work * len(rows))))
    random = np.random.default_rng(seed)
    more = [moved(rows, answers, random) for _ in range(copies)]
    full = FullSum(machine.bare)
    found = [machine.rule.answer(full.outputs(part)) for part in more]
    return np.vstack([rows, *more]), np.concatenate([answers, *found])


def moved(rows: Floats, answers: Positions, random: np.random.Generator) -> Floats:
    """Every row, moved by a share of the difference of two other rows that have its answer."""
    one, other = _others(answers, random), _others(answers, random)
    return rows + _SHARE * (rows[one] - rows[other])


def _others(answers: Positions, random: np.random.Generator) -> Positions:
    """For each row another one with the same answer, itself where there is none; each row is another's just once."""
    order = np.lexsort((random.random(len(answers)), answers))
    before = np.roll(order, 1)
    first = np.flatnonzero(np.diff(answers[order], prepend=-1))
    before[first] = order[np.append(first[1:], len(order)) - 1]  # the first of a class has the last of it
    found = np.empty_like(order)
    found[order] = before
    return found


def fit(machine: Machine, n: int, rows: Floats, answers: Positions, seed: int) -> ScoreMachine:
    """Scores over n vectors, fitted to the full machine's answers to mapped rows."""
    bare, scale = rescaled(machine.bare)
    start = _packed(k_means_vectors(bare, n, seed), _classes(machine))
    loss = _Loss(bare, (rows / scale).astype(np.float32), answers, seed)
    deviation = float(np.sqrt(bare.points.var(axis=0).mean()))
    rates = np.full(start.shape, _WEIGHT_RATE, dtype=np.float32)
    rates[:n, : machine.n_features] *= _VECTOR_RATE / _WEIGHT_RATE * deviation
    steps = int(_STEPS * min(1.0, (_MANY_VECTORS / n) ** 0.5))
    with one_thread():
        found = adam.minimise(loss, start, rates, steps, lambda _: None, adam.SHORT_MEMORY)
    vectors, weights, bias = _parts(found.astype(np.float64), machine.n_features)
    return ScoreMachine(vectors * scale, weights / loss.kernel_scale, bias)


def _classes(machine: Machine) -> int:
    assert isinstance(machine.rule, ClassRule)
    return len(machine.rule.classes)


def _packed(vectors: Floats, classes: int) -> Array:
    """One array for all that moves: a row for each vector and its weights, and the biases below the weights."""
    packed = np.zeros((len(vectors) + 1, vectors.shape[1] + classes), dtype=np.float32)
    packed[:-1, : vectors.shape[1]] = vectors
    return packed


def _parts(packed: Array, features: int) -> tuple[Array, Array, Array]:
    """Vectors, weights and biases, as views."""
    return packed[:-1, :features], packed[:-1, features:], packed[-1, features:]


class _Loss:
    """Cross-entropy and its gradient on random batches of rows."""

    def __init__(self, machine: Machine, rows: Array, answers: Positions, seed: int) -> None:
        self._kernel, self.kernel_scale = unit_kernel(machine.kernel, machine.points)
        self._rows, self._answers = rows, answers
        self._random = np.random.default_rng(seed)

    def __call__(self, packed: Array) -> tuple[float, Array]:
        vectors, weights, bias = _parts(packed, self._rows.shape[1])
        few = self._random.integers(0, len(self._rows), min(_BATCH, len(self._rows)))
        derivatives = KernelDerivatives.of(self._kernel, self._rows[few], np.ascontiguousarray(vectors))
        value, by_scores = cross_entropy(derivatives.values @ weights + bias, self._answers[few])
        gradient = np.zeros_like(packed)
        by_vectors, by_weights, by_bias = _parts(gradient, self._rows.shape[1])
        by_vectors[:] = derivatives.gradient(by_scores @ weights.T)
        by_weights[:] = derivatives.values.T @ by_scores
        by_bias[:] = by_scores.sum(axis=0)
        return value, gradient


def cross_entropy(scores: Array, answers: Positions) -> tuple[float, Array]:
    """The mean of -log(softmax(scores)[answer]) over rows, and its gradient with respect to the scores."""
    chances = scores - scores.max(axis=1, keepdims=True)
    np.exp(chances, out=chances)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(scores))
    loss = -np.log(np.maximum(chances[rows, answers], np.finfo(chances.dtype).tiny)).mean()
    chances[rows, answers] -= 1
    return float(loss), chances / len(scores)


def usual_gap(scores: Floats, answers: Positions, lengths: Floats) -> float:
    """The mean gap of rows whose largest score is wrong, for lengths sqrt(K(x,x)) = 1; the least gap if none is.

    At k times this gap about exp(-k) of the wrong rows are left, if their gaps are distributed exponentially.
    """
    largest = np.partition(scores, -2, axis=1)[:, -2:]
    gaps = (largest[:, 1] - largest[:, 0]) / lengths
    wrong = scores.argmax(axis=1) != answers
    return float(gaps[wrong].mean() if wrong.any() else gaps.min())

"""Ukkonen 2010: the classifiers that are compared on each split.

DUMMY     the most common class of the training rows
LINEAR    a linear SVM
SVM       an RBF SVM, which those below approximate
ONE_START the paper's tree: `dormie.tree.greedy` with scales and one random threshold to start every split from
UNSCALED  the same without scales, Algorithms 2 to 5 as they stand
GREEDY    the best of three starts at every split, with at most the paper's evaluations
FITTED    our tree, `dormie.tree.fitted`
REDUCED   a reduced set of a few vectors, anywhere in space
TRAINING  a machine of a few vectors taken from the training rows

As in the paper, the first two trees grow until a leaf has at most five rows, and the last two classifiers have as many
vectors as the paper's tree takes kernel evaluations on the test rows, rounded up. Trees and vectors are fitted to
training rows without their labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dormie.lab.papers.ukkonen2010.problems import Labels, Split, Trainer
from dormie.machine import Floats, Machine
from dormie.methods.reduced_set import fit
from dormie.methods.tree import Tree, fitted, greedy
from dormie.numerics.evaluate import FullSum

DUMMY, LINEAR, SVM = "dummy", "linear SVM", "SVM"
ONE_START, UNSCALED = "greedy, one start", "greedy, one start, no scales"
GREEDY, FITTED = "greedy, restarts", "fitted tree"
REDUCED, TRAINING = "reduced set", "training points"
MARGIN = 0.4  # the fitted tree gets fewer evaluations on training rows, because it takes a little more on test rows
_DEPENDENT = 1e-8  # below this share of a column's squared norm, its residual is only rounding


@dataclass(frozen=True, eq=False)
class Answers:
    """The labels that a classifier gives the test rows of one split, and its mean kernel evaluations per row."""

    labels: Labels
    evaluations: float


def classify(split: Split, linear: Trainer, rbf: Trainer, evaluations: float, seed: int) -> dict[str, Answers]:
    """The answers of every classifier on the test rows; the trees take about `evaluations` per row."""
    machine, X, X_test = rbf(split), split.X, split.X_test
    one_start = walked(machine, greedy(machine, X, restarts=1, seed=seed), X_test)
    n = min(math.ceil(one_start.evaluations), machine.n_points)
    return {
        DUMMY: Answers(np.full(len(split.y_test), majority(split.y)), 0),
        LINEAR: Answers(summed(linear(split), X_test).labels, 1),
        SVM: summed(machine, X_test),
        ONE_START: one_start,
        UNSCALED: walked(machine, greedy(machine, X, scales=False, restarts=1, seed=seed), X_test),
        GREEDY: walked(machine, greedy(machine, X, evaluations=evaluations, seed=seed), X_test),
        FITTED: walked(machine, fitted(machine, X, evaluations=evaluations - MARGIN, seed=seed), X_test),
        REDUCED: summed(fit(machine, n, X, seed=seed).machine(), X_test),
        TRAINING: summed(of_training_points(machine, n, X), X_test),
    }


def majority(y: Labels) -> int:
    """The most common label."""
    labels, counts = np.unique(y, return_counts=True)
    return int(labels[counts.argmax()])


def summed(machine: Machine, rows: Floats) -> Answers:
    """The answers of the full sum."""
    return Answers(machine.rule.labels(machine.rule.answer(FullSum(machine).outputs(rows))), machine.n_points)


def walked(machine: Machine, tree: Tree, rows: Floats) -> Answers:
    """The answers of a tree's estimates."""
    walk = tree.walk(machine.kernel, rows)
    return Answers(machine.rule.labels(machine.rule.answer(walk.values)), float(walk.evaluations.mean()))


def of_training_points(machine: Machine, n: int, X: Floats) -> Machine:
    """A machine with n training rows as points, each chosen because it explains most of the remaining outputs."""
    values, outputs = machine.kernel.matrix(X, X), FullSum(machine).outputs(X) - machine.bias
    chosen = pursued(values, outputs[:, 0], n)
    weights = np.linalg.lstsq(values[:, chosen], outputs, rcond=None)[0]
    return replace(machine, points=X[chosen], weights=np.asarray(weights, dtype=np.float64))


def pursued(columns: Floats, target: Floats, n: int) -> list[int]:
    """Up to n columns by orthogonal matching pursuit: every other column is reduced to its residual."""
    least = _DEPENDENT * np.einsum("ij,ij->j", columns, columns)
    chosen: list[int] = []
    while len(chosen) < n:
        squares = np.einsum("ij,ij->j", columns, columns)
        gains = np.divide((target @ columns) ** 2, squares, out=np.zeros(len(squares)), where=squares > least)
        best = int(gains.argmax())
        if gains[best] == 0:
            break
        chosen.append(best)
        q = columns[:, best] / np.sqrt(squares[best])
        columns, target = columns - np.outer(q, q @ columns), target - q * (q @ target)
    return chosen

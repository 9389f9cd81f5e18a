"""Ukkonen 2010: the ways to classify that are compared on each split.

DUMMY     the more common class of the training rows        GREEDY    the paper's tree, `dormie.tree.greedy`
LINEAR    a linear SVM                                      FITTED    ours, `dormie.tree.fitted`
SVM       the machine that all below stand for              REDUCED   a few vectors for all rows, anywhere in space
                                                            TRAINING  a few vectors, taken from the training rows

As in the paper the last two have as many vectors as the greedy tree takes kernel evaluations on the test rows, rounded
up. Trees and vectors are found from training rows without their labels.
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
GREEDY, FITTED = "greedy tree", "fitted tree"
REDUCED, TRAINING = "reduced set", "training points"
MARGIN = 0.4  # evaluations fewer on training rows for the fitted tree: on test rows it takes a little more
_DEPENDENT = 1e-8  # of a column's squares: what is left of it is rounding


@dataclass(frozen=True, eq=False)
class Answers:
    """What one way says of the test rows of one split, and what it takes in kernel evaluations a row."""

    labels: Labels
    evaluations: float


def ways(split: Split, linear: Trainer, rbf: Trainer, evaluations: float, seed: int) -> dict[str, Answers]:
    """What every way says of the test rows, the trees with about so many evaluations a row."""
    machine, X, X_test = rbf(split), split.X, split.X_test
    by_greedy = walked(machine, greedy(machine, X, evaluations=evaluations, seed=seed), X_test)
    n = min(math.ceil(by_greedy.evaluations), machine.n_points)
    return {
        DUMMY: Answers(np.full(len(split.y_test), majority(split.y)), 0),
        LINEAR: Answers(summed(linear(split), X_test).labels, 1),
        SVM: summed(machine, X_test),
        GREEDY: by_greedy,
        FITTED: walked(machine, fitted(machine, X, evaluations=evaluations - MARGIN, seed=seed), X_test),
        REDUCED: summed(fit(machine, n, X, seed=seed).machine(), X_test),
        TRAINING: summed(of_training_points(machine, n, X), X_test),
    }


def majority(y: Labels) -> int:
    labels, counts = np.unique(y, return_counts=True)
    return int(labels[counts.argmax()])


def summed(machine: Machine, rows: Floats) -> Answers:
    return Answers(machine.rule.labels(machine.rule.answer(FullSum(machine).outputs(rows))), machine.n_points)


def walked(machine: Machine, tree: Tree, rows: Floats) -> Answers:
    walk = tree.walk(machine.kernel, rows)
    return Answers(machine.rule.labels(machine.rule.answer(walk.values)), float(walk.evaluations.mean()))


def of_training_points(machine: Machine, n: int, X: Floats) -> Machine:
    """n training rows for points, one after the other the row that explains most of the outputs that are left."""
    values, outputs = machine.kernel.matrix(X, X), FullSum(machine).outputs(X) - machine.bias
    chosen = pursued(values, outputs[:, 0], n)
    weights = np.linalg.lstsq(values[:, chosen], outputs, rcond=None)[0]
    return replace(machine, points=X[chosen], weights=np.asarray(weights, dtype=np.float64))


def pursued(columns: Floats, target: Floats, n: int) -> list[int]:
    """Up to n columns by orthogonal matching pursuit: of those left over, only what the chosen ones cannot express."""
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

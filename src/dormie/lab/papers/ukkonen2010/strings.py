"""Ukkonen 2010: trees over a kernel of strings, which the paper names as what trees are for, but does not try.

The splice set as it came: strings of 60 letters of DNA, with or without a splice junction in their middle. The kernel
is the normalised spectrum kernel, of which only values are known: no reduced set can be fitted, and a tree has no
trunk of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np

from dormie.lab.bench.timing import interleave
from dormie.lab.papers.machines import train_svm
from dormie.lab.papers.strings import Strings, spectrum_kernel, splice
from dormie.lab.papers.table import Numbers, Table
from dormie.lab.papers.ukkonen2010.classifiers import (
    DUMMY,
    FITTED,
    GREEDY,
    ONE_START,
    SVM,
    TRAINING,
    UNSCALED,
    Answers,
    majority,
    of_training_points,
    summed,
    walked,
)
from dormie.machine import Machine
from dormie.machine.kernels import Custom
from dormie.methods.tree import Tree, fitted, greedy

_LETTERS = (2, 3, 4, 5, 6)
_COSTS = (0.3, 1.0, 3.0, 10.0)
_FOLDS = 5
_MORE = 40  # evaluations of a second, larger tree and of a second set of training points
Classifier = Callable[[], Answers]


def strings(count: int, training: int) -> Table:
    """A line for each classifier: means over so many random splits, with so many strings to train with."""
    splits = [splice(training, seed) for seed in range(count)]
    kernel, C = tuned(splits[0])
    lines = [_measured(split, train_svm(kernel, split.X, split.y, C)[0], seed) for seed, split in enumerate(splits)]
    columns: dict[str, Numbers] = {
        column: {name: float(np.mean([line[name][at] for line in lines])) for name in lines[0]}
        for at, column in enumerate(("share of test rows right", "as the SVM, %", "evaluations", "seconds for all"))
    }
    notes = (
        f"{training:,} of {training + len(splits[0].y_test):,} strings train, the others test; random splits: {count}",
        f"{kernel.function}, C = {C:g}: best in {_FOLDS}-fold cross-validation on the training rows of the first split",
        f"{FITTED}, {TRAINING}: with as many evaluations as the tree with one start, rounded up, and with {_MORE}",
        "seconds for the labels of all test strings, on this computer; each node of a tree calls the kernel anew, and "
        "so counts the words of its strings again",
    )
    return Table("Ukkonen 2010: splice as strings, spectrum kernel", columns, notes)


def tuned(split: Strings) -> tuple[Custom, float]:
    """The kernel and C that are best in cross-validation on the training rows."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score  # optional
    from sklearn.svm import SVC  # optional

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    values = {letters: spectrum_kernel(letters).matrix(split.X, split.X) for letters in _LETTERS}
    scores = {
        (letters, C): cross_val_score(SVC(kernel="precomputed", C=C), values[letters], split.y, cv=folds).mean()
        for letters, C in product(_LETTERS, _COSTS)
    }
    letters, C = max(scores, key=lambda pair: scores[pair])
    return spectrum_kernel(letters), C


def _measured(split: Strings, machine: Machine, seed: int) -> Mapping[str, tuple[float, ...]]:
    """Share right, agreement with the SVM, evaluations and seconds of every classifier."""
    work = _classifiers(split, machine, seed)
    seconds = {name: min(rounds) for name, rounds in interleave(work, 0).items()}
    found = {name: classifier() for name, classifier in work.items()}
    return {
        name: (
            float(np.mean(answers.labels == split.y_test)),
            100 * float(np.mean(answers.labels == found[SVM].labels)),
            answers.evaluations,
            seconds[name],
        )
        for name, answers in found.items()
    }


def _classifiers(split: Strings, machine: Machine, seed: int) -> dict[str, Classifier]:
    """What labels the test strings, by name: the machines and trees are made here."""
    X, X_test = split.X, split.X_test
    trees: dict[str, Tree] = {
        ONE_START: greedy(machine, X, restarts=1, seed=seed),
        UNSCALED: greedy(machine, X, scales=False, restarts=1, seed=seed),
        GREEDY: greedy(machine, X, seed=seed),
    }
    few = math.ceil(walked(machine, trees[ONE_START], X_test).evaluations)
    sizes = {"": few, f", {_MORE}": _MORE}
    trees |= {FITTED + suffix: fitted(machine, X, evaluations=n, seed=seed) for suffix, n in sizes.items()}
    points = {TRAINING + suffix: of_training_points(machine, n, X) for suffix, n in sizes.items()}
    return {
        DUMMY: lambda: Answers(np.full(len(split.y_test), majority(split.y)), 0),
        SVM: partial(summed, machine, X_test),
        **{name: partial(walked, machine, tree, X_test) for name, tree in trees.items()},
        **{name: partial(summed, some, X_test) for name, some in points.items()},
    }

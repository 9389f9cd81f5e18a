"""Ukkonen 2010: the training and test rows of the IDA sets, and how their machines are tuned.

The paper gives neither C nor gamma, only that it used a grid search and how many support vectors resulted. So we take
the pairs (C, gamma) whose accuracy in cross-validation is within a standard error of the best, and choose the one whose
number of support vectors is closest to the paper's. All splits of a set use the same pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.lab.papers.machines import train_svm
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear

Labels = npt.NDArray[np.int64]

TRAINING_ROWS = {  # as published with the sets; all other rows are test rows
    "heart": 170,
    "thyroid": 140,
    "breast_cancer": 200,
    "waveform": 400,
    "german": 700,
    "image": 1300,
    "diabetis": 468,
    "ringnorm": 400,
    "splice": 1000,
    "twonorm": 400,
    "banana": 400,
}
COSTS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # divided by the number of features
LINEAR_COSTS = (0.01, 0.1, 1.0, 10.0)
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Labelled training and test rows; every feature has mean 0 and variance 1 over the training rows."""

    X: Floats = field(repr=False)
    y: Labels = field(repr=False)
    X_test: Floats = field(repr=False)
    y_test: Labels = field(repr=False)

    @classmethod
    def of(cls, data: datasets.Dataset, train: npt.NDArray[np.intp]) -> Split:
        test = np.setdiff1d(np.arange(len(data.y)), train)
        mean, spread = data.X[train].mean(axis=0), data.X[train].std(axis=0)
        X = (data.X - mean) / np.where(spread > 0, spread, 1.0)
        return cls(X[train], data.y[train], X[test], data.y[test])


def splits(name: str, count: int) -> list[Split]:
    """The original splits on file, followed by random ones of the same sizes."""
    data, random = datasets.load(name), np.random.default_rng(0)
    original = [train for train, _ in datasets.ida_splits(name)][:count]
    drawn = [random.permutation(len(data.y))[: TRAINING_ROWS[name]] for _ in range(count - len(original))]
    return [Split.of(data, train) for train in (*original, *drawn)]


@dataclass(frozen=True)
class Trainer:
    """Trains SVMs with a given kernel and C."""

    kernel: Kernel
    C: float

    def __call__(self, split: Split) -> Machine:
        return train_svm(self.kernel, split.X, split.y, self.C)[0]

    def scores(self, split: Split) -> Floats:
        """The accuracy of each fold in cross-validation on the training rows."""
        from sklearn.model_selection import StratifiedKFold, cross_val_score  # optional
        from sklearn.svm import SVC  # optional

        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        svc = SVC(kernel="precomputed", C=self.C)
        return np.asarray(cross_val_score(svc, self.kernel.matrix(split.X, split.X), split.y, cv=folds))

    def support_vectors(self, several: list[Split]) -> float:
        return float(np.mean([self(split).n_points for split in several]))


def linear_svm(several: list[Split]) -> Trainer:
    """The linear SVM with the C that is best in cross-validation."""
    scored = _scored((Trainer(Linear(), C) for C in LINEAR_COSTS), several)
    return max(scored, key=lambda trainer: scored[trainer].mean())


def rbf_svm(several: list[Split], support_vectors: int) -> Trainer:
    """The RBF SVM closest in support vectors, among those within a standard error of the best accuracy."""
    features = several[0].X.shape[1]
    scored = _scored((Trainer(RBF(gamma / features), C) for C, gamma in product(COSTS, GAMMAS)), several)
    best = max(scored.values(), key=lambda scores: scores.mean())
    enough = best.mean() - best.std(ddof=1) / np.sqrt(len(best))
    good = [trainer for trainer, scores in scored.items() if scores.mean() >= enough]
    return min(good, key=lambda trainer: abs(trainer.support_vectors(several) - support_vectors))


def _scored(trainers: Iterable[Trainer], several: list[Split]) -> dict[Trainer, Floats]:
    return {trainer: np.concatenate([trainer.scores(split) for split in several]) for trainer in trainers}

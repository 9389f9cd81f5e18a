"""The problems of DeCoste 2002, Table 4: their rows, how to train their machines, and the printed numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.lab.papers.decoste2002.walks import k_numbers
from dormie.lab.papers.machines import train_svm
from dormie.lab.papers.table import Numbers
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Normalized, Polynomial


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows with labels -1 and 1, test rows (None: training rows that are no support vectors), parameters."""

    title: str
    printed: Numbers
    kernel: Kernel
    C: float
    X: Floats = field(repr=False)
    y: npt.NDArray[Any] = field(repr=False)
    unseen: Floats | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    linear_C: float | None = None  # of the linear SVM that w+ and w- come from, if it differs from C
    tolerance: float = 1e-3  # of the SVM's training
    landmarks: int | None = None  # the most landmarks, not counting w+ and w-
    random_orders: int = 3  # number of SGMA orders, whose results are pooled

    def svm(self) -> tuple[Machine, Floats]:
        """The SVM and the test rows."""
        machine, support = train_svm(self.kernel, self.X, self.y, self.C, self.tolerance)
        return machine, np.delete(self.X, support, axis=0) if self.unseen is None else self.unseen

    def folded_weights(self) -> Floats:
        """w+ and w- (equation 34): the positive and the negative terms of a linear SVM, summed in input space."""
        from sklearn.svm import SVC  # optional

        svc = SVC(kernel="linear", C=self.linear_C or self.C).fit(self.X, self.y)
        alpha = svc.dual_coef_[0]
        return np.vstack([np.maximum(alpha, 0) @ svc.support_vectors_, np.maximum(-alpha, 0) @ svc.support_vectors_])


def sonar() -> Problem:
    """Sonar; rocks are the positive class, as in the paper."""
    data = datasets.load("sonar")
    return Problem("Sonar", _SONAR, Normalized(Polynomial(1, 1, 2)), 1, data.X, -data.y, notes=(_NON_SV,))


def haberman(early: bool = False) -> Problem:
    """Haberman. The paper's machine has 180 support vectors; a solver that is stopped early gives about as many."""
    data = datasets.load("haberman")
    title = "Haberman, training stopped early (tolerance 0.1)" if early else "Haberman"
    notes = (_NON_SV, "w+, w- from a linear SVM with C = 1: with C = 1,000 on raw features it never finishes training")
    return Problem(
        title,
        _HABERMAN,
        Normalized(Polynomial(1, 1, 3)),
        1000,
        data.X,
        data.y,
        notes=notes,
        linear_C=1,
        tolerance=0.1 if early else 1e-3,
    )


def misr_stand_in(training_rows: int = 2000, test_rows: int = 10_000, seed: int = 0) -> Problem:
    """A stand-in for the MISR rows, which are not public: two Gaussian classes in 20 of 222 dimensions, plus noise."""
    random = np.random.default_rng(seed)
    directions = random.standard_normal((20, 222)) / np.sqrt(222)
    n = training_rows + test_rows
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    hidden = 0.235 * random.standard_normal((n, 20))
    hidden[:, 0] += y / 2
    X = hidden @ directions + 0.28 * random.standard_normal((n, 222)) / np.sqrt(222)
    notes = (
        "A STAND-IN: the paper's MISR rows are not public. Synthetic rows of the same shape (222 features, 2,000 "
        "rows), RBF, sigma = 1, C = 0.1: compare the two orders, not the columns with the paper",
        "300 landmarks and w+, w-, as in the paper (its largest k is 302); one random SGMA order",
    )
    train, test = slice(training_rows), slice(training_rows, None)
    title = "stand-in for MISR"
    return Problem(
        title, _MISR, RBF(0.5), 0.1, X[train], y[train], X[test], notes=notes, landmarks=300, random_orders=1
    )


_NON_SV = "test rows are the training rows that are no support vectors, as in the paper"


_SONAR: Numbers = {
    "features": 60,
    "rows, positive and negative": (97, 111),
    "support vectors, and those at C": (165, 153),
    "support vectors, positive and negative": (81, 84),
    **k_numbers("training rows, w+ w- first", 3, 111, 26.2, 19.5),
    **k_numbers("training rows", 1, 110, 28.1, 23),
    "test rows": 43,
    **k_numbers("test rows, w+ w- first", 4, 21, 11.2, 10),
    **k_numbers("test rows", 4, 24, 16.7, 16),
    "geometry: times as fast as the dense stage": 8.0,
    "L / mean k, test rows, w+ w- first": 14.7,
    "KFD weights, positive and negative": (97, 111),
    **k_numbers("KFD, training rows, w+ w- first", 3, 187, 88.6, 93),
    "KFD: rows / mean k": 2.3,
}
_HABERMAN: Numbers = {
    "features": 3,
    "rows, positive and negative": (81, 225),
    "support vectors, and those at C": (180, 150),
    "support vectors, positive and negative": (79, 101),
    **k_numbers("training rows, w+ w- first", 2, 12, 4.5, 4),
    **k_numbers("training rows", 1, 10, 4.5, 5),
    "test rows": 126,
    **k_numbers("test rows, w+ w- first", 2, 8, 4.2, 5),
    **k_numbers("test rows", 1, 6, 4.3, 5),
    "geometry: times as fast as the dense stage": 18.9,
    "L / mean k, test rows, w+ w- first": 42.9,
    "KFD weights, positive and negative": (149, 157),
    **k_numbers("KFD, training rows, w+ w- first", 1, 25, 4.8, 4),
    "KFD: rows / mean k": 63.8,
}
_MISR: Numbers = {
    "features": 222,
    "rows, positive and negative": (1000, 1000),
    "support vectors, and those at C": (513, 434),
    "support vectors, positive and negative": (268, 245),
    **k_numbers("training rows, w+ w- first", 3, 302, 109.2, 69.5),
    **k_numbers("training rows", 1, 184, 134.9, 133),
    "test rows": 10000,
    **k_numbers("test rows, w+ w- first", 8, 302, 123.9, 78),
    **k_numbers("test rows", 55, 208, 142.8, 141),
    "geometry: times as fast as the dense stage": 2.2,
    "L / mean k, test rows, w+ w- first": 4.1,
    "KFD weights, positive and negative": (920, 1080),
    **k_numbers("KFD, training rows, w+ w- first", 3, 302, 279.6, 302),
    "KFD: rows / mean k": 7.2,
}

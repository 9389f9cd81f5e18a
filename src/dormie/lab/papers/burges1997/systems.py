"""Trains and reduces again the systems that Burges and Schölkopf compare.

    ORIG    ten machines, one for each digit against the rest
    VSV     trained again on the support vectors and on copies shifted by a pixel
    RS      a reduced set for each VSV machine, of the paper's size and with the paper's objective, |w - w'|
    shared  one reduced set for all ten, fitted to the outputs on training digits; not in the paper

Digits are scaled to unit length, so that `(x.y)^5` compares shapes and not the amount of ink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert import read
from dormie.convert.sklearn.estimators import virtual_svc
from dormie.lab import datasets
from dormie.lab.papers.burges1997.printed import DIGITS
from dormie.machine import Floats, Machine
from dormie.methods.reduced_set import fit
from dormie.methods.reduced_set.threshold import least_errors_shift
from dormie.numerics.evaluate import FullSum
from dormie.progress import Progress

Rows = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Digits:
    """Labelled digits of unit length, to train and to test on."""

    X: Rows
    y: Labels
    X_test: Rows
    y_test: Labels

    @classmethod
    def load(cls, training_rows: int, test_rows: int) -> Digits:
        """The first digits of MNIST."""
        data = datasets.load("mnist")
        assert data.y_test is not None
        X, X_test = (_unit(rows) for rows in (data.X[:training_rows], data.X_test[:test_rows]))
        return cls(X, data.y[:training_rows], X_test, data.y_test[:test_rows])

    def to_fit_on(self) -> Rows:
        """The training digits, and each of them shifted by a pixel in eight directions."""
        from dormie.estimators.invariances import Shifts  # here: scikit-learn is optional

        return np.concatenate([self.X, *Shifts(directions=8)(self.X)])


def _unit(rows: Floats) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class System:
    """Ten machines as one machine of ten outputs, and how many vectors each has; (n,) if all ten share n vectors."""

    machine: Machine
    vectors: tuple[int, ...]

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds per row: for its length, for its product with every vector, and for every weight."""
        d, total = self.machine.n_features, sum(self.vectors)
        weights = total if len(self.vectors) == self.machine.n_outputs else total * self.machine.n_outputs
        return d + total * d + weights

    def outputs(self, rows: Rows) -> Floats:
        return FullSum(self.machine).outputs(rows.astype(np.float64))

    def moved(self, shifts: Floats) -> System:
        """The same system with shifted thresholds."""
        return replace(self, machine=replace(self.machine, bias=self.machine.bias + shifts))


def train(digits: Digits) -> Any:
    """A VirtualSVC, which also keeps the estimators of its first training."""
    from dormie.estimators import VirtualSVC  # here: scikit-learn is optional
    from dormie.estimators.invariances import Shifts  # here: scikit-learn is optional

    with Progress() as progress:
        waiting = iter(DIGITS)
        progress.say("training on digit 0 against the rest")

        def moved(rows: Rows) -> list[Any]:
            progress.say(f"training again on digit {next(waiting)} against the rest, {5 * len(rows):,} rows")
            return Shifts()(rows)

        return VirtualSVC(moved, _svc(), multi_class="ovr").fit(digits.X, digits.y)


def _svc() -> Any:
    """An SVC with the paper's kernel and C; scikit-learn-intelex's if installed, because it trains much faster."""
    try:
        from sklearnex.svm import SVC  # optional
    except ImportError:
        from sklearn.svm import SVC  # optional
    return SVC(kernel="poly", degree=5, gamma=1.0, coef0=0.0, C=10.0, cache_size=2000)


def original(model: Any) -> System:
    return _system(model, [read(estimator) for estimator in model.first_estimators_])


def virtual(model: Any) -> System:
    return _system(model, [read(estimator) for estimator in model.estimators_])


def reduced(model: Any, sizes: tuple[int, ...]) -> System:
    """A reduced set for each machine of the second training."""
    machines = [read(estimator) for estimator in model.estimators_]
    return _system(model, [fit(machine, n).machine() for machine, n in zip(machines, sizes, strict=True)])


def shared(system: System, size: int, rows: Rows) -> System:
    """One reduced set for all ten outputs."""
    return System(fit(system.machine, size, rows).machine(), (size,))


def _system(model: Any, machines: list[Machine]) -> System:
    return System(virtual_svc(model, machines), tuple(machine.n_points for machine in machines))


def bayes_shifts(outputs: Floats, y: Labels) -> Floats:
    """The shift of each digit's output that gives the fewest wrong signs on labelled rows."""
    return np.array([least_errors_shift(outputs[:, digit], y == digit, zero=True) for digit in DIGITS])

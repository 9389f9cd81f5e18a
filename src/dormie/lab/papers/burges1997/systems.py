"""Trains and reduces again the systems that Burges and Schölkopf compare.

    ORIG    ten machines, one for each digit against the rest
    VSV     trained again on the support vectors, shifted by a pixel in four directions
    RS      a reduced set for each VSV machine, of the paper's size and with the paper's objective, |w - w'|: vectors
            are found one by one, and then moved all together
    shared  one reduced set for all ten, fitted to the outputs on training digits; not in the paper

They are trained in two ways. PAPER is what the paper says, with pixels from -1 to 1: it does not say that, but its
numbers of support vectors do. OURS scales digits to unit length, so that `(x.y)^5` compares shapes and not the amount
of ink, which is more accurate on held-out digits (see `choices.py`) and needs more support vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.sklearn.estimators import virtual_svc
from dormie.lab import datasets
from dormie.lab.papers.burges1997.printed import DIGITS
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Polynomial
from dormie.methods.reduced_set import fit
from dormie.methods.reduced_set.errors import Distance
from dormie.methods.reduced_set.norm import Norm
from dormie.methods.reduced_set.threshold import least_errors_shift
from dormie.numerics.evaluate import FullSum
from dormie.progress import Progress

Rows = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

KERNEL = Polynomial(gamma=1.0, coef0=0.0, degree=5)
C = 10.0


def unit_length(pixels: Floats) -> Rows:
    """Every row divided by its length."""
    return np.asarray(pixels / np.linalg.norm(pixels, axis=1, keepdims=True), dtype=np.float32)


def minus_to_plus(pixels: Floats) -> Rows:
    """Pixels from -1 to 1, divided by the square root of their number, so that no row is longer than 1."""
    return np.asarray((2 * pixels - 1) / np.sqrt(pixels.shape[1]), dtype=np.float32)


@dataclass(frozen=True)
class Way:
    """A way to train: how pixels are scaled, how slacks are penalised, and whether VSV sees the support vectors too."""

    scaled: Callable[[Floats], Rows]
    penalty: str
    keep_originals: bool


PAPER = Way(minus_to_plus, "sum, squared", keep_originals=False)
OURS = Way(unit_length, "sum", keep_originals=True)


@dataclass(frozen=True, eq=False)
class Digits:
    """Labelled digits, scaled, to train and to test on."""

    X: Rows
    y: Labels
    X_test: Rows
    y_test: Labels

    @classmethod
    def load(cls, training_rows: int, test_rows: int, scaled: Callable[[Floats], Rows]) -> Digits:
        """The first digits of MNIST."""
        data = datasets.load("mnist")
        assert data.y_test is not None
        X, X_test = (scaled(rows) for rows in (data.X[:training_rows], data.X_test[:test_rows]))
        return cls(X, data.y[:training_rows], X_test, data.y_test[:test_rows])

    def to_fit_on(self) -> Rows:
        """The training digits, and each of them shifted by a pixel in eight directions."""
        from dormie.estimators.invariances import Shifts  # here: scikit-learn is optional

        return np.concatenate([self.X, *Shifts(directions=8)(self.X)])


@dataclass(frozen=True, eq=False)
class System:
    """Ten machines as one machine of ten outputs, and how many vectors each has; (n,) if all ten share n vectors."""

    machine: Machine
    vectors: tuple[int, ...]

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds per row: for its scale, for its product with every vector, and for every weight."""
        d, total = self.machine.n_features, sum(self.vectors)
        weights = total if len(self.vectors) == self.machine.n_outputs else total * self.machine.n_outputs
        return d + total * d + weights

    def outputs(self, rows: Rows) -> Floats:
        return FullSum(self.machine).outputs(rows.astype(np.float64))

    def moved(self, shifts: Floats) -> System:
        """The same system with shifted thresholds."""
        return replace(self, machine=replace(self.machine, bias=self.machine.bias + shifts))


def train(digits: Digits, way: Way) -> Any:
    """A VirtualSVC, which also keeps the estimators of its first training."""
    from dormie.estimators import VirtualSVC  # here: scikit-learn is optional
    from dormie.estimators.invariances import Shifts  # here: scikit-learn is optional
    from dormie.lab.papers.burges1997.training import ChunkedSVC  # here: scikit-learn is optional

    with Progress() as progress:
        waiting = iter(DIGITS)
        progress.say("training on digit 0 against the rest")

        def moved(rows: Rows) -> list[Any]:
            progress.say(f"training again on digit {next(waiting)} against the rest, {len(rows):,} support vectors")
            return Shifts()(rows)

        estimator = ChunkedSVC(KERNEL, C, way.penalty)
        model = VirtualSVC(moved, estimator, multi_class="ovr", keep_originals=way.keep_originals)
        return model.fit(digits.X, digits.y)


def original(model: Any) -> System:
    return _system(model, [estimator.machine_ for estimator in model.first_estimators_])


def virtual(model: Any) -> System:
    return _system(model, [estimator.machine_ for estimator in model.estimators_])


@dataclass(frozen=True, eq=False)
class Reduced:
    """The paper's reduced sets: |w|^2 / rho^2 of each after the first phase and after the second, and the system."""

    system: System
    one_by_one: tuple[float, ...]
    together: tuple[float, ...]


def reduced(model: Any, sizes: tuple[int, ...]) -> Reduced:
    """A reduced set for each machine of the second training."""
    machines = [estimator.machine_ for estimator in model.estimators_]
    with Progress() as progress:
        phases = [two_phases(machine, n, progress) for machine, n in zip(machines, sizes, strict=True)]
    first, final = (list(each) for each in zip(*phases, strict=True))
    falls = (tuple(map(_fall, machines, found)) for found in (first, final))
    return Reduced(_system(model, final), *falls)


def two_phases(machine: Machine, n: int, progress: Progress) -> tuple[Machine, Machine]:
    """The reduced set of vectors found one by one, and that of the same vectors moved all together.

    The second is that of `fit(machine, n, start="one_by_one")`.
    """
    first = fit(machine, n, method="one_by_one").machine()
    norm = Norm(machine, [n])
    vectors = norm.minimise(first.points, lambda step: progress.say(f"moving {n:,} vectors, step {step:,}"))
    [weights] = norm.weights(vectors)
    return first, replace(first, points=vectors, weights=weights)


def _fall(machine: Machine, found: Machine) -> float:
    distance = Distance.between(machine, found)
    assert distance is not None
    return float(1 / distance.relative[0] ** 2)


def shared(system: System, size: int, rows: Rows) -> System:
    """One reduced set for all ten outputs."""
    return System(fit(system.machine, size, rows).machine(), (size,))


def _system(model: Any, machines: list[Machine]) -> System:
    return System(virtual_svc(model, machines), tuple(machine.n_points for machine in machines))


def bayes_shifts(outputs: Floats, y: Labels) -> Floats:
    """The shift of each digit's output that gives the fewest wrong signs on labelled rows."""
    return np.array([least_errors_shift(outputs[:, digit], y == digit, zero=True) for digit in DIGITS])

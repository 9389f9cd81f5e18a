"""How far a reduced machine is from the original: in feature space, and in outputs and labels on rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import Rule, Value
from dormie.numerics.feature_space import FeatureVector, InnerProducts


def root_mean_square(values: Floats) -> Floats:
    """Of every column; its largest value is the unit, so that no square overflows."""
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.sqrt(np.mean((values / unit) ** 2, axis=0)))


@dataclass(frozen=True, eq=False)
class Distance:
    """Of every output: |w|, and |w - w'| of the reduced machine.

    |w - w'| sqrt(K(x,x)) bounds the error of any row x, up to rounding, of which no account is kept here.
    """

    norm: Floats
    distance: Floats

    @classmethod
    def between(cls, machine: Machine, reduced: Machine) -> Distance | None:
        """None where there is no such distance: the kernel is no inner product, or the numbers are out of range."""
        if not machine.kernel.positive_semidefinite:
            return None
        try:
            squared = FeatureVector.of(machine).squared_norm
        except ValueError:
            return None
        if reduced is machine:
            return cls(np.sqrt(np.maximum(squared, 0.0)), np.zeros_like(squared))
        gamma, gram = reduced.weights, machine.kernel.matrix(reduced.points, reduced.points)
        both = 2 * InnerProducts.with_w(machine, reduced.points).values - gram @ gamma
        left = squared - np.einsum("kc,kc->c", gamma, both)
        return cls(*(np.sqrt(np.maximum(part, 0.0)) for part in (squared, left)))

    @property
    def relative(self) -> Floats:
        """|w - w'| / |w|; 0 for an output without weights."""
        return np.divide(self.distance, self.norm, out=np.zeros_like(self.norm), where=self.norm > 0)


@dataclass(frozen=True, eq=False)
class Errors:
    """Outputs of both machines on the same rows, and what follows from them. Arrays have an entry for every output."""

    rule: Rule
    before: Floats
    after: Floats
    rows: str  # what rows these are

    @property
    def rms(self) -> Floats:
        """Root mean square of what the outputs are off by."""
        return root_mean_square(self.after - self.before)

    @property
    def largest(self) -> Floats:
        """The most that an output is off by."""
        return np.asarray(np.abs(self.after - self.before).max(axis=0))

    @property
    def spread(self) -> Floats:
        """The standard deviation of the original's outputs, to compare errors with."""
        return root_mean_square(self.before - self.before.mean(axis=0))

    @property
    def differing(self) -> int | None:
        """How many rows get another label; None where values are the answer."""
        if isinstance(self.rule, Value):
            return None
        return int((self.rule.answer(self.before) != self.rule.answer(self.after)).sum())

    @property
    def agreement(self) -> float | None:
        """The share of rows with the same label; None where values are the answer."""
        return None if self.differing is None else 1 - self.differing / len(self.before)

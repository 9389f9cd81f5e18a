"""The error of a reduced machine: its distance in feature space, and its outputs and labels on rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import Rule, ValueRule
from dormie.numerics.feature_space import FeatureVector, InnerProducts


def root_mean_square(values: Floats) -> Floats:
    """Root mean square of every column, scaled by its largest value so that no square overflows."""
    largest = np.abs(values).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(scale * np.sqrt(np.mean((values / scale) ** 2, axis=0)))


@dataclass(frozen=True, eq=False)
class Distance:
    """|w| and |w - w'| of every output, w' being the reduced machine's vector.

    |w - w'| sqrt(K(x,x)) bounds the error of any row x, up to rounding, which is not bounded here.
    """

    norm: Floats
    distance: Floats

    @classmethod
    def between(cls, machine: Machine, reduced: Machine) -> Distance | None:
        """None if there is no such distance: the kernel is no inner product, or numbers are out of range."""
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
    """Errors from the outputs of both machines on the same rows. Arrays have one entry for each output."""

    rule: Rule
    before: Floats
    after: Floats
    rows: str  # a description of the rows

    @property
    def rms(self) -> Floats:
        """Root mean square error of the outputs."""
        return root_mean_square(self.after - self.before)

    @property
    def largest(self) -> Floats:
        """Largest absolute error of the outputs."""
        return np.asarray(np.abs(self.after - self.before).max(axis=0))

    @property
    def spread(self) -> Floats:
        """Standard deviation of the original outputs, for comparison."""
        return root_mean_square(self.before - self.before.mean(axis=0))

    @property
    def differing(self) -> int | None:
        """Number of rows with another label; None for a regressor."""
        if isinstance(self.rule, ValueRule):
            return None
        return int((self.rule.answer(self.before) != self.rule.answer(self.after)).sum())

    @property
    def agreement(self) -> float | None:
        """Share of rows with the same label; None for a regressor."""
        return None if self.differing is None else 1 - self.differing / len(self.before)

"""The outputs themselves as the goal: sum_x |G'(x) - G(x)|^2 over rows, which need no labels.

This is what counts where rows like these come. The weights are eliminated: any vectors have their best ones, and the
loss is what those leave, so that its gradient is the same as if they were held fixed. Batches of rows, drawn by their
importance, keep a step cheap; the last weights are solved over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.methods.reduced_set import adam
from dormie.methods.reduced_set.emphasis import importance
from dormie.methods.reduced_set.norm import projections
from dormie.methods.reduced_set.slopes import Array, Slopes, unit_kernel
from dormie.methods.reduced_set.units import power_of_two
from dormie.methods.reduced_set.weights import least_squares, positive_factor
from dormie.numerics.cholesky import solve_gram
from dormie.numerics.evaluate import FullSum

_BATCH = 2000
_BLOCK = 4096
_MOST_STEPS = 3000
_FIRST_RATE = 0.2  # of the usual deviation of a feature
_RIDGE = 1e-6  # a row, for kernels with K(s, s) about 1
_TOO_LARGE = 1e15  # for kernels with K(s, s) about 1
_NOTHING = 1e-30  # a loss whose logarithm can still be taken


class Outputs:
    """The loss of vectors over rows; `sizes` are nested, and each counts by the logarithm of its own loss."""

    def __init__(
        self, machine: Machine, rows: Floats, sizes: Sequence[int], seed: int, outputs: Floats | None = None
    ) -> None:
        """outputs: of the rows, where they are known already."""
        self.sizes = sizes
        self._machine = machine
        self.kernel, self._unit = unit_kernel(machine.kernel, machine.points)
        _require_single(self.kernel, rows)
        self._rows, self._single = rows, rows.astype(np.float32)
        bare = replace(machine, bias=np.zeros_like(machine.bias))
        sums = FullSum(bare).outputs(rows) if outputs is None else outputs - machine.bias
        self._size = power_of_two(sums)
        self._targets = sums / self._size
        self._counts = importance(machine.rule, sums + machine.bias)
        self._chances = np.cumsum(self._counts) / self._counts.sum()
        self._random = np.random.default_rng(seed)
        self._rate = _FIRST_RATE * float(np.sqrt(machine.points.var(axis=0).mean()))

    def minimise(self, start: Floats, say: Callable[[int], None]) -> Floats:
        """Vectors whose outputs are close to the machine's, from a start."""
        found = adam.minimise(self._batch_loss, start.astype(np.float32), self._rate, _MOST_STEPS, say)
        return np.asarray(found, dtype=np.float64)

    def weights(self, vectors: Floats) -> list[Floats]:
        """The best weights for every size, over all rows.

        Where the kernel is so smooth that its values hardly differ, least squares with a ridge cannot tell vectors
        apart, and the projection of w can: whichever leaves less is taken.
        """
        scale = self._size / self._unit
        fitted = [w * scale for w in least_squares(lambda: self._blocks(vectors), self.sizes, _RIDGE * len(self._rows))]
        if not self._machine.kernel.positive_semidefinite:
            return fitted
        each = zip(fitted, projections(self._machine, vectors, self.sizes), strict=True)
        return [min(pair, key=lambda w: self._left(vectors, w / scale)) for pair in each]

    def better(self, *fits: tuple[Floats, list[Floats]]) -> tuple[Floats, list[Floats]]:
        """Of vectors with their weights those that leave the least, over all sizes."""
        unit = self._unit / self._size
        return min(fits, key=lambda fit: sum(np.log(self._left(fit[0], w * unit) + _NOTHING) for w in fit[1]))

    def _left(self, vectors: Floats, weights: Floats) -> float:
        """What weights of the first vectors leave of the targets."""
        parts = self._blocks(vectors[: len(weights)])
        return sum(float(np.square(values @ weights - targets).sum()) for values, targets in parts)

    def _batch_loss(self, vectors: Array) -> tuple[float, Array]:
        few = np.searchsorted(self._chances, self._random.random(min(_BATCH, len(self._rows))))
        few = np.minimum(few, len(self._rows) - 1)
        slopes = Slopes.of(self.kernel, self._single[few], vectors)
        value, by_values = loss(slopes.values, self._targets[few].astype(np.float32), self.sizes)
        return value, slopes.pull(by_values)

    def _blocks(self, vectors: Floats) -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, len(self._rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            root = np.sqrt(self._counts[block])[:, None]
            yield root * Slopes.of(self.kernel, self._rows[block], vectors).values, root * self._targets[block]


def _require_single(kernel: Kernel, rows: Floats) -> None:
    """ValueError for rows so far out that their kernel values, or the squares of those, are too large for float32."""
    with np.errstate(over="ignore"):
        own = np.einsum("ij,ij->i", rows, rows) if isinstance(kernel, RBF) else kernel.diagonal(rows)
    far = own >= _TOO_LARGE
    if far.any():
        raise ValueError(
            f"{far.sum():,} rows have values of up to {np.abs(rows[far]).max():.2g} times the size usual among support "
            "vectors, and nothing can be fitted beside those: leave them out, or fit in norm, objective='norm'"
        )


def loss(values: Array, targets: Array, sizes: Sequence[int]) -> tuple[float, Array]:
    """The sum over sizes of the logarithm of what the best weights leave, and its derivative by the kernel values."""
    ridge = _RIDGE * len(values)
    normal, right = (values.T @ part for part in (values, targets))
    normal, right = normal.astype(np.float64), right.astype(np.float64)
    normal[np.diag_indices_from(normal)] += ridge
    total, by_values = 0.0, np.zeros_like(values)
    for n in sizes:
        weights = solve_gram(positive_factor(normal[:n, :n]), right[:n])
        single = weights.astype(values.dtype)
        error = values[:, :n] @ single - targets
        left = float(np.square(error, dtype=np.float64).sum() + ridge * np.square(weights).sum()) + _NOTHING
        total += np.log(left / targets.size)
        by_values[:, :n] += error @ (single * (2 / left)).T
    return total, by_values

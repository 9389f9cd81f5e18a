"""The objective on rows: the error of the outputs, sum_x |G'(x) - G(x)|^2, which needs no labels.

It is the right objective if later rows resemble these. The weights are eliminated: the loss of given vectors is the
error with their best weights, so that its gradient is the same as with fixed weights. A step uses a batch of rows,
drawn by their importance; the final weights are solved over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel, Radial
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set import adam
from dormie.methods.reduced_set.derivatives import Array, KernelDerivatives, unit_kernel
from dormie.methods.reduced_set.importance import importance
from dormie.methods.reduced_set.norm import projections
from dormie.methods.reduced_set.principal_axes import PrincipalAxes
from dormie.methods.reduced_set.rescaling import power_of_two
from dormie.methods.reduced_set.weights import least_squares, positive_factor
from dormie.numerics.cholesky import solve_gram
from dormie.numerics.evaluate import FullSum

_LEAST_BATCH, _MOST_BATCH = 1000, 2000  # 2,000 rows for 128 vectors take 1.6 times as long, and err 1 % less
_ROWS_A_VECTOR = 4  # of a batch
_BLOCK = 4096
_STEPS = 800
_MANY_VECTORS = 256  # with more, a step takes longer, and fewer steps are taken: sqrt(2) times fewer for twice as many
_FIRST_RATE = 0.4  # relative to the typical standard deviation of a feature
_RIDGE = 1e-6  # for each row, with K(s, s) about 1
_TOO_LARGE = 1e15  # for K(x, x) where K(s, s) is about 1
_NOTHING = 1e-30  # keeps the logarithm of a loss finite


class Outputs:
    """The objective "outputs" for nested sizes: the sum of the logarithms of their losses over rows."""

    def __init__(
        self, machine: Machine, rows: Floats, sizes: Sequence[int], seed: int, outputs: Floats | None = None
    ) -> None:
        """outputs: the machine's outputs for the rows, if the caller has them."""
        self.sizes = sizes
        self._machine = machine
        self.kernel, self._kernel_scale = unit_kernel(machine.kernel, machine.points)
        _require_single(self.kernel, rows)
        self._rows, self._axes = rows, PrincipalAxes.of(machine.points)
        self._single = (rows if self._axes is None else self._axes.of_rows(rows)).astype(np.float32)
        self._batch = min(max(_ROWS_A_VECTOR * sizes[-1], _LEAST_BATCH), _MOST_BATCH, len(rows))
        bare = replace(machine, bias=np.zeros_like(machine.bias))
        sums = FullSum(bare).outputs(rows) if outputs is None else outputs - machine.bias
        self._size = power_of_two(sums)
        self._targets = sums / self._size
        self._importance = importance(machine.rule, sums + machine.bias)
        self._chances = np.cumsum(self._importance) / self._importance.sum()
        self._random = np.random.default_rng(seed)
        self._rate = _FIRST_RATE * float(np.sqrt(machine.points.var(axis=0).mean()))

    def minimise(self, start: Floats, say: Callable[[int], None]) -> Floats:
        """Vectors whose outputs are close to the machine's, optimised from `start`."""
        first = start if self._axes is None else self._axes.of_vectors(start)
        steps = steps_for(len(start))
        found = adam.minimise(self._batch_loss, first.astype(np.float32), self._rate, steps, say).astype(np.float64)
        return np.asarray(found if self._axes is None else self._axes.vectors(found))

    def weights(self, vectors: Floats) -> list[Floats]:
        """The best weights for every size, over all rows.

        If the kernel is so smooth that its values hardly differ, ridge regression cannot separate the vectors, but the
        projection of w can. So both are computed, and the weights with the smaller error are taken.
        """
        scale = self._size / self._kernel_scale
        fitted = [w * scale for w in least_squares(lambda: self._blocks(vectors), self.sizes, _RIDGE * len(self._rows))]
        if not self._machine.kernel.positive_semidefinite:
            return fitted
        projected = projections(self._machine, vectors, self.sizes)
        errors = self._errors(vectors, [w / scale for w in (*fitted, *projected)])
        half = len(fitted)
        each = zip(fitted, projected, errors[:half], errors[half:], strict=True)
        return [ours if error <= other else theirs for ours, theirs, error, other in each]

    def better(self, *fits: tuple[Floats, list[Floats]]) -> tuple[Floats, list[Floats]]:
        """The vectors and weights with the least loss, over all sizes."""
        scale = self._kernel_scale / self._size
        return min(fits, key=lambda fit: np.log(self._errors(fit[0], [w * scale for w in fit[1]]) + _NOTHING).sum())

    def _errors(self, vectors: Floats, candidates: Sequence[Floats]) -> Floats:
        """The squared error of each of the candidate weights for the first vectors, over all rows."""
        errors = np.zeros(len(candidates))
        for values, targets in self._blocks(vectors):
            errors += [np.square(values[:, : len(w)] @ w - targets).sum() for w in candidates]
        return errors

    def _batch_loss(self, vectors: Array) -> tuple[float, Array]:
        """Loss and gradient on a random batch of rows."""
        few = np.searchsorted(self._chances, self._random.random(self._batch))
        few = np.minimum(few, len(self._rows) - 1)
        derivatives = KernelDerivatives.of(self.kernel, self._single[few], vectors)
        value, by_values = loss(derivatives.values, self._targets[few].astype(np.float32), self.sizes)
        gradient = derivatives.gradient(by_values)
        if self._axes is not None:
            gradient[:, -1] = 0.0  # vectors stay within the axes
        return value, gradient

    def _blocks(self, vectors: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Kernel values and targets of all rows, block by block, weighted by the square root of importance."""
        for start in range(0, len(self._rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            root = np.sqrt(self._importance[block])[:, None]
            values = KernelDerivatives.of(self.kernel, self._rows[block], vectors).values
            yield root * values, root * self._targets[block]


def steps_for(n: int) -> int:
    """How many steps n vectors are moved."""
    return int(_STEPS * min(1.0, (_MANY_VECTORS / n) ** 0.5))


def work_of(n: int, features: int, outputs: int, rows: int) -> float:
    """About how many multiply-adds it takes to fit n vectors on rows: in steps, and for the weights."""
    step = _MOST_BATCH * n * (2.0 * features + n + 2.0 * outputs)
    weights = rows * n * (3.0 * features + n + 3.0 * outputs)
    return steps_for(n) * step + weights


def _require_single(kernel: Kernel, rows: Floats) -> None:
    """Raise CannotFit for rows whose kernel values, or the squares of these, overflow in float32."""
    with np.errstate(over="ignore"):
        own = np.einsum("ij,ij->i", rows, rows) if isinstance(kernel, Radial) else kernel.diagonal(rows)
    far = own >= _TOO_LARGE
    if far.any():
        raise CannotFit(
            f"{far.sum():,} rows have values of up to {np.abs(rows[far]).max():.2g} times the size usual among support "
            "vectors, and nothing can be fitted beside those: leave them out, or fit in norm, objective='norm'"
        )


def loss(values: Array, targets: Array, sizes: Sequence[int]) -> tuple[float, Array]:
    """The sum over sizes of the log error with the best weights, and its derivative with respect to the values."""
    ridge = _RIDGE * len(values)
    normal, right = (values.T @ part for part in (values, targets))
    normal, right = normal.astype(np.float64), right.astype(np.float64)
    normal[np.diag_indices_from(normal)] += ridge
    total, by_values, rounding = 0.0, np.empty_like(values), float(np.finfo(values.dtype).eps)
    for n in reversed(sizes):  # the last and largest, which is usually the only one, sets all columns
        weights = solve_gram(positive_factor(normal[:n, :n], rounding), right[:n])
        single = weights.astype(values.dtype)
        error = values[:, :n] @ single - targets
        left = float(np.square(error, dtype=np.float64).sum() + ridge * np.square(weights).sum()) + _NOTHING
        total += np.log(left / targets.size)
        slope = (single * (2 / left)).T
        if n == sizes[-1]:
            np.matmul(error, slope, out=by_values)
        else:
            by_values[:, :n] += error @ slope
    return total, by_values

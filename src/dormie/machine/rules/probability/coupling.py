"""LIBSVM's probabilities: Platt's sigmoid of every pair's output, then pairwise coupling.

The coupling of Wu, Lin & Weng (2004) minimises p'Qp over probabilities p, where Q_tt = sum_j r_jt^2 and
Q_tj = -r_jt r_tj for the probabilities r of pairs. LIBSVM does so by an iteration that stops at an error of 0.005 / k,
up to 3e-3 before the solution. So its steps are repeated here, one by one and in its order. Where it stops may change
with the last bit of an output: no interval of the outputs but a point bounds the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.typing import Booleans, Floats, frozen_floats

_LEAST = 1e-7  # of the probability of a pair
_ERROR = 0.005  # times 1 / k: where the iteration stops
_VALUES_AT_ONCE = 1 << 18  # probabilities of pairs: a few arrays of 2 MiB stay in the cache
_MOST_STEPS = 100  # or the number of classes, if that is more


@dataclass(frozen=True, eq=False)
class Coupled(ProbabilityMap):
    """LIBSVM's probabilities of k classes from the outputs of their pairs.

    slopes, intercepts: of the sigmoid of each pair (LIBSVM's probA and probB), for outputs in LIBSVM's sign
    order: for each class, the position of its probability in LIBSVM's own order
    flipped: whether the outputs have the other sign than LIBSVM's
    two_by_iteration: whether two classes are coupled by the iteration too, as in old versions of LIBSVM
    """

    slopes: Floats
    intercepts: Floats
    order: tuple[int, ...]
    flipped: bool = False
    two_by_iteration: bool = False

    def __post_init__(self) -> None:
        for name in ("slopes", "intercepts"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name), f"Coupled: {name}"))
        object.__setattr__(self, "order", tuple(self.order))
        k = len(self.order)
        pairs = k * (k - 1) // 2
        if k < 2 or self.slopes.shape != (pairs,) or self.intercepts.shape != (pairs,):
            raise ValueError(f"Coupled: {k} classes have {pairs} slopes and intercepts, one for each pair")
        if sorted(self.order) != list(range(k)):
            raise ValueError(f"Coupled: order must have each of 0 to {k - 1} once, got {self.order}")

    @property
    def certifiable(self) -> bool:
        return False

    @property
    def n_classes(self) -> int:
        return len(self.order)

    @property
    def n_outputs(self) -> int:
        return len(self.slopes)

    def values(self, outputs: Floats) -> Floats:
        found = np.empty((len(outputs), self.n_classes))
        size = max(1, _VALUES_AT_ONCE // self.n_classes**2)
        for start in range(0, len(outputs), size):
            found[start : start + size] = self._coupled(outputs[start : start + size])
        return found

    def _coupled(self, outputs: Floats) -> Floats:
        pairs = self._pairs(-outputs if self.flipped else outputs)
        if self.n_classes == 2 and not self.two_by_iteration:
            found = np.column_stack([pairs[:, 0, 1], pairs[:, 1, 0]])
        else:
            found = couple(pairs)
        return found[:, self.order]

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 - nothing is known
        unknown = np.full((len(low), self.n_classes), np.inf)
        return -unknown, unknown

    def _pairs(self, outputs: Floats) -> Floats:
        """r_ij, the probability of i among i and j: rows x classes x classes."""
        k = self.n_classes
        chances = np.clip(_sigmoid(outputs * self.slopes + self.intercepts), _LEAST, 1 - _LEAST)
        pairs = np.zeros((len(outputs), k, k))
        first, second = np.triu_indices(k, 1)
        pairs[:, first, second], pairs[:, second, first] = chances, 1 - chances
        return pairs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coupled):
            return NotImplemented
        same = (self.order, self.flipped, self.two_by_iteration) == (other.order, other.flipped, other.two_by_iteration)
        return same and np.array_equal([self.slopes, self.intercepts], [other.slopes, other.intercepts])


def _sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(z)) in LIBSVM's two forms, neither of which overflows."""
    power = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, power, 1.0) / (1.0 + power))


def couple(pairs: Floats) -> Floats:
    """LIBSVM's iteration, for all rows at once; a row that has stopped stays as it is."""
    k = pairs.shape[1]
    q = _quadratic_form(pairs)
    found = np.full((len(pairs), k), 1.0 / k)
    going = np.ones(len(pairs), dtype=np.bool_)
    for _ in range(max(_MOST_STEPS, k)):
        going = going & ~_near_solution(q, found, going)
        if not going.any():
            break
        found[going] = _swept(q[going], found[going])
    return found


def _quadratic_form(pairs: Floats) -> Floats:
    """Q of every row, its sums in LIBSVM's order."""
    k = pairs.shape[1]
    q = -np.swapaxes(pairs, 1, 2) * pairs
    for t in range(k):
        diagonal = np.zeros(len(pairs))
        for j in range(k):
            if j != t:
                diagonal = diagonal + pairs[:, j, t] * pairs[:, j, t]
        q[:, t, t] = diagonal
    return q


def _products(q: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Qp and p'Qp, summed one term after the other."""
    k = p.shape[1]
    products, total = np.zeros_like(p), np.zeros(len(p))
    for j in range(k):
        products = products + q[:, :, j] * p[:, j, None]
    for t in range(k):
        total = total + p[:, t] * products[:, t]
    return products, total


def _near_solution(q: Floats, found: Floats, going: Booleans) -> Booleans:
    """Which rows stop: those whose largest error is below the threshold."""
    stopped = np.zeros(len(found), dtype=np.bool_)
    products, total = _products(q[going], found[going])
    error = np.abs(products - total[:, None]).max(axis=1, initial=0.0)
    stopped[going] = error < _ERROR / found.shape[1]
    return stopped


def _swept(q: Floats, p: Floats) -> Floats:
    """One step for every class in turn."""
    p = p.copy()
    products, total = _products(q, p)
    for t in range(p.shape[1]):
        own = q[:, t, t]
        change = (-products[:, t] + total) / own
        p[:, t] += change
        total = (total + change * (change * own + 2 * products[:, t])) / (1 + change) / (1 + change)
        products = (products + change[:, None] * q[:, t, :]) / (1 + change)[:, None]
        p /= (1 + change)[:, None]
    return p

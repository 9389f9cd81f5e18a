"""Kernels as small values: what they compute, and what may be assumed of them.

A bound that rests on geometry (Cauchy-Schwarz, projections) asks `positive_semidefinite` first; a one-sided
bound asks `nonnegative`. `matrix` is the obvious NumPy form, the oracle for the native tiles.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RBF", "Custom", "Kernel", "Linear", "Normalized", "Polynomial", "Sigmoid"]

Matrix = npt.NDArray[np.float64]

_HIGHEST_DEGREE = 10**6  # far beyond where powers mean anything, and within the whole numbers of the native core


class Kernel(ABC):
    """A kernel function K(u, v)."""

    @abstractmethod
    def matrix(self, a: Any, b: Any) -> Matrix:
        """K of every row of `a` with every row of `b`."""

    @abstractmethod
    def diagonal(self, a: Any) -> Matrix:
        """K(u, u) for every row of `a`."""

    @property
    @abstractmethod
    def positive_semidefinite(self) -> bool:
        """Whether K is an inner product in some feature space, whatever the rows."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether K(u, v) >= 0 for all u, v."""

    @property
    def is_python(self) -> bool:
        """Whether K is a Python function: its rounding is not known, and rows are whatever it understands."""
        return False

    @property
    def certifiable(self) -> bool:
        """Whether geometric bounds can be certified: K is an inner product, and its rounding is known."""
        return self.positive_semidefinite and not self.is_python


def _require_finite(kernel: object, **parameters: float) -> None:
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ValueError(f"{type(kernel).__name__}: {name} must be finite, got {value}")


def _require_positive_gamma(kernel: object, gamma: float) -> None:
    _require_finite(kernel, gamma=gamma)
    if gamma <= 0:
        raise ValueError(f"{type(kernel).__name__}: gamma must be positive, got {gamma}")


@dataclass(frozen=True)
class Linear(Kernel):
    """K(u, v) = u.v"""

    def matrix(self, a: Any, b: Any) -> Matrix:
        return np.asarray(a @ b.T)

    def diagonal(self, a: Any) -> Matrix:
        return np.asarray(np.einsum("ij,ij->i", a, a))

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return False


@dataclass(frozen=True)
class Polynomial(Kernel):
    """K(u, v) = (gamma u.v + coef0) ** degree, for a whole degree from 1 to a million."""

    gamma: float
    coef0: float = 0.0
    degree: int = 3

    def __post_init__(self) -> None:
        _require_positive_gamma(self, self.gamma)
        _require_finite(self, coef0=self.coef0)
        if not 1 <= self.degree <= _HIGHEST_DEGREE or self.degree != int(self.degree):
            highest = _HIGHEST_DEGREE
            raise ValueError(f"Polynomial: degree must be a whole number from 1 to {highest:,}, got {self.degree}")
        object.__setattr__(self, "degree", int(self.degree))

    def matrix(self, a: Any, b: Any) -> Matrix:
        return np.asarray((self.gamma * (a @ b.T) + self.coef0) ** self.degree)

    def diagonal(self, a: Any) -> Matrix:
        return np.asarray((self.gamma * np.einsum("ij,ij->i", a, a) + self.coef0) ** self.degree)

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    @property
    def nonnegative(self) -> bool:
        return self.degree % 2 == 0


@dataclass(frozen=True)
class RBF(Kernel):
    """K(u, v) = exp(-gamma |u - v|^2)"""

    gamma: float

    def __post_init__(self) -> None:
        _require_positive_gamma(self, self.gamma)

    def matrix(self, a: Any, b: Any) -> Matrix:
        from scipy.spatial.distance import cdist  # here: it takes longer to import than all of dormie

        return np.asarray(np.exp(-self.gamma * cdist(a, b, "sqeuclidean")))

    def diagonal(self, a: Any) -> Matrix:
        return np.ones(len(a))

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return True


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """K(u, v) = tanh(gamma u.v + coef0): not an inner product, so no geometric bound may use it."""

    gamma: float
    coef0: float = 0.0

    def __post_init__(self) -> None:
        _require_finite(self, gamma=self.gamma, coef0=self.coef0)

    def matrix(self, a: Any, b: Any) -> Matrix:
        return np.asarray(np.tanh(self.gamma * (a @ b.T) + self.coef0))

    def diagonal(self, a: Any) -> Matrix:
        return np.asarray(np.tanh(self.gamma * np.einsum("ij,ij->i", a, a) + self.coef0))

    @property
    def positive_semidefinite(self) -> bool:
        return False

    @property
    def nonnegative(self) -> bool:
        return False


@dataclass(frozen=True)
class Normalized(Kernel):
    """K(u, v) / sqrt(K(u, u) K(v, v)) of an inner kernel; 0 where either vector has K = 0 with itself."""

    kernel: Linear | Polynomial | RBF

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Linear | Polynomial | RBF) or not self.kernel.positive_semidefinite:
            raise ValueError(
                f"Normalized needs a linear, polynomial (coef0 >= 0) or RBF kernel inside, got {self.kernel!r}"
            )

    def scale(self, a: Any) -> Matrix:
        """1 / sqrt(K(u, u)) for every row, 0 where K(u, u) is 0."""
        root = np.sqrt(self.kernel.diagonal(a))
        return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)

    def matrix(self, a: Any, b: Any) -> Matrix:
        return self.scale(a)[:, None] * self.kernel.matrix(a, b) * self.scale(b)

    def diagonal(self, a: Any) -> Matrix:
        return (self.kernel.diagonal(a) > 0).astype(np.float64)

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return self.kernel.nonnegative


@dataclass(frozen=True)
class Custom(Kernel):
    """Any Python function of two batches of rows that returns their kernel matrix. Reference path only."""

    function: Callable[[Any, Any], Any]
    positive_semidefinite: bool = False
    nonnegative: bool = False

    @property
    def is_python(self) -> bool:
        return True

    def matrix(self, a: Any, b: Any) -> Matrix:
        values = np.asarray(self.function(a, b), dtype=np.float64)
        if values.shape != (len(a), len(b)):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for {len(a)} and {len(b)} rows; "
                f"it must return their kernel matrix, shape ({len(a)}, {len(b)})"
            )
        return values

    def diagonal(self, a: Any) -> Matrix:
        return np.array([self.matrix(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])

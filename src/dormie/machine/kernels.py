"""Kernel functions K(u, v), and the properties of each that bounds may rely on.

Bounds that use geometry (Cauchy-Schwarz, projections) require `positive_semidefinite`; one-sided bounds require
`nonnegative`, or `nonnegative_in_orthant` and vectors without negative coordinates. `matrix` computes a kernel matrix
with NumPy, and tests compare the native core with it.

"How to add a kernel" in CONTRIBUTING.md lists what a new kernel needs besides a class here: every guarantee rests on
bounds of its rounding. Until it has them, `Custom` serves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dormie.machine.distance_kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Laplacian,
    Matern,
    OfDifferences,
    Radial,
    RationalQuadratic,
)
from dormie.machine.kernel import Kernel, require_finite, require_positive_gamma
from dormie.machine.kernel_memory import memory_of
from dormie.machine.sparse_points import squared_norms
from dormie.machine.typing import Floats

__all__ = [
    "RBF",
    "AdditiveChi2",
    "Chi2",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "OfDifferences",
    "Polynomial",
    "Radial",
    "RationalQuadratic",
    "Sigmoid",
]


LARGEST_VALUE_ERROR = 1e-3  # of a Python kernel: beyond that, bounds of second order would no longer be small
HIGHEST_DEGREE = 10**6  # far beyond any useful degree, and small enough for the integers of the native core


@dataclass(frozen=True)
class Linear(Kernel):
    """
    The linear kernel, K(u, v) = u.v.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Linear
    >>> Linear().matrix(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """

    def matrix(self, a: Any, b: Any) -> Floats:
        return np.asarray(a @ b.T)

    def diagonal(self, a: Any) -> Floats:
        return np.asarray(squared_norms(a))

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return False

    @property
    def nonnegative_in_orthant(self) -> bool:
        return True


@dataclass(frozen=True)
class Polynomial(Kernel):
    """
    The polynomial kernel, K(u, v) = (gamma u.v + coef0)^degree.

    Parameters
    ----------
    gamma : float
        Positive factor of the inner product.
    coef0 : float, default=0.0
        Constant term. A negative one makes the kernel indefinite, and geometric bounds are then not used.
    degree : int, default=3
        Integer power, from 1 to 1,000,000.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Polynomial
    >>> Polynomial(gamma=1.0, coef0=1.0, degree=2).matrix(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    gamma: float
    coef0: float = 0.0
    degree: int = 3

    def __post_init__(self) -> None:
        require_positive_gamma(self, self.gamma)
        require_finite(self, coef0=self.coef0)
        if not 1 <= self.degree <= HIGHEST_DEGREE or self.degree != int(self.degree):
            highest = HIGHEST_DEGREE
            raise ValueError(f"Polynomial: degree must be a whole number from 1 to {highest:,}, got {self.degree}")
        object.__setattr__(self, "degree", int(self.degree))

    def matrix(self, a: Any, b: Any) -> Floats:
        return np.asarray((self.gamma * (a @ b.T) + self.coef0) ** self.degree)

    def diagonal(self, a: Any) -> Floats:
        return np.asarray((self.gamma * squared_norms(a) + self.coef0) ** self.degree)

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    @property
    def nonnegative(self) -> bool:
        return self.degree % 2 == 0

    @property
    def nonnegative_in_orthant(self) -> bool:
        return self.nonnegative or self.coef0 >= 0


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """
    The sigmoid kernel, K(u, v) = tanh(gamma u.v + coef0).

    It is not an inner product, so geometric bounds are never used with it.

    Parameters
    ----------
    gamma : float
        Factor of the inner product.
    coef0 : float, default=0.0
        Constant term.

    Raises
    ------
    ValueError
        If a parameter is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Sigmoid
    >>> Sigmoid(0.5).matrix(np.array([[1.0, 2.0]]), np.array([[2.0, 0.0]])).round(4)
    array([[0.7616]])
    """

    gamma: float
    coef0: float = 0.0

    def __post_init__(self) -> None:
        require_finite(self, gamma=self.gamma, coef0=self.coef0)

    def matrix(self, a: Any, b: Any) -> Floats:
        return np.asarray(np.tanh(self.gamma * (a @ b.T) + self.coef0))

    def diagonal(self, a: Any) -> Floats:
        return np.asarray(np.tanh(self.gamma * squared_norms(a) + self.coef0))

    @property
    def positive_semidefinite(self) -> bool:
        return False

    @property
    def nonnegative(self) -> bool:
        return False


@dataclass(frozen=True)
class Normalized(Kernel):
    """
    A kernel divided by the lengths of its feature vectors, K(u, v) / sqrt(K(u, u) K(v, v)).

    It is 0 where K(u, u) or K(v, v) is 0.

    Parameters
    ----------
    kernel : Linear, Polynomial or RBF
        The kernel K to normalise. A polynomial one needs coef0 >= 0.

    Raises
    ------
    ValueError
        If the kernel is of another kind, or a polynomial with a negative coef0.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Linear, Normalized
    >>> Normalized(Linear()).matrix(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [0.0, 2.0]]))
    array([[1. , 0.8]])
    """

    kernel: Linear | Polynomial | RBF

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Linear | Polynomial | RBF) or not self.kernel.positive_semidefinite:
            raise ValueError(
                f"Normalized needs a linear, polynomial (coef0 >= 0) or RBF kernel inside, got {self.kernel!r}"
            )

    def scale(self, a: Any) -> Floats:
        """
        Compute the factor that normalises each row.

        Parameters
        ----------
        a : ndarray of shape (n, d)
            The rows u.

        Returns
        -------
        ndarray of shape (n,)
            1 / sqrt(K(u, u)), and 0 where K(u, u) is 0.
        """
        root = np.sqrt(self.kernel.diagonal(a))
        return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)

    def matrix(self, a: Any, b: Any) -> Floats:
        return self.scale(a)[:, None] * self.kernel.matrix(a, b) * self.scale(b)

    def diagonal(self, a: Any) -> Floats:
        return (self.kernel.diagonal(a) > 0).astype(np.float64)

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return self.kernel.nonnegative

    @property
    def nonnegative_in_orthant(self) -> bool:
        return self.kernel.nonnegative_in_orthant


@dataclass(frozen=True)
class Custom(Kernel):
    """
    A kernel given as a Python function of two sets of rows.

    Machines with such a kernel are evaluated by calling the function, not in the native core. Rows may be objects of
    any type that the function accepts. The object can be called like the function: `SVC(kernel=Custom(...))` trains
    with it, and what is stated here is then known of the trained model too.

    Parameters
    ----------
    function : callable
        `function(a, b)` returns the kernel matrix of two sets of rows, of shape `(len(a), len(b))`. A value must depend
        on its two rows alone, not on the others in the sets.
    positive_semidefinite : bool, default=False
        Whether the function is an inner product in some feature space, up to `value_error`. If it is, rows may stop
        early and keep their answers.
    nonnegative : bool, default=False
        Whether the kernel is never negative.
    value_error : float, default=2**-48
        How far a value may lie from the exact kernel, relative to sqrt(K(u, u) K(v, v)); used where the kernel is
        positive semi-definite. By default 32 rounding units of float64. A sum of n products of floats needs about n of
        them, a kernel in float32 about 1e-6.
    self_similarity : float or None, default=None
        K(x, x), if it is the same number for every x (1 if the kernel is normalised), or an upper bound on it. By
        default the function is called with every row and itself: one evaluation more.

    Raises
    ------
    ValueError
        If `value_error` is negative or 0.001 or more, or if `self_similarity` is not positive and finite.

    Examples
    --------
    >>> from dormie.kernels import Custom
    >>> def shared_letters(a, b):
    ...     return [[len(set(u) & set(v)) for v in b] for u in a]
    >>> Custom(shared_letters, positive_semidefinite=True, nonnegative=True).matrix(["golf"], ["wolf", "par"])
    array([[3., 0.]])

    A machine that was read with a bare function, and the statement made afterwards:

    >>> from dataclasses import replace
    >>> import dormie
    >>> machine = dormie.Machine(Custom(shared_letters), ["wolf", "par"], [1.0, -1.0], 0.0, dormie.rules.Sign([0, 1]))
    >>> machine = replace(machine, kernel=replace(machine.kernel, positive_semidefinite=True, value_error=0.0))
    >>> machine.kernel.positive_semidefinite
    True
    """

    function: Callable[[Any, Any], Any]
    positive_semidefinite: bool = False
    nonnegative: bool = False
    value_error: float = 2.0**-48
    self_similarity: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.value_error < LARGEST_VALUE_ERROR:
            raise ValueError(
                f"Custom: value_error must be at least 0 and less than {LARGEST_VALUE_ERROR:g}, got {self.value_error}"
            )
        if self.self_similarity is not None and not 0 < self.self_similarity < math.inf:
            raise ValueError(f"Custom: self_similarity must be positive and finite, got {self.self_similarity}")

    def __call__(self, a: Any, b: Any) -> Floats:
        return self.matrix(a, b)

    def __repr__(self) -> str:
        stated = [
            f"{each.name}={value}" for each in fields(self)[1:] if (value := getattr(self, each.name)) != each.default
        ]
        return f"Custom({', '.join([getattr(self.function, '__name__', repr(self.function)), *stated])})"

    @property
    def is_python(self) -> bool:
        return True

    @property
    def evaluations_of_diagonal(self) -> int:
        return 1 if self.self_similarity is None else 0

    def matrix(self, a: Any, b: Any) -> Floats:
        """
        Return the kernel matrix of two sets of rows, as the function gives it.

        Parameters
        ----------
        a : sequence of n objects
            Rows.
        b : sequence of m objects
            Other rows.

        Returns
        -------
        ndarray of shape (n, m)
            The kernel values, as float64.

        Raises
        ------
        ValueError
            If the function returns a matrix of another shape.
        """
        memory = memory_of(self)
        if memory is not None:
            return memory.matrix(a, b)
        values = np.asarray(self.function(a, b), dtype=np.float64)
        if values.shape != (len(a), len(b)):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for {len(a)} and {len(b)} rows; "
                f"it must return their kernel matrix, shape ({len(a)}, {len(b)})"
            )
        return values

    def diagonal(self, a: Any) -> Floats:
        """
        Return K(x, x) of every row: as it was stated, or by one call of the function for each.

        Parameters
        ----------
        a : sequence of n objects
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            The kernel values, as float64.

        Raises
        ------
        ValueError
            If the function returns a matrix of another shape than (1, 1).
        """
        if self.self_similarity is not None:
            return np.full(len(a), float(self.self_similarity))
        memory = memory_of(self)
        if memory is not None:
            return memory.diagonal(a)
        return np.array([self.matrix(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])

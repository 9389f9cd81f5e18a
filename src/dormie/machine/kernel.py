"""What all kernel functions have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from dormie.machine.typing import Floats


class Kernel(ABC):
    """
    A kernel function K(u, v): the base class of all kernels.

    Examples
    --------
    >>> from dormie.kernels import RBF, Kernel, Sigmoid
    >>> isinstance(RBF(0.5), Kernel)
    True
    >>> RBF(0.5).positive_semidefinite, Sigmoid(0.5).positive_semidefinite
    (True, False)
    """

    @abstractmethod
    def matrix(self, a: Any, b: Any) -> Floats:
        """
        Compute the kernel matrix of two sets of rows.

        Parameters
        ----------
        a : ndarray of shape (n, d)
            The rows u.
        b : ndarray of shape (m, d)
            The rows v.

        Returns
        -------
        ndarray of shape (n, m)
            K(u, v) of every row of `a` with every row of `b`.
        """

    @abstractmethod
    def diagonal(self, a: Any) -> Floats:
        """
        Compute K(u, u) of every row.

        Parameters
        ----------
        a : ndarray of shape (n, d)
            The rows u.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal of `matrix(a, a)`.
        """

    @property
    @abstractmethod
    def positive_semidefinite(self) -> bool:
        """Whether K is an inner product in some feature space, for rows of any kind."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether K(u, v) >= 0 for all u, v."""

    @property
    def nonnegative_in_orthant(self) -> bool:
        """Whether K(u, v) >= 0 for all vectors u, v without negative coordinates."""
        return self.nonnegative

    @property
    def is_python(self) -> bool:
        """Whether K is a Python function: then evaluations are dear, and rows may be objects of any type."""
        return False

    @property
    def of_inner_products(self) -> bool:
        """Whether K(u, v) is worked out from u.v, u.u and v.v, and not from differences of coordinates."""
        return not self.is_python

    @property
    def has_derivative(self) -> bool:
        """Whether the derivative of K(u, v) with respect to u is known, everywhere or but for single points u."""
        return not self.is_python

    def require_domain(self, rows: Any, where: str = "") -> None:  # noqa: B027 - most kernels take any vectors
        """
        Raise an error for rows that the kernel is not defined for.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Rows, in mapped coordinates.
        where : str, default=""
            What the rows are, for the error.

        Raises
        ------
        ValueError
            Naming the first row and column.
        """

    @property
    def evaluations_of_diagonal(self) -> int:
        """How many kernel evaluations K(x, x) of a row takes: 0 if it is known without any."""
        return 0


def require_finite(kernel: object, **parameters: float) -> None:
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ValueError(f"{type(kernel).__name__}: {name} must be finite, got {value}")


def require_positive_gamma(kernel: object, gamma: float) -> None:
    require_finite(kernel, gamma=gamma)
    if gamma <= 0:
        raise ValueError(f"{type(kernel).__name__}: gamma must be positive, got {gamma}")

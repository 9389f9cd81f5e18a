"""Kernels of how far two vectors are apart: of their squared distance, or of differences coordinate by coordinate.

A radial kernel is f(t) of t = gamma |u - v|^2, with f falling from f(0) = 1. What bounds need to know of f is here:

    kernel               f(t), z = sqrt(t)               gamma              -f'(t)
    RBF                  exp(-t)                         gamma              f(t)
    Matern, nu = 1/2     exp(-z)                         1 / l^2            exp(-z) / (2 z)
    Matern, nu = 3/2     (1 + z) exp(-z)                 3 / l^2            exp(-z) / 2
    Matern, nu = 5/2     (1 + z + z^2 / 3) exp(-z)       5 / l^2            (1 + z) exp(-z) / 6
    RationalQuadratic    (1 + t)^-alpha                  1 / (2 alpha l^2)  alpha (1 + t)^(-alpha - 1)

In every case t (-f'(t)) is at most 0.37: a relative error of t does no more harm than that.

A Matern kernel with nu = 1/2 is infinitely steep in t at 0, but not in the distance itself. So it is worked out from
differences, whose rounding is proportional to the distance, and never from |u|^2 - 2 u.v + |v|^2, which cancels there.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.kernel import Kernel, require_finite, require_positive_gamma
from dormie.machine.typing import Floats

_BLOCK = 1 << 22  # numbers at work at once


class _Similarity(Kernel):
    """Inner products between 0 and 1, which are 1 for equal vectors."""

    def diagonal(self, a: Any) -> Floats:
        return np.ones(a.shape[0])

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def nonnegative(self) -> bool:
        return True


class Radial(_Similarity):
    """
    A kernel that falls with the squared distance, ``K(u, v) = f(gamma |u - v|^2), f(0) = 1``: the base class of these.

    Examples
    --------
    >>> from dormie.kernels import RBF, Matern, Radial
    >>> isinstance(RBF(0.5), Radial), isinstance(Matern(1.5), Radial)
    (True, True)
    """

    gamma: float

    @abstractmethod
    def profile(self, t: Any) -> Any:
        """
        Compute f(t).

        Parameters
        ----------
        t : ndarray
            Squared distances times gamma.

        Returns
        -------
        ndarray
            Kernel values.
        """

    @abstractmethod
    def fall(self, t: Any, values: Any) -> Any:
        """
        Compute -f'(t).

        Parameters
        ----------
        t : ndarray
            Squared distances times gamma.
        values : ndarray
            f(t).

        Returns
        -------
        ndarray
            How steeply f falls at t; 0 where it has no derivative.
        """

    @property
    @abstractmethod
    def slope(self) -> float:
        """At least the largest change of K for a unit of distance."""

    @property
    @abstractmethod
    def log_fall(self) -> float | None:
        """At least -f'(t) / f(t), the relative change of K for a unit of t; None where that has no bound."""

    @property
    def value_roundings(self) -> float:
        """How many rounding units, relative to the value, working out f(t) in float64 loses besides those of t."""
        return 20.0

    def matrix(self, a: Any, b: Any) -> Floats:
        from scipy.spatial.distance import cdist  # here: it takes longer to import than all of dormie

        return np.asarray(self.profile(self.gamma * cdist(a, b, "sqeuclidean")))


@dataclass(frozen=True)
class RBF(Radial):
    """
    The Gaussian kernel, ``K(u, v) = exp(-gamma |u - v|^2)``.

    Parameters
    ----------
    gamma : float
        Positive inverse width: 1 / (2 sigma^2) of a Gaussian with standard deviation sigma.

    Raises
    ------
    ValueError
        If gamma is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import RBF
    >>> RBF(0.5).matrix(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.6065]])
    """

    gamma: float

    def __post_init__(self) -> None:
        require_positive_gamma(self, self.gamma)

    def profile(self, t: Any) -> Any:
        return np.exp(-t)

    def fall(self, t: Any, values: Any) -> Any:  # noqa: ARG002 - f is its own derivative
        return values

    @property
    def slope(self) -> float:
        return 0.858 * math.sqrt(self.gamma)  # of exp(-z^2): sqrt(2 / e), rounded up

    @property
    def log_fall(self) -> float:
        return 1.0


_STEEPEST = {0.5: 1.0, 1.5: 0.368, 2.5: 0.281}  # of f as a function of z: at 0, 1, (1 + sqrt(5)) / 2; rounded up
_LOG_FALL = {0.5: None, 1.5: 0.5, 2.5: 1 / 6}  # -f'(t) / f(t) is largest at 0


@dataclass(frozen=True)
class Matern(Radial):
    """
    A Matérn kernel, with ``z = sqrt(2 nu) |u - v| / length_scale``.

    K(u, v) is exp(-z) for nu = 0.5, (1 + z) exp(-z) for nu = 1.5, and (1 + z + z^2 / 3) exp(-z) for nu = 2.5.

    Parameters
    ----------
    nu : float
        Smoothness: 0.5, 1.5 or 2.5. With nu = infinity the kernel is `RBF(0.5 / length_scale**2)`.
    length_scale : float, default=1.0
        Positive.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Matern
    >>> Matern(0.5, 2.0).matrix(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 2.0]])).round(4)
    array([[1.    , 0.3679]])
    """

    nu: float
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.nu not in _STEEPEST:
            advice = ": use RBF(0.5 / length_scale**2)" if self.nu == math.inf else ""
            raise ValueError(f"Matern: nu must be 0.5, 1.5 or 2.5, got {self.nu}{advice}")
        _require_length_scale(self, self.length_scale, 2 * self.nu)

    @property
    def gamma(self) -> float:  # type: ignore[override]
        """The factor of the squared distance, 2 nu / length_scale^2."""
        return 2 * self.nu / self.length_scale**2

    def profile(self, t: Any) -> Any:
        z = np.sqrt(t)
        if self.nu == 0.5:
            return np.exp(-z)
        return (1 + z if self.nu == 1.5 else 1 + z + t / 3) * np.exp(-z)

    def fall(self, t: Any, values: Any) -> Any:
        z = np.sqrt(t)
        if self.nu == 0.5:
            return np.divide(values, 2 * z, out=np.zeros_like(z), where=z > 0)
        return np.exp(-z) / 2 if self.nu == 1.5 else (1 + z) * np.exp(-z) / 6

    @property
    def slope(self) -> float:
        return _STEEPEST[self.nu] * math.sqrt(self.gamma)

    @property
    def log_fall(self) -> float | None:
        return _LOG_FALL[self.nu]

    @property
    def of_inner_products(self) -> bool:
        return self.nu > 0.5


@dataclass(frozen=True)
class RationalQuadratic(Radial):
    """
    The rational quadratic kernel, ``K(u, v) = (1 + |u - v|^2 / (2 alpha length_scale^2))^-alpha``.

    Parameters
    ----------
    alpha : float
        Positive: the larger, the closer to an RBF kernel.
    length_scale : float, default=1.0
        Positive.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0).matrix(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 2.0]])).round(4)
    array([[1.    , 0.3333]])
    """

    alpha: float
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        require_finite(self, alpha=self.alpha)
        if not self.alpha > 0:
            raise ValueError(f"RationalQuadratic: alpha must be positive, got {self.alpha}")
        _require_length_scale(self, self.length_scale, 0.5 / self.alpha)

    @property
    def gamma(self) -> float:  # type: ignore[override]
        """The factor of the squared distance, 1 / (2 alpha length_scale^2)."""
        return 0.5 / self.alpha / self.length_scale**2

    def profile(self, t: Any) -> Any:
        return np.exp(-self.alpha * np.log1p(t))

    def fall(self, t: Any, values: Any) -> Any:
        return self.alpha * values / (1 + t)

    @property
    def slope(self) -> float:
        # In z the slope 2 alpha z (1 + z^2)^(-alpha - 1) is largest at z^2 = 1 / (2 alpha + 1), and less than this.
        return math.sqrt(2 * self.alpha) * math.sqrt(self.gamma)

    @property
    def log_fall(self) -> float:
        return self.alpha

    @property
    def value_roundings(self) -> float:
        return 20.0 + 3 * self.alpha  # the sum 1 + t is rounded, and raised to the power


class OfDifferences(Kernel):
    """
    A kernel of a sum over coordinates that only a look at both vectors gives: the base class of these.

    Examples
    --------
    >>> from dormie.kernels import Chi2, Laplacian, OfDifferences
    >>> isinstance(Chi2(1.0), OfDifferences), Laplacian(1.0).of_inner_products
    (True, False)
    """

    @property
    def of_inner_products(self) -> bool:
        return False

    @property
    def has_derivative(self) -> bool:
        return False

    @property
    @abstractmethod
    def slope(self) -> float:
        """At least the largest change of K for a unit that all coordinates together move, added up."""

    @property
    @abstractmethod
    def roundings(self) -> int:
        """How many roundings a term of the sum takes besides those of the sum."""


@dataclass(frozen=True)
class Laplacian(_Similarity, OfDifferences):
    """
    The Laplacian kernel, ``K(u, v) = exp(-gamma sum_j |u_j - v_j|)``.

    Parameters
    ----------
    gamma : float
        Positive inverse width.

    Raises
    ------
    ValueError
        If gamma is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Laplacian
    >>> Laplacian(0.5).matrix(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, -1.0]])).round(4)
    array([[1.    , 0.3679]])
    """

    gamma: float

    def __post_init__(self) -> None:
        require_positive_gamma(self, self.gamma)

    def matrix(self, a: Any, b: Any) -> Floats:
        from scipy.spatial.distance import cdist  # here: it takes longer to import than all of dormie

        return np.asarray(np.exp(-self.gamma * cdist(a, b, "cityblock")))

    @property
    def slope(self) -> float:
        return self.gamma

    @property
    def roundings(self) -> int:
        return 1


class _OfShares(OfDifferences):
    """Kernels of sum_j (u_j - v_j)^2 / (u_j + v_j), for vectors without negative coordinates; 0 / 0 counts as 0."""

    @property
    def roundings(self) -> int:
        return 4

    def require_domain(self, rows: Any, where: str = "") -> None:
        negative = np.asarray(rows < 0)
        if negative.any():
            i, j = (int(place) for place in np.argwhere(negative)[0])
            raise ValueError(
                f"{where}row {i}, column {j} is {rows[i, j]:.6g}, negative once it is scaled; the chi-squared "
                "kernels take counts and shares: clip such values at 0, or train with another kernel"
            )


def _chi2_distances(a: Floats, b: Floats) -> Floats:
    """Sum_j (u_j - v_j)^2 / (u_j + v_j) of every row of `a` with every row of `b`."""
    sums = np.zeros((len(a), len(b)))
    size = max(1, _BLOCK // max(len(b), 1))
    for start in range(0, len(a), size):
        for u, v in zip(a[start : start + size].T, b.T, strict=True):
            apart, together = np.subtract.outer(u, v), np.add.outer(u, v)
            share = np.divide(apart, together, out=np.zeros_like(apart), where=together > 0)
            sums[start : start + size] += apart * share
    return sums


@dataclass(frozen=True)
class Chi2(_Similarity, _OfShares):
    """
    The chi-squared kernel, K(u, v) = exp(-gamma sum_j (u_j - v_j)^2 / (u_j + v_j)), for rows without negative numbers.

    Parameters
    ----------
    gamma : float
        Positive inverse width.

    Raises
    ------
    ValueError
        If gamma is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import Chi2
    >>> Chi2(1.0).matrix(np.array([[0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 3.0]])).round(4)
    array([[1.    , 0.3679]])
    """

    gamma: float

    def __post_init__(self) -> None:
        require_positive_gamma(self, self.gamma)

    def matrix(self, a: Any, b: Any) -> Floats:
        self.require_domain(a)
        self.require_domain(b)
        return np.asarray(np.exp(-self.gamma * _chi2_distances(a, b)))

    @property
    def slope(self) -> float:
        return 3 * self.gamma  # (u - v)(u + 3v) / (u + v)^2 is at most 3 in size


@dataclass(frozen=True)
class AdditiveChi2(_OfShares):
    """
    The additive chi-squared kernel, K(u, v) = -sum_j (u_j - v_j)^2 / (u_j + v_j), for rows without negative numbers.

    It is not an inner product, so bounds that rest on geometry are never used with it.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.kernels import AdditiveChi2
    >>> AdditiveChi2().matrix(np.array([[0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 3.0]]))
    array([[ 0., -1.]])
    """

    def matrix(self, a: Any, b: Any) -> Floats:
        self.require_domain(a)
        self.require_domain(b)
        return 0.0 - _chi2_distances(a, b)

    def diagonal(self, a: Any) -> Floats:
        return np.zeros(a.shape[0])

    @property
    def nonnegative(self) -> bool:
        return False

    @property
    def slope(self) -> float:
        return 3.0

    @property
    def positive_semidefinite(self) -> bool:
        return False


def _require_length_scale(kernel: object, length_scale: float, factor: float) -> None:
    require_finite(kernel, length_scale=length_scale)
    name = type(kernel).__name__
    if length_scale <= 0:
        raise ValueError(f"{name}: length_scale must be positive, got {length_scale}")
    if not 0 < length_scale**2 < math.inf or not 0 < factor / length_scale**2 < math.inf:
        raise ValueError(f"{name}: the squared distance would be divided by 0 or infinity; rescale the rows")

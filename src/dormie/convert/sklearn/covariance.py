"""Kernels of Gaussian processes as sums of terms: a factor times a kernel that a machine can have.

Between a new row and the training rows, a tree of sums and products expands into such a sum, because

    constant            a factor
    white noise         nothing: it is nonzero only between a training row and itself, never for a new row
    RBF times RBF       exp(-1/2 sum_j w_j (x_j - s_j)^2) twice, whose w_j = 1 / scale_j^2 are added
    dot product         sigma0^2 + x.s; a power of it is a polynomial
    a power of a term   that of its factor and of its kernel

Terms of the same kernel are merged. Other products have no such form, and are refused by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from dormie.convert.sklearn.common import ancestors
from dormie.machine import Affine, Floats
from dormie.machine import kernels as known

_HIGHEST_POWER = 8  # of a sum, which is multiplied out


class Form(ABC):
    """A kernel besides its factor."""

    @abstractmethod
    def kernel(self, d: int) -> tuple[known.Kernel, Affine | None]:
        """The kernel, and the input map that scales rows of d features and points for it."""

    @property
    def apart(self) -> float:
        """A constant that is not in `kernel`."""
        return 0.0

    def times(self, other: Form) -> Form | None:  # noqa: ARG002 - most products have no form
        """The product with another kernel; None where that is none of these."""
        return None

    def power(self, exponent: float) -> Form | None:  # noqa: ARG002
        """A power; None where that is none of these."""
        return None


Key = tuple[float, ...]  # one number for all features, or one for each: hashable, so that equal forms are found


@dataclass(frozen=True)
class _Gaussian(Form):
    weights: Key  # w_j

    def kernel(self, d: int) -> tuple[known.Kernel, Affine | None]:
        if len(self.weights) == 1:
            return known.RBF(self.weights[0] / 2), None
        return known.RBF(0.5), _scaling(1 / np.sqrt(self.weights), d)

    def times(self, other: Form) -> Form | None:
        if not isinstance(other, _Gaussian):
            return None
        return _Gaussian(tuple((np.array(self.weights) + np.array(other.weights)).tolist()))

    def power(self, exponent: float) -> Form | None:
        return replace(self, weights=tuple(exponent * w for w in self.weights)) if exponent > 0 else None


@dataclass(frozen=True)
class _Matern(Form):
    nu: float
    scales: Key

    def kernel(self, d: int) -> tuple[known.Kernel, Affine | None]:
        if len(self.scales) == 1:
            return known.Matern(self.nu, self.scales[0]), None
        return known.Matern(self.nu), _scaling(np.array(self.scales), d)

    def power(self, exponent: float) -> Form | None:
        if self.nu != 0.5 or exponent <= 0:
            return None
        return replace(self, scales=tuple(scale / exponent for scale in self.scales))


@dataclass(frozen=True)
class _RationalQuadratic(Form):
    alpha: float
    scale: float

    def kernel(self, d: int) -> tuple[known.Kernel, Affine | None]:  # noqa: ARG002 - one length scale for all
        return known.RationalQuadratic(self.alpha, self.scale), None

    def power(self, exponent: float) -> Form | None:
        if exponent <= 0:
            return None
        return _RationalQuadratic(self.alpha * exponent, self.scale / math.sqrt(exponent))  # the same 1 + t


@dataclass(frozen=True)
class _DotProduct(Form):
    constant: float  # sigma0^2
    degree: int = 1

    def kernel(self, d: int) -> tuple[known.Kernel, Affine | None]:  # noqa: ARG002 - rows are not scaled
        return known.Linear() if self.degree == 1 else known.Polynomial(1.0, self.constant, self.degree), None

    @property
    def apart(self) -> float:
        return self.constant if self.degree == 1 else 0.0

    def times(self, other: Form) -> Form | None:
        if not isinstance(other, _DotProduct) or other.constant != self.constant:
            return None
        return replace(self, degree=self.degree + other.degree)

    def power(self, exponent: float) -> Form | None:
        whole = exponent == int(exponent) and exponent >= 1
        return replace(self, degree=self.degree * int(exponent)) if whole else None


@dataclass(frozen=True)
class Term:
    """A factor times a kernel; the kernel of a constant is None."""

    factor: float
    form: Form | None
    name: str  # for errors

    @property
    def constant(self) -> float:
        """What it adds for any two rows."""
        return self.factor * (1.0 if self.form is None else self.form.apart)

    def __mul__(self, other: Term) -> Term:
        name = f"{self.name} * {other.name}"
        factor = self.factor * other.factor
        if self.form is None or other.form is None:
            return Term(factor, self.form or other.form, name)
        form = self.form.times(other.form)
        if form is None:
            raise ValueError(f"the product {name} is no kernel that is known")
        return Term(factor, form, name)

    def to_the(self, exponent: float) -> Term:
        name = f"({self.name}) ** {exponent:g}"
        form = None if self.form is None else self.form.power(exponent)
        if form is None and self.form is not None:
            raise ValueError(f"the power {name} is no kernel that is known")
        return Term(self.factor**exponent, form, name)


def terms_of(kernel: Any) -> list[Term]:
    """The terms of a fitted kernel between a new row and the training rows; each kernel once."""
    merged: dict[Form | None, Term] = {}
    for term in _terms(kernel):
        before = merged.get(term.form)
        merged[term.form] = term if before is None else replace(before, factor=before.factor + term.factor)
    return [term for term in merged.values() if term.factor != 0]


def _terms(kernel: Any) -> list[Term]:
    name = str(kernel)
    match ancestors(kernel):
        case ["Sum", *_]:
            return _terms(kernel.k1) + _terms(kernel.k2)
        case ["Product", *_]:
            return _multiplied(_terms(kernel.k1), _terms(kernel.k2))
        case ["Exponentiation", *_]:
            return _power(_terms(kernel.kernel), float(kernel.exponent))
        case ["ConstantKernel", *_]:
            return [Term(float(kernel.constant_value), None, name)]
        case ["WhiteKernel", *_]:
            return []
        case ["Matern", *_] if math.isfinite(kernel.nu):
            if kernel.nu not in (0.5, 1.5, 2.5):
                raise ValueError(
                    f"{name} has nu={kernel.nu:g}, which takes Bessel functions: fit it with 0.5, 1.5 or 2.5"
                )
            return [Term(1.0, _Matern(float(kernel.nu), _key(kernel.length_scale)), name)]
        case ["RBF" | "Matern", *_]:  # a Matern kernel of infinite nu is a Gaussian
            return [Term(1.0, _Gaussian(tuple(scale**-2 for scale in _key(kernel.length_scale))), name)]
        case ["RationalQuadratic", *_]:
            return [Term(1.0, _RationalQuadratic(float(kernel.alpha), float(kernel.length_scale)), name)]
        case ["DotProduct", *_]:
            return [Term(1.0, _DotProduct(float(kernel.sigma_0) ** 2), name)]
    raise ValueError(
        f"the kernel {name} is not made of RBF, Matern, RationalQuadratic, DotProduct, ConstantKernel and WhiteKernel"
    )


def _multiplied(left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
    return [a * b for a in left for b in right]


def _power(terms: list[Term], exponent: float) -> list[Term]:
    if len(terms) == 1:
        return [terms[0].to_the(exponent)]
    if not terms and exponent > 0:
        return []
    if exponent != int(exponent) or not 1 <= exponent <= _HIGHEST_POWER:
        raise ValueError(f"a sum of kernels to the power of {exponent:g} is no kernel that is known")
    return reduce(_multiplied, [terms] * int(exponent))


def _key(length_scale: Any) -> Key:
    return tuple(np.atleast_1d(np.asarray(length_scale, dtype=np.float64)).tolist())


def _scaling(scales: Floats, d: int) -> Affine:
    """A length scale for each feature as the scale of an input map."""
    return Affine(np.zeros(d), scales)

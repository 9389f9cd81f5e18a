"""How far from the decision boundary an interval must stay, so that rounding cannot change the answer.

The model's own float64 sum is rounded as well. Where its real-number value is within r(x), the bound on that rounding,
of the decision boundary, the model may give another answer than the real-number sum does, and users expect the model's.
So an exact plan settles a row only if its interval stays clear of the decision boundary by r(x) plus the bound on what
exact rewrites changed. All other rows are decided by repeating the model's own sum (`dormie.numerics.source_sum`). The
bounds are derived in `dormie.numerics.rounding`; native/core/margin.hpp is the native twin of `Margin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.kernels import HIGHEST_DEGREE
from dormie.machine.typing import Floats

UNIT: float = 2.0**-53  # half the distance from 1 to the next float64
LOST_LENGTH = 1e-150  # more than a norm loses when the squares of its entries underflow


@dataclass(frozen=True, eq=False)
class Margin:
    """A bound for each output as a function of the norm t of a mapped row: constant + slope (gain t + start)^degree."""

    constant: Floats
    slope: Floats
    gain: float = 1.0
    start: float = 0.0
    degree: int = 1

    def __post_init__(self) -> None:
        for name in ("constant", "slope"):
            values = np.nan_to_num(np.array(getattr(self, name), dtype=np.float64), nan=np.inf, posinf=np.inf)
            if values.ndim != 1 or not (values >= 0).all():
                raise ValueError(f"Margin: {name} must be a number of at least 0 for each output")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.constant.shape != self.slope.shape:
            raise ValueError("Margin: constant and slope must have an entry for each output")
        for name in ("gain", "start"):
            value = getattr(self, name)
            object.__setattr__(self, name, float("inf") if value != value else float(value))
        if not (self.gain >= 0 and self.start >= 0 and 1 <= self.degree <= HIGHEST_DEGREE):
            raise ValueError(
                f"Margin: gain and start must be at least 0, and the degree 1 to {HIGHEST_DEGREE:,}; got {self.gain}, "
                f"{self.start} and {self.degree}"
            )

    @classmethod
    def none(cls, outputs: int) -> Margin:
        """The margin 0."""
        return cls(np.zeros(outputs), np.zeros(outputs))

    def __bool__(self) -> bool:
        return bool(self.constant.any() or self.slope.any())

    def __call__(self, norms: Any) -> Floats:
        """The bounds (rows x outputs) of mapped rows with these norms."""
        with np.errstate(over="ignore", invalid="ignore"):
            power = (self.gain * (np.asarray(norms) + LOST_LENGTH) + self.start) ** self.degree
            bounds = self.constant + np.where(self.slope > 0, np.multiply.outer(power, self.slope), 0.0)
            return np.where(np.isnan(bounds), np.inf, bounds)  # 0 times infinity: there is no bound

    def __add__(self, other: Margin) -> Margin:
        """A margin that is at least the sum of two."""
        if not self.slope.any():
            return Margin(self.constant + other.constant, other.slope, other.gain, other.start, other.degree)
        if not other.slope.any():
            return other + self
        if self.degree != other.degree:
            raise ValueError(f"margins of degrees {self.degree} and {other.degree} do not add up to one")
        gain, start = max(self.gain, other.gain), max(self.start, other.start)
        return Margin(self.constant + other.constant, self.slope + other.slope, gain, start, self.degree)

    def without_infinity(self) -> Margin:
        """The margin in finite numbers, for a file: where an output has no bound, the largest float64 stands for it."""
        boundless = not (np.isfinite(self.gain) and np.isfinite(self.start))
        unknown = np.isinf(self.constant) | np.isinf(self.slope) | (boundless & (self.slope > 0))
        constant = np.where(unknown, np.finfo(np.float64).max, self.constant)
        gain, start = (0.0, 0.0) if boundless else (self.gain, self.start)
        return Margin(constant, np.where(unknown, 0.0, self.slope), gain, start, self.degree)

    def of_norms(self, stretch: float, shift: float) -> Margin:
        """The same bound as a function of another norm t', where t is at most stretch t' + shift."""
        return Margin(self.constant, self.slope, self.gain * stretch, self.start + self.gain * shift, self.degree)

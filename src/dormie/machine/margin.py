"""How near to the border an answer is no longer a matter of the real-number sum.

A model's own float64 sum rounds too. Within r(x), the bound on that rounding, its answer may be another than that of
the real-number sum, and it is the model's answer that users expect. So an exact plan settles a row only where its
interval stays clear of the border by r(x) and by what exact rewrites may have moved the outputs; all others are decided
by the model's own sum, repeated (`dormie.numerics.source_sum`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_MOST_DEGREE = 1_000_000  # as of a polynomial kernel
LOST_LENGTH = 1e-150  # more than a norm loses when squares leave the range of doubles


@dataclass(frozen=True, eq=False)
class Margin:
    """A bound for each output that grows with the norm t of a mapped row: constant + slope (gain t + start)^degree."""

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
        if not (self.gain >= 0 and self.start >= 0 and 1 <= self.degree <= _MOST_DEGREE):
            raise ValueError(
                f"Margin: gain and start must be at least 0, and the degree 1 to {_MOST_DEGREE:,}; got {self.gain}, "
                f"{self.start} and {self.degree}"
            )

    @classmethod
    def none(cls, outputs: int) -> Margin:
        """No margin at all."""
        return cls(np.zeros(outputs), np.zeros(outputs))

    def __bool__(self) -> bool:
        return bool(self.constant.any() or self.slope.any())

    def __call__(self, norms: Any) -> Floats:
        """The bounds of rows with these norms, rows x outputs."""
        with np.errstate(over="ignore", invalid="ignore"):
            power = (self.gain * (np.asarray(norms) + LOST_LENGTH) + self.start) ** self.degree
            bounds = self.constant + np.where(self.slope > 0, np.multiply.outer(power, self.slope), 0.0)
            return np.where(np.isnan(bounds), np.inf, bounds)  # 0 times infinity: nothing is known

    def __add__(self, other: Margin) -> Margin:
        """A bound on the sum of two differences."""
        if not self.slope.any():
            return Margin(self.constant + other.constant, other.slope, other.gain, other.start, other.degree)
        if not other.slope.any():
            return other + self
        if self.degree != other.degree:
            raise ValueError(f"margins of degrees {self.degree} and {other.degree} do not add up to one")
        gain, start = max(self.gain, other.gain), max(self.start, other.start)
        return Margin(self.constant + other.constant, self.slope + other.slope, gain, start, self.degree)

    def without_infinity(self) -> Margin:
        """The same in finite numbers: where nothing is known of an output, its constant is the largest there is."""
        boundless = not (np.isfinite(self.gain) and np.isfinite(self.start))
        unknown = np.isinf(self.constant) | np.isinf(self.slope) | (boundless & (self.slope > 0))
        constant = np.where(unknown, np.finfo(np.float64).max, self.constant)
        gain, start = (0.0, 0.0) if boundless else (self.gain, self.start)
        return Margin(constant, np.where(unknown, 0.0, self.slope), gain, start, self.degree)

    def of_norms(self, stretch: float, shift: float) -> Margin:
        """The same bound in terms of another norm t', where t is at most stretch t' + shift."""
        return Margin(self.constant, self.slope, self.gain * stretch, self.start + self.gain * shift, self.degree)

"""The linear filter (DeCoste & Mazzoni 2003): the linear_filter stage.

A linear machine with one vector for each output approximates the full machine. A row is settled if its linear outputs
pass thresholds beyond which almost no sample row had an output of the other sign. The cost is one inner product for
each output. `dormie.methods.linear_filter.fitting` fits the vectors and thresholds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import CalibratedStage, Decisions, require
from dormie.methods.linear_filter import reference
from dormie.methods.linear_filter.fitting import fitted_arrays
from dormie.methods.memory import Shapes, Size, padded
from dormie.methods.thresholds import (
    Thresholds,
    needs_classifier,
    require_caution,
    require_floats,
    require_thresholds,
)
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum

# The arrays that the native core stores; the thresholds are passed with each call.
_LINEAR = ("vectors", "bias")


class LinearFilter(CalibratedStage):
    """Answers from a linear machine, for rows beyond its thresholds.

    arrays: `vectors` (c x d) and `bias` (c), which apply to rows before the input map; `middle` and `half` (c) of the
    thresholds.
    """

    name = "linear_filter"
    words = "a linear machine, for rows whose linear output is beyond a measured threshold (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, arrays: Arrays, caution: float = 1.0) -> None:
        _require_fit(machine, arrays)
        self.machine = machine
        self.arrays = arrays
        self.caution = require_caution(self.name, caution)
        self._thresholds = Thresholds(arrays["middle"], arrays["half"]).widened(self.caution)
        self._native = backend.build(
            machine, lambda core: backend.extension.LinearFilter(core, *backend.contiguous(arrays, _LINEAR))
        )

    @classmethod
    def fit(cls, machine: Machine, rows: Any, outputs: Floats | None = None) -> LinearFilter:
        """Fit the filter to the machine on checked, unlabelled rows; they need not be held out from other fitting.

        outputs: the machine's outputs for these rows, if the caller has them
        """
        require(needs_classifier(cls.name, machine))
        outputs, x = FullSum(machine).outputs(rows) if outputs is None else outputs, mapped(machine, rows)
        if not len(x):
            raise ValueError("linear_filter: there are no rows to fit it on")
        with np.errstate(over="ignore", invalid="ignore"):  # arrays with overflow are refused
            return cls(machine, fitted_arrays(machine, x, outputs))

    def cautious(self, caution: float) -> LinearFilter:
        return LinearFilter(self.machine, self.arrays, caution)

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            answers, settled = self._native.decide(*backend.arguments(rows, *self._thresholds))
        else:
            require_finite(rows)
            answers, settled = reference.decide(self.machine, self.arrays, rows, *self._thresholds)
        return Decisions(answers, settled, self.machine.n_outputs)

    def outputs(self, rows: Any) -> Floats:
        """The outputs of the linear machine."""
        if self._native is not None:
            return self._native.outputs(*backend.arguments(rows))
        require_finite(rows)
        return reference.outputs(self.arrays, rows)

    def estimate(self, rows: Any) -> None:
        """None: a linear output predicts the sign of the machine's output, not its size."""

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"caution": self.caution}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - the machine gives the shapes
        return machine.outputs * (padded(machine.features, 8) + 32)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> LinearFilter:
        if set(numbers) != {"caution"} or set(arrays) != {"vectors", "bias", "middle", "half"}:
            raise ValueError("linear_filter: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["caution"])

    def __reduce__(self) -> tuple[type[LinearFilter], tuple[Any, ...]]:
        return LinearFilter, (self.machine, self.arrays, self.caution)


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """Raise ValueError unless the arrays have the shapes that `fitted_arrays` gives them."""
    c = machine.n_outputs
    require(needs_classifier(LinearFilter.name, machine))
    require_thresholds(LinearFilter.name, arrays, (c,))
    for name, shape in (("vectors", (c, machine.n_features)), ("bias", (c,))):
        require_floats(LinearFilter.name, name, arrays[name], shape)

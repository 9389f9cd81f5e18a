"""The linear filter (DeCoste & Mazzoni 2003): the linear_filter stage.

A linear machine with one vector for each output approximates the full machine. A row is settled if its linear outputs
pass thresholds beyond which almost no sample row had an output of the other sign. The cost is one inner product for
each output. `dormie.methods.linear_filter.fitting` fits the vectors and thresholds: as calibration likes them best, or
as in the paper, which are not calibrated and promise nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    arrays_of,
    names_of,
    parameters_from,
    require,
    require_state,
)
from dormie.methods.linear_filter import reference
from dormie.methods.linear_filter.fitting import LinearMachine, fitted, require_mode
from dormie.methods.memory import Shapes, Size, padded
from dormie.methods.thresholds import Thresholds, needs_classifier, require_floats, require_thresholds
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum


class LinearFilter(NativeStage, CalibratedStage):
    """Answers from a linear machine, for rows beyond its thresholds, of which every output has a pair."""

    name = "linear_filter"
    words = "a linear machine, for rows whose linear output is beyond a measured threshold (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, linear: LinearMachine, thresholds: Thresholds) -> None:
        _require_fit(machine, linear, thresholds)
        self.machine = machine
        self.linear = linear
        self.thresholds = thresholds
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.LinearFilter(core, *backend.contiguous(linear)),
            lambda: reference.LinearFilter(machine, linear),
        )

    @classmethod
    def fit(
        cls, machine: Machine, rows: Any, outputs: Floats | None = None, *, mode: str = "calibrated"
    ) -> LinearFilter:
        """Fit the filter to the machine on checked, unlabelled rows; they need not be held out from other fitting.

        outputs  the machine's outputs for these rows, if the caller has them
        mode     "calibrated", or "paper": a linear SVM, with the paper's thresholds
        """
        require_mode(mode)
        require(needs_classifier(cls.name, machine))
        outputs, x = FullSum(machine).outputs(rows) if outputs is None else outputs, mapped(machine, rows)
        if not len(x):
            raise ValueError("linear_filter: there are no rows to fit it on")
        with np.errstate(over="ignore", invalid="ignore"):  # arrays with overflow are refused
            return cls(machine, *fitted(machine, x, outputs, mode))

    @property
    def size(self) -> int:
        return self.machine.n_outputs

    def native(self, caution: float) -> backend.extension.Stage | None:
        return backend.stage_of(self._core, *self.thresholds.widened(caution))

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        twin: Any = self._core
        answers, settled = twin.decide(rows, *self.thresholds.widened(caution))
        return Decisions(answers, settled, self.machine.n_outputs)

    def estimate(self, rows: Any) -> Floats:
        """The outputs of the linear machine, which predict the signs of the machine's outputs, not their sizes.

        NumPy computes them: for a product with few columns it is several times as fast as a pass of the native core.
        """
        return reference.LinearFilter(self.machine, self.linear).outputs(rows)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, arrays_of(self.linear, self.thresholds)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - the machine gives the shapes
        return machine.outputs * (padded(machine.features, 8) + 32)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> LinearFilter:
        require_state(cls.name, numbers, arrays, names_of(LinearMachine) + names_of(Thresholds))
        return cls(machine, parameters_from(LinearMachine, arrays), parameters_from(Thresholds, arrays))

    def __reduce__(self) -> tuple[type[LinearFilter], tuple[Any, ...]]:
        return LinearFilter, (self.machine, self.linear, self.thresholds)


def _require_fit(machine: Machine, linear: LinearMachine, thresholds: Thresholds) -> None:
    """Raise ValueError unless the linear machine and its thresholds fit the machine."""
    c = machine.n_outputs
    require(needs_classifier(LinearFilter.name, machine))
    require_thresholds(LinearFilter.name, thresholds, (c,))
    require_floats(LinearFilter.name, "vectors", linear.vectors, (c, machine.n_features))
    require_floats(LinearFilter.name, "bias", linear.bias, (c,))

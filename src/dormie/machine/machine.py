"""The normal form of every kernel machine: G(x) = sum_i beta_i K(map(x), s_i) + b, and a rule.

Readers make a `Machine`, simplifications turn one into a smaller one, stages and the planner start from one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from dormie.machine.input_map import Affine
from dormie.machine.kernels import Kernel
from dormie.machine.margin import Margin
from dormie.machine.rules import Rule
from dormie.machine.typing import Floats, frozen_floats


@dataclass(frozen=True, eq=False)
class Origin:
    """The machine as it was read, before it was rewritten, and how far the rewriting may have moved its outputs."""

    machine: Machine
    deviation: Margin


@dataclass(frozen=True, eq=False)
class Machine:
    """A trained kernel machine in normal form. Frozen: arrays are private copies and read-only.

    points   L x d, where the terms sit (any sequence of objects with a `Custom` kernel)
    weights  L x c, one column an output (a vector is taken as one output)
    bias     c values (a number is taken for all outputs)
    rule     how outputs become an answer
    input_map       applied to every row first; points are already in mapped coordinates
    feature_names   the columns a data frame must have, in order
    blas_products   whether the model takes inner products by BLAS, as scikit-learn's LIBSVM does of dense rows, and not
                    one product after the other: the same but for rounding, which ties depend on
    origin          what this machine was rewritten from, where that changed the rounding of its sum (`with_origin`)
    """

    kernel: Kernel
    points: Any
    weights: Floats
    bias: Floats
    rule: Rule
    input_map: Affine | None = None
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    blas_products: bool = field(default=False, repr=False)
    # Not an argument, so that `dataclasses.replace` with other points never keeps an origin that is not theirs.
    origin: Origin | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._check_types()
        weights = frozen_floats(self.weights, "Machine: weights")
        weights = weights[:, None] if weights.ndim == 1 else weights
        if weights.ndim != 2:
            raise ValueError(f"Machine: weights must be L x c, got shape {weights.shape}")
        bias = frozen_floats(np.broadcast_to(self.bias, weights.shape[1:]), "Machine: bias")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        if not self.kernel.is_python:
            object.__setattr__(self, "points", frozen_floats(self.points, "Machine: points"))
            self._check_features()
        if len(self.points) != len(weights):
            raise ValueError(f"Machine: {len(self.points)} points but {len(weights)} rows of weights")
        self.rule.check_outputs(self.n_outputs)

    def _check_types(self) -> None:
        """Raise TypeError for what would fail later, far from here."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Machine: kernel must be one of dormie.kernels, such as RBF(0.5), got {self.kernel!r}")
        if not isinstance(self.rule, Rule):
            raise TypeError(f"Machine: rule must be one of dormie.rules, such as Sign([0, 1]), got {self.rule!r}")
        if not isinstance(self.input_map, Affine | None):
            raise TypeError(f"Machine: input_map must be dormie.Affine(center, scale) or None, got {self.input_map!r}")
        if self.feature_names is not None:
            names = self.feature_names
            several = isinstance(names, Iterable) and not isinstance(names, str)
            if not several or not all(isinstance(name, str) for name in names):
                raise TypeError(f"Machine: feature_names must be column names, such as ('a', 'b'), got {names!r}")
            object.__setattr__(self, "feature_names", tuple(names))

    def _check_features(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] < 1:
            raise ValueError(f"Machine: points must be L x d with d at least 1, got shape {self.points.shape}")
        if self.input_map is not None and len(self.input_map.center) != self.n_features:
            raise ValueError(
                f"Machine: the input map has {len(self.input_map.center)} features, the points {self.n_features}"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"Machine: {len(self.feature_names)} feature names for {self.n_features} features")

    @property
    def n_points(self) -> int:
        return len(self.weights)

    @property
    def n_outputs(self) -> int:
        return int(self.weights.shape[1])

    @property
    def of_vectors(self) -> bool:
        """Whether points and rows are vectors; with a `Custom` kernel they may be anything."""
        return isinstance(self.points, np.ndarray) and self.points.ndim == 2

    @property
    def n_features(self) -> int:
        """Columns of a row; points of a `Custom` kernel need not be vectors, and then this is an error."""
        columns: int = self.points.shape[1]
        return columns

    def with_origin(self, origin: Origin | None) -> Machine:
        """The same machine, known to come from another."""
        machine = replace(self)
        object.__setattr__(machine, "origin", origin)
        return machine

    def changed(self, **changes: Any) -> Machine:
        """The same sum with another rule, input map or feature names, and so of its origin."""
        machine, origin = replace(self, **changes), self.origin
        if origin is None:
            return machine
        if "input_map" in changes and origin.machine.input_map is not self.input_map:
            raise ValueError("Machine: its origin has an input map of its own, and would be given that of the machine")
        return machine.with_origin(Origin(replace(origin.machine, **changes), origin.deviation))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # Through the constructor, so that an unpickled machine is checked and read-only again.
        return _restored, (self.origin, *(getattr(self, f.name) for f in fields(self) if f.init))

    def __repr__(self) -> str:
        outputs = "1 output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        features = f" of {self.n_features} features" if self.of_vectors else ""
        mapped = ", scaled input" if self.input_map is not None else ""
        rule = type(self.rule).__name__
        return f"Machine({self.kernel}, {self.n_points:,} points{features}, {outputs}, {rule}{mapped})"


def _restored(origin: Origin | None, *arguments: Any) -> Machine:
    """A machine from its pickle."""
    machine = Machine(*arguments)
    return machine if origin is None else machine.with_origin(origin)

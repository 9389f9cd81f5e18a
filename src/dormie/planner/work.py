"""The units of work that a stage's time is explained by.

The seconds of a row in a stage are modelled as a sum over a few units of work,

    row         1                       whatever else a row costs
    feature     d                       (non-zero ones, of sparse rows)
    output      c                       outputs that the rule looks at
    value       e                       kernel evaluations
    exponential e                       where the kernel has one
    product     e d                     multiply-adds of inner products
    weight      e c                     multiply-adds of weights
    pair        e^2                     multiply-adds of triangular solves

and a profile has the cost of each unit, for every method, for dense and for sparse rows, and for batches and single
rows. `entry` is what a row costs before any stage: it is laid out once for all of them. `profiling.py` measures that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import AdditiveChi2, Normalized, OfDifferences, Radial, Sigmoid
from dormie.methods.base import Stage
from dormie.methods.dense import Dense

FastAt = Literal["batch", "row"]
UnitCosts = Mapping[str, Mapping[str, float]]  # seconds of a unit of work, by `key_of` and unit

UNITS = ("row", "feature", "output", "value", "exponential", "product", "weight", "pair")
ENTRY = "entry"


class Features(NamedTuple):
    """How many features of a row take work, and whether rows are sparse."""

    number: float
    sparse: bool


def features_of(rows: Any) -> Features:
    """The features of checked rows: all of dense ones, the mean number of values of sparse ones."""
    if is_sparse(rows):
        return Features(rows.nnz / max(rows.shape[0], 1), True)
    return Features(float(rows.shape[1]) if rows.ndim > 1 else 1.0, False)


def key_of(name: str, sparse: bool, fast_at: FastAt) -> str:
    """The name of a set of costs in a profile."""
    return f"{name}/{fast_at}/{'sparse' if sparse else 'dense'}"


def kind_of(stage: Stage) -> str:
    """The name that a stage's costs go by: certified and calibrated stages of a method do different work."""
    return stage.name if stage.certified else f"calibrated {stage.name}"


def work_of(stage: Stage, evaluations: Floats, features: Features) -> Floats:
    """The work of rows in a stage, rows x units. A stage's overhead counts as kernel evaluations."""
    e, d = stage.overhead + evaluations, features.number
    one, exponentials = np.ones_like(e), e if _has_exponential(stage.machine) else np.zeros_like(e)
    c = stage.outputs_at_once
    return np.column_stack([one, d * one, c * one, e, exponentials, d * e, c * e, e * e])


def _has_exponential(machine: Machine) -> bool:
    kernel = machine.kernel.kernel if isinstance(machine.kernel, Normalized) else machine.kernel
    return isinstance(kernel, Radial | OfDifferences | Sigmoid) and not isinstance(kernel, AdditiveChi2)


def seconds_of(costs: UnitCosts, stage: Stage, evaluations: Floats, features: Features, fast_at: FastAt) -> Floats:
    """The seconds that a stage takes for rows of so many kernel evaluations each, entry not counted.

    Stages, rows or calls that were not measured cost what the nearest measured ones do, in the end the full sum.
    """
    others: list[FastAt] = [fast_at, "row" if fast_at == "batch" else "batch"]
    kinds, names = (features.sparse, not features.sparse), (kind_of(stage), stage.name, Dense.name)
    keys = [key_of(name, sparse, at) for at in others for sparse in kinds for name in names]
    units = next(costs[key] for key in keys if key in costs)
    return np.asarray(work_of(stage, evaluations, features) @ [units.get(unit, 0.0) for unit in UNITS])


def entry_seconds(costs: UnitCosts, features: Features, fast_at: FastAt) -> float:
    """The seconds that a row takes besides its stages."""
    units = costs.get(key_of(ENTRY, features.sparse, fast_at), {})
    return units.get("row", 0.0) + units.get("feature", 0.0) * features.number

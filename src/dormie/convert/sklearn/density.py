"""The reader of scikit-learn's kernel density estimates.

The density at x is sum_i w_i exp(-|x - s_i|^2 / (2 h^2)) / (sum_i w_i (2 pi)^(d/2) h^d). The weights are divided by
their sum, and the rest of what normalises it is added to the logarithm: with many features it leaves the range of
float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dormie.convert.sklearn.common import unreadable
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import LogDensity


def read_kernel_density(model: Any) -> Machine:
    """Read a KernelDensity with a Gaussian kernel; the answers are those of its `score_samples`."""
    if model.kernel != "gaussian":
        raise unreadable(
            model,
            f"kernel={model.kernel!r} is no kernel that machines have: those that end at a distance need no early "
            "stop, as a search tree leaves out whatever is further away. Fit it with kernel='gaussian', or keep the "
            "model",
        )
    if model.metric not in ("euclidean", "l2") and not _is_euclidean_minkowski(model):
        raise unreadable(
            model, f"metric={model.metric!r} is not euclidean. Fit it with metric='euclidean', or keep the model"
        )
    points, h = np.asarray(model.tree_.data, dtype=np.float64), float(model.bandwidth_)
    weights = np.ones(len(points)) if model.tree_.sample_weight is None else np.asarray(model.tree_.sample_weight)
    shift = -points.shape[1] * (math.log(2 * math.pi) / 2 + math.log(h))
    return Machine(RBF(0.5 / h**2), points, weights / math.fsum(weights), 0.0, LogDensity(shift))


def _is_euclidean_minkowski(model: Any) -> bool:
    return (
        model.metric == "minkowski"
        and (model.metric_params or {}).get("p", 2) == 2
        and not (model.metric_params or {}).keys() - {"p"}
    )

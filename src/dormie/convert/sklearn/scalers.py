"""scikit-learn's scalers, read as affine input maps x -> (x - center) / scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.sklearn.common import ancestors, require_own_methods, unreadable
from dormie.machine import Affine, Floats

SCALERS = ("StandardScaler", "RobustScaler", "MaxAbsScaler", "MinMaxScaler")


def clips(scaler: Any) -> bool:
    """Whether a scaler also clips."""
    return bool(getattr(scaler, "clip", False))


def scaler_map(scaler: Any) -> Affine:
    """The map that a fitted scaler applies to every row, clipping left out."""
    require_own_methods(scaler)
    match ancestors(scaler):
        case ["StandardScaler", *_]:
            # scikit-learn keeps mean_ even where with_mean=False leaves it unused.
            return _affine(scaler, scaler.mean_ if scaler.with_mean else None, scaler.scale_)
        case ["RobustScaler", *_]:
            return _affine(scaler, scaler.center_, scaler.scale_)
        case ["MaxAbsScaler", *_]:
            return _affine(scaler, None, scaler.scale_)
        case ["MinMaxScaler", *_]:
            # A scaler fitted on float32 holds float32 arrays, and dividing in float32 would lose precision.
            scale, least = (np.asarray(values, dtype=np.float64) for values in (scaler.scale_, scaler.min_))
            return Affine(-least / scale, 1.0 / scale, (("multiply", scale), ("add", least)))
        case _:
            raise unreadable(scaler, f"it is none of {', '.join(SCALERS)}")


def _affine(scaler: Any, center: Floats | None, scale: Floats | None) -> Affine:
    d = scaler.n_features_in_
    return Affine(np.zeros(d) if center is None else center, np.ones(d) if scale is None else scale)

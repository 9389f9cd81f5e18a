"""Class maps of scenes: `dormie.raster.predict` for files of any size, `predict_array` for xarray.

A pixel is a row, and its bands are the features: pixels are read as they lie (bands x rows x columns, of whatever
type), so a scene is never laid out anew.
"""

from __future__ import annotations

from dormie.scale.raster.arrays import predict_array
from dormie.scale.raster.predict import predict

__all__ = ["predict", "predict_array"]

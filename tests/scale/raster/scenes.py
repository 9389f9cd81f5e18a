"""Small scenes for the tests, and models for their pixels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from sklearn.svm import SVC

import dormie
from dormie import Predictor

PLACE = rasterio.Affine(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0)


def scene(bands: int = 3, height: int = 70, width: int = 90, dtype: str = "uint16", seed: int = 0) -> npt.NDArray[Any]:
    """Waves and noise, without zeros."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:height, :width]
    waves = np.stack([np.sin(across / 9 + band) + np.cos(down / (5 + band)) for band in range(bands)])
    return (120 + 40 * waves + rng.integers(-5, 6, waves.shape)).astype(dtype)


def labelled(
    pixels: npt.NDArray[Any], labels: tuple[Any, ...] = ("water", "wood", "field")
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Pixels to train on, and their classes."""
    rows = pixels.reshape(len(pixels), -1).T[::17].astype(float)
    return rows, np.array(labels)[np.digitize(rows[:, 0], np.quantile(rows[:, 0], [0.3, 0.6]))]


def classifier(pixels: npt.NDArray[Any], labels: tuple[Any, ...] = ("water", "wood", "field")) -> Predictor:
    return dormie.compile(SVC().fit(*labelled(pixels, labels)), effort="quick")


def write(path: Path, pixels: npt.NDArray[Any], amend: Callable[[Any], object] | None = None, **profile: Any) -> Path:
    """Write a scene to a GeoTIFF; amend: what else is done to the open file."""
    count, height, width = pixels.shape
    layout = {"driver": "GTiff", "crs": "EPSG:32632", "transform": PLACE, "dtype": pixels.dtype} | profile
    with rasterio.open(path, "w", count=count, height=height, width=width, **layout) as file:
        file.write(pixels)
        if amend is not None:
            amend(file)
    return path


def read(path: Path) -> npt.NDArray[Any]:
    with rasterio.open(path) as file:
        return np.asarray(file.read())

"""The scene that is read: which bands, in which windows, and which of their pixels have data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.io import DatasetReader
from rasterio.windows import Window

from dormie.machine import Machine
from dormie.machine.typing import Booleans

_MOST_PIXELS = 2**22  # of a window: enough to keep every thread busy, and few enough for a small computer
_MOST_BYTES = 2**27  # of a window's bands, as float64: 128 MiB


class Block(NamedTuple):
    """The bands of a window (bands x rows x columns), and which pixels have data (None if all have)."""

    bands: npt.NDArray[Any]
    valid: Booleans | None


@dataclass(frozen=True)
class Scene:
    """
    An open raster, and how it is read.

    Parameters
    ----------
    dataset : rasterio dataset
        The raster, open for reading.
    bands : tuple of int
        The numbers of the bands that are the features, from 1 on.
    scaled : bool
        Whether each band's scale and offset are applied.
    """

    dataset: DatasetReader
    bands: tuple[int, ...]
    scaled: bool

    def windows(self) -> Iterator[Window]:
        """Windows that cover the scene: whole blocks of the file, of bounded size, and strips where these fit."""
        high, wide = self._window_shape()
        for top in range(0, self.dataset.height, high):
            for left in range(0, self.dataset.width, wide):
                height, width = min(high, self.dataset.height - top), min(wide, self.dataset.width - left)
                yield Window(left, top, width, height)

    def _window_shape(self) -> tuple[int, int]:
        most = min(_MOST_PIXELS, _MOST_BYTES // (8 * len(self.bands)))
        high, wide = (min(pair) for pair in zip(self.dataset.block_shapes[0], self.dataset.shape, strict=True))
        if high * self.dataset.width <= most:
            return most // (high * self.dataset.width) * high, self.dataset.width
        return high, max(1, most // (high * wide)) * wide

    def read(self, window: Window) -> Block:
        """Read the bands of a window."""
        raw = self.dataset.read(self.bands, window=window)
        valid = self._valid(raw, window)
        bands = self._in_units(raw) if self.scaled else raw
        return Block(bands, None if valid is None or valid.all() else valid)

    def _in_units(self, raw: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        scales, offsets = (
            np.array([of[band - 1] for band in self.bands])[:, None, None]
            for of in (self.dataset.scales, self.dataset.offsets)
        )
        return np.asarray(raw * scales + offsets, dtype=np.float64)

    def _valid(self, raw: npt.NDArray[Any], window: Window) -> Booleans | None:
        """The pixels that have data in all bands: neither masked, nor the value for no data, nor NaN."""
        flags = [self.dataset.mask_flag_enums[band - 1] for band in self.bands]
        whole = all(MaskFlags.all_valid in of_band for of_band in flags)
        if all(of_band == [MaskFlags.nodata] for of_band in flags):
            valid = _differs(raw, [self.dataset.nodatavals[band - 1] for band in self.bands])
        elif whole:
            valid = None
        else:
            valid = np.all(self.dataset.read_masks(self.bands, window=window), axis=0)
        return _with_numbers(raw, valid) if raw.dtype.kind == "f" else valid


def _differs(raw: npt.NDArray[Any], nodata: Sequence[float]) -> Booleans:
    """Which pixels differ from the value for no data in every band."""
    valid = np.ones(raw.shape[1:], dtype=bool)
    for band, value in zip(raw, nodata, strict=True):
        valid &= band != value  # a NaN differs from all values, and is left out as such
    return valid


def _with_numbers(raw: npt.NDArray[Any], valid: Booleans | None) -> Booleans:
    numbers = ~np.isnan(raw).any(axis=0)
    return np.asarray(numbers if valid is None else valid & numbers)


def scene_of(dataset: DatasetReader, machine: Machine, bands: Sequence[int | str] | None, scaled: bool | None) -> Scene:
    """The scene of a raster, for a machine; raises ValueError where the two do not fit."""
    if machine.kernel.is_python:
        raise ValueError("the kernel is a Python function, and pixels need thousands of rows at a time: use another")
    chosen = _bands(dataset, machine, bands)
    if any(dataset.dtypes[band - 1].startswith("complex") for band in chosen):
        raise ValueError(f"{dataset.name} has complex numbers: write their size, or real and imaginary parts, first")
    return Scene(dataset, chosen, _scaled(dataset, chosen, scaled))


def _bands(dataset: DatasetReader, machine: Machine, asked: Sequence[int | str] | None) -> tuple[int, ...]:
    names = dataset.descriptions
    if asked is None and machine.feature_names and set(machine.feature_names) <= set(names):
        asked = machine.feature_names
    if asked is None:
        found = [band for band, of in zip(dataset.indexes, dataset.colorinterp, strict=True) if of != ColorInterp.alpha]
    else:
        found = [_band(dataset, band) for band in asked]
    if len(found) != machine.n_columns:
        raise ValueError(
            f"{dataset.name}: the machine was trained with {machine.n_columns} features, and "
            f"{'there are' if asked is None else 'you asked for'} {len(found)} bands; choose as many with bands=[...], "
            f"in the order of the features. The file has {_list(dataset)}"
        )
    return tuple(found)


def _band(dataset: DatasetReader, band: int | str) -> int:
    if isinstance(band, str) and band in dataset.descriptions:
        return int(dataset.descriptions.index(band)) + 1
    if isinstance(band, int | np.integer) and not isinstance(band, bool) and 1 <= band <= dataset.count:
        return int(band)
    raise ValueError(f"{dataset.name} has no band {band!r}; it has {_list(dataset)}")


def _list(dataset: DatasetReader) -> str:
    described = [f"{band} ({name})" if name else str(band) for band, name in enumerate(dataset.descriptions, start=1)]
    return f"the bands {', '.join(described)}"


def _scaled(dataset: DatasetReader, bands: tuple[int, ...], asked: bool | None) -> bool:
    plain = all(dataset.scales[band - 1] == 1 and dataset.offsets[band - 1] == 0 for band in bands)
    if asked is None and not plain:
        band = next(b for b in bands if dataset.scales[b - 1] != 1 or dataset.offsets[b - 1] != 0)
        raise ValueError(
            f"{dataset.name}: band {band} has a scale of {dataset.scales[band - 1]:g} and an offset of "
            f"{dataset.offsets[band - 1]:g}. Was the model trained on values after scaling? Then pass scaled=True; if "
            "it was trained on the numbers as they are stored, scaled=False"
        )
    return bool(asked) and not plain

"""Class maps of xarray's arrays: coordinates stay, and what Dask holds stays lazy."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.typing import Booleans
from dormie.predictor import Predictor
from dormie.scale.raster.legend import Legend, legend_of
from dormie.scale.raster.pixels import PixelAnswers

if TYPE_CHECKING:
    import xarray

_NODATA = ("_FillValue", "missing_value", "nodata")  # attributes that may say which number means no data


def predict_array(
    predictor: Predictor,
    array: xarray.DataArray,
    *,
    dim: Hashable = "band",
    nodata: float | None = None,
    threads: int | None = None,
) -> xarray.DataArray:
    """
    Answer every pixel of an xarray array.

    Parameters
    ----------
    predictor : Predictor
        The compiled model; the features of its rows are bands.
    array : xarray.DataArray
        The scene. If Dask holds it, the answers are lazy, and worked out chunk by chunk.
    dim : hashable, default="band"
        The dimension of the bands, in the order of the features.
    nodata : float, default=None
        The number that means no data. By default that of the attribute `_FillValue`, `missing_value` or `nodata`, if
        there is one. NaN never is data.
    threads : int, default=None
        The most threads that answer pixels.

    Returns
    -------
    xarray.DataArray
        The answers, with the coordinates of all other dimensions. The attributes `flag_values` and `flag_meanings` say
        which class a number stands for, and `_FillValue` which number means no data. Several values of a regressor are
        in the dimension `value`.

    Raises
    ------
    ValueError
        If there is no such dimension, or if it is not as long as the rows that the model was trained with. If the bands
        have the names of the features in another order, or if the attributes have a scale or an offset.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> from sklearn.svm import SVC
    >>> import dormie.raster
    >>> values = np.random.default_rng(0).uniform(size=(2, 3, 4))
    >>> scene = xarray.DataArray(values, dims=("band", "y", "x"), coords={"x": [0.0, 10.0, 20.0, 30.0]})
    >>> svc = SVC().fit([[0.0, 0.0], [1.0, 1.0]], ["dark", "bright"])
    >>> classes = dormie.raster.predict_array(dormie.compile(svc), scene)
    >>> classes.dims, classes.dtype, classes.attrs["flag_meanings"]
    (('y', 'x'), dtype('uint8'), 'bright dark')
    """
    import xarray  # optional

    features = predictor.plan.machine.n_columns
    if dim not in array.dims or array.sizes[dim] != features:
        raise ValueError(
            f"the machine was trained with {features} features, and the array's dimensions are {dict(array.sizes)}; "
            f"name the one with {features} bands with dim=..."
        )
    _require_order(array, dim, predictor.plan.machine.feature_names)
    _require_unscaled(array)
    legend = legend_of(predictor.plan.machine)
    answer = PixelAnswers(predictor, legend, probability=False, settled_by=False, threads=threads)
    several = len(answer.bands) > 1
    found = xarray.apply_ufunc(
        _Pixels(answer, _nodata_of(array) if nodata is None else nodata),
        array,
        input_core_dims=[[dim]],
        output_core_dims=[["value"] if several else []],
        dask="parallelized",
        output_dtypes=[legend.dtype],
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": {"value": len(answer.bands)} if several else {}},
    )
    assert isinstance(found, xarray.DataArray)
    found = found.rename("answers")
    found.attrs = _attributes(legend)  # alone: a scale or a value for no data of the scene does not hold for answers
    return found


class _Pixels:
    """Answers arrays of pixels whose last dimension is that of the bands."""

    def __init__(self, answer: PixelAnswers, nodata: float | None) -> None:
        self._answer, self._nodata = answer, nodata

    def __call__(self, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        block = np.moveaxis(pixels, -1, 0)
        answers = self._answer(block, self._valid(block))
        return answers[0] if len(answers) == 1 else np.moveaxis(answers, 0, -1)

    def _valid(self, block: npt.NDArray[Any]) -> Booleans | None:
        missing = np.zeros(block.shape[1:], dtype=bool)
        if self._nodata is not None:
            missing |= (block == self._nodata).any(axis=0)
        if block.dtype.kind == "f":
            missing |= np.isnan(block).any(axis=0)
        return ~missing if missing.any() else None


def _require_order(array: xarray.DataArray, dim: Hashable, names: tuple[str, ...] | None) -> None:
    """Raise where bands are named for the features, but lie in another order."""
    bands = array.coords[dim].values.tolist() if dim in array.coords else []
    if names is not None and set(bands) == set(names) and tuple(bands) != names:
        raise ValueError(
            f"the bands are {bands}, and the model was trained with {list(names)}: sort them by "
            f"array.sel({{{dim!r}: {list(names)}}})"
        )


def _require_unscaled(array: xarray.DataArray) -> None:
    """Raise where numbers may have to be scaled: only the user knows what the model was trained on."""
    scale, offset = (array.attrs.get(name, plain) for name, plain in (("scale_factor", 1), ("add_offset", 0)))
    if np.any(scale != np.asarray(1)) or np.any(offset != np.asarray(0)):
        raise ValueError(
            f"the array's attributes have a scale_factor of {scale} and an add_offset of {offset}. If the model was "
            "trained on values after scaling, scale first (xarray.decode_cf, or open_rasterio with "
            "mask_and_scale=True); if it was trained on numbers as they are stored, drop the attributes (drop_attrs)"
        )


def _nodata_of(array: xarray.DataArray) -> float | None:
    return next((float(array.attrs[name]) for name in _NODATA if name in array.attrs), None)


def _attributes(legend: Legend) -> dict[str, Any]:
    """The legend by the conventions for climate and forecast data (CF)."""
    if legend.values is None:
        return {"_FillValue": legend.nodata}
    meanings = " ".join(name.replace(" ", "_") for name in legend.names.values())
    return {"_FillValue": legend.nodata, "flag_values": legend.values, "flag_meanings": meanings}

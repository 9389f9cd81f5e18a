"""Maps of xarray's arrays: coordinates are kept, missing pixels stay missing, and Dask's arrays stay lazy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray
from sklearn.svm import SVC, SVR

import dormie
from dormie.scale import raster
from tests.scale.raster.scenes import classifier, labelled, scene


def _array(pixels: Any, **attributes: Any) -> xarray.DataArray:
    _, height, width = pixels.shape
    places = {"y": 10.0 * np.arange(height), "x": 10.0 * np.arange(width), "epsg": 32632}
    return xarray.DataArray(pixels, dims=("band", "y", "x"), coords=places, attrs=attributes)


def _numbers(fast: dormie.Predictor, pixels: Any) -> Any:
    labels = fast.predict(pixels.reshape(len(pixels), -1).T)
    return (np.searchsorted(fast.classes_, labels) + 1).reshape(pixels.shape[1:])


def test_coordinates_are_kept_and_attributes_say_what_numbers_mean() -> None:
    pixels = scene()
    fast = classifier(pixels)
    found = raster.predict_array(fast, _array(pixels))
    np.testing.assert_array_equal(found.values, _numbers(fast, pixels))
    assert found.dims == ("y", "x")
    assert set(found.coords) == {"y", "x", "epsg"}
    assert found.attrs["flag_values"].tolist() == [1, 2, 3]
    assert found.attrs["flag_meanings"] == "field water wood"


def test_the_bands_may_be_any_dimension() -> None:
    pixels = scene()
    fast = classifier(pixels)
    last = _array(pixels).transpose("y", "x", "band").rename(band="wavelength")
    found = raster.predict_array(fast, last, dim="wavelength")
    np.testing.assert_array_equal(found.values, _numbers(fast, pixels))


@pytest.mark.parametrize("how", ["attribute", "argument", "NaN"])
def test_missing_pixels_have_no_answer(how: str) -> None:
    pixels = scene(dtype="float32")
    fast = classifier(pixels)
    expected = _numbers(fast, pixels)
    pixels[1, :5, :7] = np.nan if how == "NaN" else -9999
    expected[:5, :7] = 0
    array = _array(pixels, **({"_FillValue": -9999} if how == "attribute" else {}))
    found = raster.predict_array(fast, array, nodata=-9999 if how == "argument" else None)
    np.testing.assert_array_equal(found.values, expected)


def test_a_wrong_dimension_is_refused_with_those_there_are() -> None:
    fast = classifier(scene())
    for array, dim in ((_array(scene()), "bands"), (_array(scene(bands=2)), "band")):
        with pytest.raises(ValueError, match=r"trained with 3 features.*name the one with 3 bands"):
            raster.predict_array(fast, array, dim=dim)


def test_several_values_are_a_dimension_of_their_own() -> None:
    pixels = scene()
    rows, _ = labelled(pixels)
    kernel_ridge = pytest.importorskip("sklearn.kernel_ridge").KernelRidge(kernel="rbf", gamma=1e-3)
    fast = dormie.compile(kernel_ridge.fit(rows, rows[:, :2]))
    found = raster.predict_array(fast, _array(pixels))
    assert found.dims == ("y", "x", "value")
    expected = fast.predict(pixels.reshape(3, -1).T).reshape(*pixels.shape[1:], 2)
    np.testing.assert_array_equal(found.values, expected.astype(np.float32))


def test_values_of_a_regressor() -> None:
    pixels = scene()
    rows, _ = labelled(pixels)
    fast = dormie.compile(SVR().fit(rows, rows[:, 0]))
    found = raster.predict_array(fast, _array(pixels))
    assert found.dtype == np.float32
    expected = fast.predict(pixels.reshape(3, -1).T).reshape(pixels.shape[1:])
    np.testing.assert_array_equal(found.values, expected.astype(np.float32))


def test_dask_arrays_stay_lazy() -> None:
    pytest.importorskip("dask.array")
    pixels = scene()
    fast = classifier(pixels)
    lazy = _array(pixels).chunk({"band": 1, "y": 20, "x": 31})
    found = raster.predict_array(fast, lazy)
    assert found.chunks is not None
    np.testing.assert_array_equal(found.compute(scheduler="synchronous").values, _numbers(fast, pixels))


def test_attributes_of_the_scene_do_not_describe_its_answers() -> None:
    pixels = scene()
    answers = raster.predict_array(classifier(pixels), _array(pixels, nodata=-9999, scale_factor=1.0, units="m"))
    assert set(answers.attrs) == {"_FillValue", "flag_values", "flag_meanings"}


@pytest.mark.parametrize("attributes", [{"scale_factor": 0.1}, {"add_offset": -1000}])
def test_numbers_that_may_have_to_be_scaled_are_asked_about(attributes: dict[str, float]) -> None:
    pixels = scene()
    with pytest.raises(ValueError, match=r"trained on values after scaling.*drop_attrs"):
        raster.predict_array(classifier(pixels), _array(pixels, **attributes))


def test_bands_by_the_names_of_the_features_must_be_in_their_order() -> None:
    pixels = scene()
    rows, labels = labelled(pixels)
    fast = dormie.compile(SVC().fit(pd.DataFrame(rows, columns=["red", "green", "nir"]), labels), effort="quick")
    array = _array(pixels).assign_coords(band=["red", "green", "nir"])
    turned = array.sel(band=["nir", "red", "green"])
    with pytest.raises(ValueError, match=r"sort them by array\.sel"):
        raster.predict_array(fast, turned)
    xarray.testing.assert_equal(
        raster.predict_array(fast, array), raster.predict_array(fast, turned.sel(band=["red", "green", "nir"]))
    )

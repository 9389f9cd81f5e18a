"""Maps of whole files: the same answers as `predict`, whatever the file's layout; runs that stop go on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import rasterio
from rasterio.windows import Window
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC, SVR

import dormie
from dormie.scale import raster
from dormie.scale.raster import geotiff
from dormie.scale.raster.scene import Scene
from tests.scale.raster.scenes import PLACE, classifier, labelled, read, scene, write


def _numbers(fast: dormie.Predictor, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The answers of all pixels as numbers of the map, for labels that are numbered from 1 on."""
    classes = fast.classes_.tolist()
    labels = fast.predict(pixels.reshape(len(pixels), -1).T)
    return np.array([classes.index(label) + 1 for label in labels]).reshape(pixels.shape[1:])


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dormie.scale.raster.scene._MOST_PIXELS", 700)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32", "float64", "uint32"])
@pytest.mark.parametrize("layout", [{}, {"tiled": True, "blockxsize": 16, "blockysize": 32}, {"interleave": "pixel"}])
@pytest.mark.usefixtures("small_windows")
def test_every_pixel_has_the_label_of_its_row(tmp_path: Path, dtype: str, layout: dict[str, Any]) -> None:
    pixels = scene(dtype=dtype)
    fast = classifier(pixels)
    source = write(tmp_path / "scene.tif", pixels, **layout)
    raster.predict(fast, source, tmp_path / "map.tif")
    found = read(tmp_path / "map.tif")
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[0], _numbers(fast, pixels))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.tif", "scene.tif"]


def test_the_map_lies_where_the_scene_does_and_says_what_it_shows(tmp_path: Path) -> None:
    pixels = scene()
    source = write(tmp_path / "scene.tif", pixels)
    raster.predict(classifier(pixels), source, tmp_path / "map.tif", colours={"wood": (9, 99, 9)})
    with rasterio.open(tmp_path / "map.tif") as file:
        assert (file.crs.to_epsg(), file.transform, file.shape) == (32632, PLACE, pixels.shape[1:])
        assert file.nodata == 0
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        tags = file.tags()
        assert [tags[f"class_{number}"] for number in (1, 2, 3)] == ["field", "water", "wood"]
        assert file.colormap(1)[3] == (9, 99, 9, 255)
        assert file.descriptions == ("class",)


@pytest.mark.usefixtures("small_windows")
def test_bands_are_chosen_by_number_by_name_and_by_the_features_of_the_model(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pixels = scene(bands=3)
    rows, labels = labelled(pixels)
    named = SVC().fit(pandas.DataFrame(rows, columns=["red", "green", "blue"]), labels)
    fast = dormie.compile(named, effort="quick")

    def describe(file: Any) -> None:
        file.descriptions = ("blue", "cloud", "red", "green")

    mixed = np.stack([pixels[2], np.zeros_like(pixels[0]), pixels[0], pixels[1]])
    source = write(tmp_path / "scene.tif", mixed, describe)
    choices: list[list[int | str] | None] = [None, [3, 4, 1], ["red", 4, "blue"]]
    for bands in choices:
        raster.predict(fast, source, tmp_path / "map.tif", bands=bands)
        np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], _numbers(fast, pixels))


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        (None, r"trained with 2 features, and there are 3 bands; choose .* bands 1, 2, 3"),
        ([1], "you asked for 1 bands"),
        ([1, 4], "no band 4; it has the bands 1, 2, 3"),
        (["red", 1], "no band 'red'"),
        ([0, 1], "no band 0"),
        ([True, 2], "no band True"),
    ],
)
def test_bands_that_do_not_fit_are_refused_with_those_there_are(tmp_path: Path, bands: Any, message: str) -> None:
    pixels = scene(bands=3)
    fast = classifier(pixels[:2])
    source = write(tmp_path / "scene.tif", pixels)
    with pytest.raises(ValueError, match=message):
        raster.predict(fast, source, tmp_path / "map.tif", bands=bands)
    assert [path.name for path in tmp_path.iterdir()] == ["scene.tif"]


def test_transparency_is_no_feature_and_masks(tmp_path: Path) -> None:
    pixels = scene(bands=4, dtype="uint8")
    pixels[3] = 255
    pixels[3, 10:20, 30:40] = 0

    def transparent(file: Any) -> None:
        colours = rasterio.enums.ColorInterp
        file.colorinterp = [colours.red, colours.green, colours.blue, colours.alpha]

    fast = classifier(pixels[:3])
    source = write(tmp_path / "scene.tif", pixels, transparent)
    raster.predict(fast, source, tmp_path / "map.tif")
    expected = _numbers(fast, pixels[:3])
    expected[10:20, 30:40] = 0
    np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], expected)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_pixels_that_lack_data_in_any_band_have_no_answer(tmp_path: Path, dtype: str) -> None:
    pixels = scene(dtype=dtype)
    fast = classifier(pixels)
    pixels[1, :9, :30] = 7777
    expected = _numbers(fast, pixels)
    expected[:9, :30] = 0
    if dtype == "float32":
        pixels[2, 60:, 50:] = np.nan
        expected[60:, 50:] = 0
    source = write(tmp_path / "scene.tif", pixels, nodata=7777)
    raster.predict(fast, source, tmp_path / "map.tif")
    np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], expected)


def test_a_mask_of_the_file_is_kept(tmp_path: Path) -> None:
    pixels = scene()
    fast = classifier(pixels)
    mask = np.full(pixels.shape[1:], 255, dtype=np.uint8)
    mask[30:, :40] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        source = write(tmp_path / "scene.tif", pixels, lambda file: file.write_mask(mask))
    raster.predict(fast, source, tmp_path / "map.tif")
    np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], np.where(mask, _numbers(fast, pixels), 0))


def test_scales_and_offsets_are_applied_when_asked_for_and_asked_about_where_there_are_any(tmp_path: Path) -> None:
    stored = scene()
    units = stored * 0.5 - 3.0

    def scale(file: Any) -> None:
        file.scales, file.offsets = (0.5,) * 3, (-3.0,) * 3

    source, target = write(tmp_path / "scene.tif", stored, scale), tmp_path / "map.tif"
    in_units, as_stored = classifier(units), classifier(stored)
    with pytest.raises(ValueError, match=r"band 1 has a scale of 0\.5 and an offset of -3.*scaled=True"):
        raster.predict(in_units, source, target)
    raster.predict(in_units, source, target, scaled=True)
    np.testing.assert_array_equal(read(target)[0], _numbers(in_units, units))
    raster.predict(as_stored, source, target, scaled=False)
    np.testing.assert_array_equal(read(target)[0], _numbers(as_stored, stored))


def test_an_infinite_number_is_named_by_its_place(tmp_path: Path) -> None:
    pixels = scene(dtype="float32")
    fast = classifier(pixels)
    pixels[2, 65, 40] = np.inf
    source = write(tmp_path / "scene.tif", pixels)
    with pytest.raises(ValueError, match="band 3, row 65, column 40 is infinite"):
        raster.predict(fast, source, tmp_path / "map.tif")
    assert not (tmp_path / "map.tif").exists()


def test_bands_of_probabilities_and_stages_are_those_of_the_rows(tmp_path: Path) -> None:
    pixels = scene()
    rows, labels = labelled(pixels)
    fast = dormie.compile(CalibratedClassifierCV(SVC(), ensemble=False).fit(rows, labels), effort="quick")
    source = write(tmp_path / "scene.tif", pixels, nodata=pixels[0, 0, 0])
    raster.predict(fast, source, tmp_path / "map.tif", probability=True, settled_by=True)
    valid = (pixels != pixels[0, 0, 0]).all(axis=0)
    found, every = read(tmp_path / "map.tif")[:, valid], pixels[:, valid].T
    np.testing.assert_array_equal(found[0], _numbers(fast, pixels)[valid])
    np.testing.assert_array_equal(found[1], np.rint(100 * fast.predict_proba(every).max(axis=1)))
    with rasterio.open(tmp_path / "map.tif") as file:
        names = {int(key[6:]): name for key, name in file.tags().items() if key.startswith("stage_")}
        assert file.descriptions == ("class", "probability", "settled_by")
    assert [names[number] for number in found[2]] == fast.trace(every).stage.tolist()


def test_probabilities_need_a_model_that_has_them(tmp_path: Path) -> None:
    source = write(tmp_path / "scene.tif", scene())
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        raster.predict(classifier(scene()), source, tmp_path / "map.tif", probability=True)


@pytest.mark.parametrize("settled_by", [False, True])
def test_values_of_regressors_are_floats(tmp_path: Path, settled_by: bool) -> None:
    pixels = scene()
    rows, _ = labelled(pixels)
    fast = dormie.compile(SVR().fit(rows, rows @ [0.2, 0.1, -0.3]))
    source = write(tmp_path / "scene.tif", pixels)
    raster.predict(fast, source, tmp_path / "map.tif", settled_by=settled_by)
    found = read(tmp_path / "map.tif")
    values = fast.predict(pixels.reshape(3, -1).T).reshape(pixels.shape[1:])
    np.testing.assert_array_equal(found[0], values.astype(np.float32))
    assert len(found) == 1 + settled_by


def test_an_audit_sees_every_pixel(tmp_path: Path) -> None:
    pixels = scene()
    rows, labels = labelled(pixels)
    every = pixels.reshape(3, -1).T.astype(float)
    held_out = scene(seed=1).reshape(3, -1).T + 0.25
    fast = dormie.compile(SVC().fit(rows, labels), held_out, risk=0.1, methods=["linear_filter"])
    source = write(tmp_path / "scene.tif", pixels)
    for settled_by in (False, True):
        audited = fast.audited(rate=0.5, seed=0)
        raster.predict(audited, source, tmp_path / "map.tif", settled_by=settled_by)
        assert audited.status.rows == len(every)


class _Interrupted(Exception):
    pass


@pytest.mark.usefixtures("small_windows")
def test_a_run_that_was_stopped_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = scene()
    fast = classifier(pixels)
    source, target = write(tmp_path / "scene.tif", pixels), tmp_path / "map.tif"
    read_window = Scene.read
    read_rows: list[float] = []

    def stop_after_three(self: Scene, window: Window) -> Any:
        if len(read_rows) == 3:
            raise _Interrupted
        read_rows.append(window.row_off)
        return read_window(self, window)

    monkeypatch.setattr(Scene, "read", stop_after_three)
    with pytest.raises(_Interrupted):
        raster.predict(fast, source, target)
    assert not target.exists()
    first = list(read_rows)

    def note(self: Scene, window: Window) -> Any:
        read_rows.append(window.row_off)
        return read_window(self, window)

    monkeypatch.setattr(Scene, "read", note)
    read_rows.clear()
    raster.predict(fast, source, target)
    assert read_rows
    assert len(set(first) & set(read_rows)) <= 1  # the one that was read ahead, and not yet answered
    np.testing.assert_array_equal(read(target)[0], _numbers(fast, pixels))
    assert not target.with_name("map.tif.unfinished").exists()


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("change", ["plan", "scene", "bands"])
def test_what_another_run_left_behind_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    pixels = scene(bands=3)
    fast = classifier(pixels)
    source, target = write(tmp_path / "scene.tif", pixels), tmp_path / "map.tif"
    write_map = geotiff.write

    def fail(*_: Any) -> None:
        raise _Interrupted

    monkeypatch.setattr(geotiff, "write", fail)
    with pytest.raises(_Interrupted):
        raster.predict(fast, source, target)
    monkeypatch.setattr(geotiff, "write", write_map)
    bands = [1, 2, 3]
    if change == "plan":
        fast = classifier(pixels[::-1])
    elif change == "scene":
        pixels = scene(bands=3, seed=1)
        write(source, pixels)
        os.utime(source, ns=(1, 1))  # a file that is written at once may have the time of the one before
    else:
        bands, pixels = [3, 2, 1], pixels[::-1]
    raster.predict(fast, source, target, bands=bands)
    np.testing.assert_array_equal(read(target)[0], _numbers(fast, pixels))


@pytest.mark.usefixtures("small_windows")
def test_two_runs_at_once_do_not_spoil_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = scene()
    fast = classifier(pixels)
    source, target = write(tmp_path / "scene.tif", pixels), tmp_path / "map.tif"
    read_window = Scene.read
    refused: list[bool] = []

    def meanwhile(self: Scene, window: Window) -> Any:
        if not refused:
            refused.append(True)
            with pytest.raises(OSError, match=r"map\.tif\.unfinished: another run is at work"):
                raster.predict(fast, source, target)
        return read_window(self, window)

    monkeypatch.setattr(Scene, "read", meanwhile)
    raster.predict(fast, source, target)
    np.testing.assert_array_equal(read(target)[0], _numbers(fast, pixels))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.tif", "scene.tif"]


def test_the_scene_is_never_replaced_by_its_map(tmp_path: Path) -> None:
    pixels = scene()
    source = write(tmp_path / "scene.tif", pixels)
    (tmp_path / "link.tif").symlink_to(source)
    for target in (source, tmp_path / "link.tif"):
        with pytest.raises(ValueError, match="the scene itself"):
            raster.predict(classifier(pixels), source, target)
    np.testing.assert_array_equal(read(source), pixels)


@pytest.mark.parametrize("dtype", ["complex64", "complex_int16"])
def test_complex_numbers_are_refused(tmp_path: Path, dtype: str) -> None:
    layout = {"driver": "GTiff", "count": 3, "height": 2, "width": 2, "transform": PLACE, "dtype": dtype}
    with rasterio.open(tmp_path / "scene.tif", "w", **layout):
        pass
    with pytest.raises(ValueError, match="has complex numbers"):
        raster.predict(classifier(scene()), tmp_path / "scene.tif", tmp_path / "map.tif")


def test_a_full_disk_is_an_error_and_leaves_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = scene()
    fast = classifier(pixels)
    source = write(tmp_path / "scene.tif", pixels)
    (tmp_path / "map.tif").write_bytes(b"an older map")

    def no_room(*_: Any, **__: Any) -> None:
        raise rasterio.errors.RasterioIOError("No space left on device")

    monkeypatch.setattr("rasterio.shutil.copy", no_room)
    with pytest.raises(OSError, match=r"map\.tif: the map could not be written .*No space left.*repeat the call"):
        raster.predict(fast, source, tmp_path / "map.tif")
    assert (tmp_path / "map.tif").read_bytes() == b"an older map"
    monkeypatch.undo()
    raster.predict(fast, source, tmp_path / "map.tif")
    np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], _numbers(fast, pixels))


def test_pictures_without_a_place_on_earth_are_welcome(tmp_path: Path) -> None:
    pixels = scene(dtype="uint8")
    fast = classifier(pixels)
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        source = write(tmp_path / "picture.png", pixels, driver="PNG", crs=None, transform=None)
    raster.predict(fast, source, tmp_path / "map.tif")
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], _numbers(fast, pixels))


def test_a_scene_wider_than_a_window_is_read_in_whole_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = scene(height=50, width=200)
    source = write(tmp_path / "scene.tif", pixels, tiled=True, blockxsize=16, blockysize=32)
    monkeypatch.setattr("dormie.scale.raster.scene._MOST_PIXELS", 32 * 70)
    with rasterio.open(source) as file:
        windows = list(Scene(file, (1, 2, 3), False).windows())
    covered = np.zeros(pixels.shape[1:], dtype=int)
    for window in windows:
        assert (window.row_off % 32, window.col_off % 16) == (0, 0)
        assert window.width * window.height <= 32 * 70
        covered[window.toslices()] += 1
    assert (covered == 1).all()
    fast = classifier(pixels)
    raster.predict(fast, source, tmp_path / "map.tif")
    np.testing.assert_array_equal(read(tmp_path / "map.tif")[0], _numbers(fast, pixels))

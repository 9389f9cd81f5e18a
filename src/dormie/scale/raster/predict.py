"""Whole scenes, file to file: windows are read ahead, answered and written, and a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.errors import NotGeoreferencedWarning
from rasterio.windows import Window

from dormie.errors import PlanFileError
from dormie.plan import file
from dormie.predictor import Predictor
from dormie.progress import Progress
from dormie.scale.raster import geotiff
from dormie.scale.raster.legend import Colour, Legend, legend_of
from dormie.scale.raster.pixels import PixelAnswers
from dormie.scale.raster.scene import Block, Scene, scene_of
from dormie.scale.raster.unfinished import Unfinished

_CACHE = 256  # MB that the file's library keeps; windows are whole blocks, which are read once


def predict(
    predictor: Predictor,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    bands: Sequence[int | str] | None = None,
    scaled: bool | None = None,
    probability: bool = False,
    settled_by: bool = False,
    colours: Mapping[Any, Colour] | None = None,
    threads: int | None = None,
) -> None:
    """
    Answer every pixel of a raster file, and write the answers as a GeoTIFF.

    The scene is read in windows, so that memory stays bounded whatever its size. The target appears when it is whole. A
    call that was interrupted goes on where it stopped when it is repeated.

    Parameters
    ----------
    predictor : Predictor
        The compiled model; the features of its rows are bands.
    source : str or path-like
        The raster: any file that rasterio reads.
    target : str or path-like
        The GeoTIFF to write. An existing file is replaced in one step, at the end.
    bands : sequence of int or str, default=None
        The bands that are the features, in their order: numbers from 1 on, or names. By default those with the names of
        the features, if the file has them, or else all bands except transparency.
    scaled : bool, default=None
        Whether to apply the scales and offsets that the file has for its bands: yes if the model was trained on scaled
        values. Only where a file has any must it be given.
    probability : bool, default=False
        Whether to add a band with the probability of the most probable class, in whole percent.
    settled_by : bool, default=False
        Whether to add a band with the number of the stage that settled each pixel; the file's tags have their names.
    colours : mapping of label to (red, green, blue), default=None
        Colours of classes, each part from 0 to 255; other classes get colours that are easy to tell apart.
    threads : int, default=None
        The most threads that answer pixels.

    Raises
    ------
    ValueError
        If the file's bands do not fit the model, if numbers are infinite, or if a parameter is out of range. If the
        target is the source.
    OSError
        If a file cannot be read or written, or if another run is working on the same target.

    Notes
    -----
    A class map has one band of the smallest type that holds the labels and a value for no data: 0, or the type's
    largest number where 0 is a label. Labels that are not whole numbers are numbered from 1 on; the tags `class_1`, ...
    name them. Values of regressors are written as float32, with NaN for no data.

    A pixel has no data if any of its bands is masked, has the file's value for no data, or is NaN.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import rasterio
    >>> from sklearn.svm import SVC
    >>> import dormie.raster
    >>> folder = Path(tempfile.mkdtemp())
    >>> scene = np.random.default_rng(0).integers(0, 4000, (2, 40, 50), dtype=np.uint16)
    >>> place = rasterio.Affine(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0)
    >>> layout = {"count": 2, "height": 40, "width": 50, "dtype": "uint16", "crs": "EPSG:32632", "transform": place}
    >>> with rasterio.open(folder / "scene.tif", "w", driver="GTiff", **layout) as file:
    ...     file.write(scene)
    >>> pixels = scene.reshape(2, -1).T
    >>> svc = SVC().fit(pixels[:300], np.where(pixels[:300, 0] > 2000, "bright", "dark"))
    >>> dormie.raster.predict(dormie.compile(svc), folder / "scene.tif", folder / "classes.tif")
    >>> with rasterio.open(folder / "classes.tif") as file:
    ...     print(file.dtypes, file.tags()["class_1"], file.tags()["class_2"])
    ('uint8',) bright dark
    """
    out = Path(target)
    _require_apart(Path(source), out)
    legend = legend_of(predictor.plan.machine, colours)
    answer = PixelAnswers(predictor, legend, probability, settled_by, threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)  # pictures without a place on earth are welcome
        with rasterio.Env(GDAL_CACHEMAX=_CACHE), rasterio.open(source) as dataset:
            scene = scene_of(dataset, predictor.plan.machine, bands, scaled)
            shape = (len(answer.bands), dataset.height, dataset.width)
            run = _run(predictor, scene, Path(source), answer.bands)
            with Unfinished(out, run, shape, legend.dtype) as unfinished:
                _answer_windows(scene, answer, unfinished)
                geotiff.write(unfinished.answers, out, dataset, legend, answer.bands, _tags(legend, answer))
                unfinished.discard()


def _require_apart(source: Path, target: Path) -> None:
    if source.exists() and target.exists() and source.samefile(target):
        raise ValueError(f"{target} is the scene itself, which the map would replace: choose another name")


def _answer_windows(scene: Scene, answer: PixelAnswers, unfinished: Unfinished) -> None:
    windows = list(scene.windows())
    left = [number for number in range(len(windows)) if number not in unfinished.done]
    began = time.perf_counter()
    with Progress() as progress:
        for count, (number, block) in enumerate(_read_ahead(scene, windows, left)):
            progress.say(_said(count, len(left), len(windows), time.perf_counter() - began))
            unfinished.write(number, windows[number], _answered(answer, block, windows[number], scene))


def _read_ahead(scene: Scene, windows: list[Window], numbers: list[int]) -> Iterator[tuple[int, Block]]:
    """Read windows one ahead of the one that is worked on: decoding and answering go on at the same time."""
    with ThreadPoolExecutor(1) as reader:
        coming: deque[tuple[int, Future[Block]]] = deque()
        for number in numbers:
            coming.append((number, reader.submit(scene.read, windows[number])))
            if len(coming) == 2:
                yield _first(coming)
        while coming:
            yield _first(coming)


def _first(coming: deque[tuple[int, Future[Block]]]) -> tuple[int, Block]:
    number, block = coming.popleft()
    return number, block.result()


def _answered(answer: PixelAnswers, block: Block, window: Window, scene: Scene) -> Any:
    try:
        return answer(block.bands, block.valid)
    except ValueError as error:
        place = np.argwhere(np.isinf(block.bands))
        if not len(place):
            raise
        band, row, column = (int(part) for part in place[0])
        raise ValueError(
            f"{scene.dataset.name}: band {scene.bands[band]}, row {window.row_off + row}, "
            f"column {window.col_off + column} is infinite; write such pixels as the file's value for no data"
        ) from error


def _said(count: int, left: int, windows: int, seconds: float) -> str:
    done = windows - left + count
    rest = f", about {seconds / count * (left - count):,.0f} s left" if count else ""
    return f"raster: window {done + 1:,} of {windows:,}{rest}"


def _run(predictor: Predictor, scene: Scene, source: Path, bands: list[str]) -> dict[str, Any]:
    """What the answers depend on, and the windows: if all of it is the same, answers of an earlier run are good."""
    dataset = scene.dataset
    about = source.stat() if source.is_file() else None
    return {
        "plan": _hash(predictor),
        "source": [str(dataset.name), dataset.shape, dataset.dtypes, dataset.block_shapes[0]],
        "file": None if about is None else [about.st_size, about.st_mtime_ns],
        "bands": [scene.bands, scene.scaled],
        "answers": bands,
    }


def _hash(predictor: Predictor) -> str:
    try:
        return hashlib.sha256(file.to_bytes(predictor.plan)).hexdigest()
    except (ValueError, PlanFileError):
        return os.urandom(16).hex()  # a plan that files cannot hold is never recognised: its runs begin anew


def _tags(legend: Legend, answer: PixelAnswers) -> dict[str, str]:
    named = {f"class_{value}": name for value, name in legend.names.items()}
    return named | {f"stage_{number}": name for number, name in answer.stages.items()}

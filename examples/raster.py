"""A class map of a satellite scene: fields, woods, water and houses from four bands, in a scene made on the spot.

python examples/raster.py                          # a small scene, and a picture of it
python examples/raster.py --size 10980 --exact     # the size of a Sentinel-2 tile, with each of two guarantees
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import rasterio
from scipy.ndimage import gaussian_filter, zoom
from scipy.spatial import cKDTree
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import dormie
from dormie.scale import raster

CLASSES = ("water", "wood", "meadow", "crop", "soil", "built")
COLOURS = dict(
    zip(
        CLASSES,
        [(64, 120, 190), (30, 95, 50), (150, 195, 110), (225, 195, 95), (165, 120, 85), (190, 70, 70)],
        strict=True,
    )
)
# Reflectances times 10,000 in blue, green, red and near infrared, and how much they vary.
SPECTRA = np.array(
    [
        [700, 620, 420, 260],
        [330, 520, 310, 2500],
        [480, 830, 560, 3300],
        [560, 880, 900, 2500],
        [880, 1200, 1560, 2200],
        [1250, 1420, 1580, 2050],
    ]
)
SPREAD = np.array([0.12, 0.16, 0.14, 0.17, 0.15, 0.25])
TILE = 1024  # pixels: larger scenes repeat the land in tiles, each with light and noise of its own


def land(size: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """The class of every pixel, and how bright its parcel is."""
    down, across = np.mgrid[:size, :size]
    parcels = rng.uniform(0, size, (size * size // 1800 + 8, 2))
    own = cKDTree(parcels).query(np.stack([down, across], -1).reshape(-1, 2))[1].reshape(size, size)
    classes = rng.choice([2, 3, 3, 4], len(parcels))[own]
    hills = gaussian_filter(rng.normal(size=(size, size)), size / 14, mode="wrap")
    rough = gaussian_filter(rng.normal(size=(size, size)), 6, mode="wrap")
    classes[hills / hills.std() + 0.5 * rough / rough.std() > 0.9] = 1
    town = np.hypot(down - 0.3 * size, across - 0.68 * size) + 18 * rough / rough.std() < 0.11 * size
    classes[town & ((down // 7 + across // 9) % 3 > 0)] = 5
    bed = size * (0.55 + 0.1 * np.sin(across / size * 7) + 0.03 * np.sin(across / size * 23))
    classes[np.abs(down - bed) < size * 0.012] = 0
    classes[hills / hills.std() < -2.0] = 0
    return classes, rng.normal(1.0, 0.09, len(parcels))[own]


def scene(size: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.intp]]:
    """Four bands of a square scene, with clouds that hide parts of it (0: no data), and the truth."""
    tile = min(size, TILE)
    classes, bright = land(tile, rng)
    light = zoom(rng.normal(1.0, 0.04, (8, 8)), tile / 8, order=1)[:tile, :tile]
    bands = np.empty((4, size, size), dtype=np.uint16)
    truth = np.empty((size, size), dtype=np.intp)
    for top in range(0, size, tile):
        for left in range(0, size, tile):
            here = np.s_[top : top + tile, left : left + tile]
            part = np.s_[: min(tile, size - top), : min(tile, size - left)]
            noise = rng.standard_normal((tile, tile, 4), dtype=np.float32) * SPREAD[classes][..., None]
            pixels = SPECTRA[classes] * (bright * light)[..., None] * (1 + noise)
            bands[:, here[0], here[1]] = np.clip(pixels, 1, 10_000).astype(np.uint16)[part].transpose(2, 0, 1)
            truth[here] = classes[part]
    clouds = zoom(gaussian_filter(rng.normal(size=(64, 64)), 3), size / 64, order=1)[:size, :size]
    bands[:, clouds > 2.2 * clouds.std()] = 0
    return bands, truth


def draw_pixels(
    bands: npt.NDArray[np.uint16], counts: list[int], rng: np.random.Generator
) -> list[npt.NDArray[np.intp]]:
    """Pixels without clouds, in disjoint groups of so many."""
    drawn = np.unique(rng.integers(0, bands[0].size, 2 * sum(counts)))
    clear = rng.permutation(drawn[bands.reshape(4, -1)[:, drawn].any(axis=0)])
    return np.split(clear, np.cumsum(counts))[:-1]


class Result(NamedTuple):
    """A map: its guarantee, how many times scikit-learn's rate, and how many labels of the sample differ."""

    name: str
    times: float
    differ: int


def main(arguments: list[str] | None = None) -> list[Result]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="rows and columns of the scene")
    parser.add_argument("--train", type=int, default=6000, help="labelled pixels to train on")
    parser.add_argument("--exact", action="store_true", help="make a map with an exact plan, too")
    parser.add_argument("--out", type=Path, default=Path("raster-out"), help="folder for the scene and the maps")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    bands, truth = scene(asked.size, rng)
    path = write(asked.out / "scene.tif", bands)

    pixels, labels = bands.reshape(4, -1), np.array(CLASSES)[truth.ravel()]
    train, held_out, sample = draw_pixels(bands, [asked.train, 20_000, 2000], rng)
    svc = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(pixels[:, train].T.astype(float), labels[train])
    began = time.perf_counter()
    expected = svc.predict(pixels[:, sample].T.astype(float))
    rate = len(sample) / (time.perf_counter() - began)
    right = np.mean(expected == labels[sample])
    print(f"{len(svc[-1].support_):,} support vectors; {right:.1%} of the pixels right; {rate:,.0f} pixels a second")

    plans = {"risk": dormie.compile(svc, pixels[:, held_out].T, fit_rows=pixels[:, train].T, risk=1e-3)}
    if asked.exact:
        plans["exact"] = dormie.compile(svc)
    results = []
    for name, fast in plans.items():
        began = time.perf_counter()
        raster.predict(fast, path, asked.out / f"{name}.tif", colours=COLOURS)
        seconds = time.perf_counter() - began
        with rasterio.open(asked.out / f"{name}.tif") as file:
            found = fast.classes_[file.read(1).flat[sample] - 1]
        results.append(Result(name, truth.size / seconds / rate, int(np.sum(found != expected))))
        print(f"{name}: {truth.size:,} pixels in {seconds:.1f} s, {results[-1].times:,.0f} times scikit-learn's rate;")
        print(f"  {results[-1].differ} of {len(sample):,} pixels differ; {fast.plan.cascade}")
    draw(bands, asked.out / "risk.tif", asked.out / "raster.jpg")
    return results


def write(path: Path, bands: npt.NDArray[np.uint16]) -> Path:
    """Write a scene as a tiled GeoTIFF."""
    layout = {"driver": "GTiff", "tiled": True, "crs": "EPSG:32632", "nodata": 0, "BIGTIFF": "IF_SAFER"}
    place = rasterio.Affine(10.0, 0.0, 600_000.0, 0.0, -10.0, 5_300_000.0)
    count, height, width = bands.shape
    with rasterio.open(
        path, "w", count=count, height=height, width=width, dtype="uint16", transform=place, **layout
    ) as file:
        file.write(bands)
    return path


def draw(bands: npt.NDArray[np.uint16], classes: Path, out: Path, most: int = 512) -> None:
    """The scene in false colours (near infrared, red, green) beside its map."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    false = bands[[3, 2, 1], :most, :most].transpose(1, 2, 0) / [4000.0, 2200.0, 1800.0]
    false[~bands[:, :most, :most].any(axis=0)] = 1.0
    with rasterio.open(classes) as file:
        table = np.array([file.colormap(1)[value][:3] for value in range(256)])
        numbers = file.read(1)[:most, :most]
        names = {int(key[6:]): name for key, name in file.tags().items() if key.startswith("class_")}
    table[0] = 255
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    for axes, picture, title in (
        (left, false.clip(0, 1), "near infrared, red, green"),
        (right, table[numbers], "classes"),
    ):
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    handles = [Patch(color=table[value] / 255, label=name) for value, name in names.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(out, dpi=110, pil_kwargs={"quality": 85})


if __name__ == "__main__":
    main()

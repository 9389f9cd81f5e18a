"""The finished map: a cloud-optimised GeoTIFF with the scene's place on earth, a legend and a colour table."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.io import DatasetReader

from dormie.scale.raster.legend import Legend
from dormie.scale.raster.unfinished import disk_errors

_GDAL_NAMES = {"uint8": "Byte", "uint16": "UInt16", "int16": "Int16", "int32": "Int32", "float32": "Float32"}
_OPAQUE = "255"


def write(
    answers: Path, target: Path, scene: DatasetReader, legend: Legend, bands: list[str], tags: dict[str, str]
) -> None:
    """Write a scene's answers, which lie in a plain file, as a GeoTIFF; it takes the target's name when it is whole."""
    description, whole = answers.with_name("answers.vrt"), answers.with_name("whole.tif")
    with disk_errors(target):
        description.write_bytes(_describe(answers, scene, legend, bands, tags))
        rasterio.shutil.copy(
            str(description),
            str(whole),
            driver="COG",
            COMPRESS="DEFLATE",
            OVERVIEW_RESAMPLING="AVERAGE" if legend.values is None else "NEAREST",
            NUM_THREADS="ALL_CPUS",
            BIGTIFF="IF_SAFER",
        )
        os.replace(whole, target)


def _describe(answers: Path, scene: DatasetReader, legend: Legend, bands: list[str], tags: dict[str, str]) -> bytes:
    """A GDAL virtual raster: what the plain file of answers means."""
    root = Element("VRTDataset", rasterXSize=str(scene.width), rasterYSize=str(scene.height))
    if scene.crs is not None:
        SubElement(root, "SRS").text = scene.crs.to_wkt()
    if not scene.transform.is_identity:
        SubElement(root, "GeoTransform").text = ", ".join(repr(float(part)) for part in scene.transform.to_gdal())
    metadata = SubElement(root, "Metadata")
    for key, text in tags.items():
        SubElement(metadata, "MDI", key=key).text = text
    for number in range(len(bands)):
        _describe_band(root, answers, scene, legend, bands, number)
    return tostring(root)


def _describe_band(
    root: Element, answers: Path, scene: DatasetReader, legend: Legend, bands: list[str], number: int
) -> None:
    """One band. Only a map of one band has colours: with more, the format takes the second band for transparency."""
    kind, size = _GDAL_NAMES[legend.dtype.name], legend.dtype.itemsize
    band = SubElement(root, "VRTRasterBand", dataType=kind, band=str(number + 1), subClass="VRTRawRasterBand")
    SubElement(band, "Description").text = bands[number]
    SubElement(band, "NoDataValue").text = "nan" if np.isnan(legend.nodata) else str(legend.nodata)
    if len(bands) == 1 and legend.colours and legend.dtype.name in ("uint8", "uint16"):
        SubElement(band, "ColorInterp").text = "Palette"
        _describe_colours(SubElement(band, "ColorTable"), legend)
    else:
        SubElement(band, "ColorInterp").text = "Gray"
    SubElement(band, "SourceFilename", relativetoVRT="1").text = answers.name
    SubElement(band, "ImageOffset").text = str(number * scene.width * scene.height * size)
    SubElement(band, "PixelOffset").text = str(size)
    SubElement(band, "LineOffset").text = str(scene.width * size)
    SubElement(band, "ByteOrder").text = "LSB"


def _describe_colours(table: Element, legend: Legend) -> None:
    for value in range(max(legend.colours) + 1):
        red, green, blue = map(str, legend.colours.get(value, (0, 0, 0)))
        SubElement(table, "Entry", c1=red, c2=green, c3=blue, c4=_OPAQUE if value in legend.colours else "0")

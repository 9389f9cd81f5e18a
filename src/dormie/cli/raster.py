"""`dormie raster`: a class map of a scene."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dormie.cli.failures import Exit, Failure, blaming, require_place
from dormie.cli.models import PlanFile, load_plan


def raster(
    plan: PlanFile,
    scene: Annotated[Path, typer.Argument(help="Any raster file that rasterio reads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The GeoTIFF to write.")],
    bands: Annotated[
        str | None, typer.Option(help="The bands that are the features, numbers or names separated by commas.")
    ] = None,
    scaled: Annotated[
        bool | None,
        typer.Option("--scaled/--stored", help="Apply the file's scales and offsets, or take numbers as stored."),
    ] = None,
    probability: Annotated[
        bool, typer.Option("--probability", help="Add a band of probabilities, in percent.")
    ] = False,
    settled_by: Annotated[
        bool, typer.Option("--settled-by", help="Add a band with the stage that settled each pixel.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="The most threads to use.")] = None,
) -> None:
    """Answer every pixel of a raster file, and write a GeoTIFF.

    A call that was interrupted goes on where it stopped when it is repeated.
    """
    fast = load_plan(plan)
    require_place(output, plan, scene)
    try:
        from dormie.scale import raster as rasters  # optional
    except ModuleNotFoundError as error:
        raise Failure(Exit.USAGE, f'rasters need {error.name}: pip install "dormie[raster]"') from None
    if not scene.is_file():
        raise Failure(Exit.ROWS, f"{scene}: there is no such file")
    with blaming(Exit.ROWS, scene):
        rasters.predict(
            fast,
            scene,
            output,
            bands=None if bands is None else [_band(band.strip()) for band in bands.split(",")],
            scaled=scaled,
            probability=probability,
            settled_by=settled_by,
            threads=threads,
        )


def _band(text: str) -> int | str:
    return int(text) if text.isdecimal() else text

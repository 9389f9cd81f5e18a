"""Copies are found in the data folder first, in any of their forms, packed or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dormie.lab.datasets import parse, places
from dormie.lab.datasets.fetch import served_name
from dormie.lab.datasets.openml import OpenML
from dormie.lab.datasets.places import PACKED, Form, Part, how_to_get, located
from dormie.lab.datasets.registry import RECIPES
from dormie.planner.cache_folder import cache_folder

PAIR = Form(("images", "labels"), parse.idx)
TABLE = Form(("small.csv",), parse.table, (("https://data.example/small.csv.gz",),))
PART = Part("set", "", (TABLE, PAIR))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty data folder and an empty cache folder, each with the set's folder in it."""
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = tmp_path / "data" / "set", tmp_path / "cache" / "dormie" / "set"
    for folder in found:
        folder.mkdir(parents=True)
    return found


@pytest.mark.parametrize("end", PACKED)
def test_a_file_may_be_packed_or_not(folders: tuple[Path, Path], end: str) -> None:
    place = folders[0] / f"small.csv{end}"
    assert located(PART) is None
    place.touch()
    assert located(PART) == (TABLE, [place])


def test_the_data_folder_comes_before_the_cache_and_all_files_of_a_form_are_needed(folders: tuple[Path, Path]) -> None:
    in_cache = folders[1] / "small.csv"
    in_cache.touch()
    (folders[0] / "images").touch()
    assert located(PART) == (TABLE, [in_cache])
    (folders[0] / "labels.gz").touch()
    assert located(PART) == (PAIR, [folders[0] / "images", folders[0] / "labels.gz"])


def test_without_xdg_the_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("DORMIE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "dormie"
    assert places.data_folder() is None


def test_how_to_get_names_every_form_and_its_home() -> None:
    text = how_to_get(Part("set", "", (TABLE, PAIR), OpenML("small", 1, "1")))
    for word in (
        "small.csv from https://data.example/small.csv.gz",
        "images and labels",
        "small from https://www.openml.org",
        "DORMIE_DATA",
    ):
        assert word in text


def test_homes_are_secure_and_serve_what_the_form_looks_for() -> None:
    parts = [part for recipe in RECIPES.values() for part in (recipe.train, recipe.test) if part is not None]
    for part in parts:
        assert any(form.origins for form in part.forms) or part.openml is not None
        for form in part.forms:
            for urls in form.origins:
                assert all(url.startswith("https://") for url in urls)
                served = [served_name(url) for url in urls]
                assert all(
                    name in [file + end for end in PACKED] for name, file in zip(served, form.files, strict=True)
                )

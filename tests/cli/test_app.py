"""The application as a whole: its version, its help, and what it says of warnings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dormie
from tests.cli.commands import X, files, require_failure, run
from tests.scale.raster.scenes import classifier, read, scene, write


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"{dormie.__version__}\n"


def test_every_command_says_what_it_is_for() -> None:
    result = run("--help")
    measuring = ("bench", "bench-values", "papers", "datasets")
    for name in ("demo", "compile", "inspect", "verify", "predict", "report", "raster", "reduce", *measuring):
        assert f" {name} " in result.stdout
        assert run(name, "--help").exit_code == 0


def test_inspect_says_in_words_and_as_data_what_a_plan_promises(tmp_path: Path) -> None:
    plan = files(tmp_path)["svm.dormie"]
    assert dormie.load(plan).explain() in run("inspect", plan).stdout
    found = json.loads(run("inspect", plan, "--json").stdout)
    assert found["guarantee"] == {"kind": "exact", "words": str(dormie.Exact())}
    assert (found["features"], found["classes"], found["bytes"]) == (2, [0, 1], plan.stat().st_size)


def test_a_model_is_reduced_to_a_text_model_or_a_plan(tmp_path: Path) -> None:
    given = files(tmp_path)
    for name in ("small.model", "small.dormie"):
        result = run("reduce", given["svm.model"], 9, "-o", tmp_path / name, "--rows", given["rows.csv"])
        assert result.exit_code == 0, result.output
        assert dormie.read(dormie.load(tmp_path / name) if "dormie" in name else tmp_path / name).n_points == 9
    assert dormie.load(tmp_path / "small.dormie").predict(X).shape == (900,)
    require_failure(run("reduce", given["svm.joblib"], 9, "-o", tmp_path / "x.model"), 3, "--trust")


def test_a_scene_becomes_a_map(tmp_path: Path) -> None:
    pixels = scene()
    fast = classifier(pixels)
    fast.save(tmp_path / "plan.dormie")
    source = write(tmp_path / "scene.tif", np.concatenate([pixels, pixels[:1]]))
    command = ["raster", tmp_path / "plan.dormie", source, "-o", tmp_path / "map.tif"]
    require_failure(run(*command), 4, "4 bands", "bands=")
    result = run(*command, "--bands", "1,2, 3")
    assert result.exit_code == 0, result.output
    labels = fast.classes_[read(tmp_path / "map.tif")[0].ravel() - 1]
    np.testing.assert_array_equal(labels, fast.predict(pixels.reshape(3, -1).T))
    require_failure(run("raster", tmp_path / "plan.dormie", tmp_path / "no.tif", "-o", tmp_path / "m"), 4, "no.tif")
    nowhere = tmp_path / "no folder" / "map.tif"
    require_failure(run("raster", tmp_path / "plan.dormie", source, "-o", nowhere, "--bands", "1,2,3"), 5, str(nowhere))
    require_failure(
        run("raster", tmp_path / "plan.dormie", source, "-o", tmp_path / "m", "--bands", "1,2,²"), 4, "no band '²'"
    )


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "svm.dormie", "rows.csv", "-o", "rows.csv"],
        ["compile", "svm.model", "-o", "svm.model"],
        ["compile", "svm.model", "-o", "rows.npy", "--rows", "rows.npy", "--risk", "0.1"],
        ["reduce", "svm.model", "3", "-o", "svm.model"],
        ["raster", "svm.dormie", "rows.csv", "-o", "rows.csv"],
    ],
)
def test_an_input_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    require_failure(run(*command), 2, "is an input of this command")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        "compile svm.model -o OUT",
        "predict svm.dormie rows.npy -o OUT",
        "reduce svm.model 3 -o OUT",
        "report svm.dormie rows.npy -o OUT",
        "raster svm.dormie rows.csv -o OUT",
    ],
)
def test_an_output_without_a_place_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dormie.Predictor, "predict", None)
    monkeypatch.setattr("dormie.planner.compile", None)
    require_failure(run(*command.replace("OUT", "nowhere/out.csv").split()), 5, "there is no folder nowhere")
    require_failure(run(*command.replace("OUT", ".").split()), 5, "it is a folder")

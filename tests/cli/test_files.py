"""Bad files of every kind and format: one line, the exit code that is documented, nothing left behind."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import MODEL, X, files, require_failure, run
from tests.plan.file.plans import crafted
from tests.scale.raster.scenes import classifier, scene, write

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

Write = Callable[[Path, Any], None]


def _table(columns: dict[str, Any]) -> Any:
    kinds = {str: pa.string(), float: pa.float64()}
    return pa.table({name: pa.array(column, kinds[type([*column, 0.0][0])]) for name, column in columns.items()})


def _write_csv(path: Path, columns: dict[str, Any]) -> None:
    rows = zip(*columns.values(), strict=True)
    text = "".join(",".join(map(str, row)) + "\n" for row in [columns, *rows]).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def _write_npy(path: Path, columns: dict[str, Any]) -> None:
    np.save(path, np.array(list(columns.values())).T)


def _write_npz(path: Path, columns: dict[str, Any]) -> None:
    np.savez(path, np.array(list(columns.values())).T)


def _write_svm(path: Path, columns: dict[str, Any]) -> None:
    rows = zip(*columns.values(), strict=True)
    path.write_text("".join("1 " + " ".join(f"{k}:{v}" for k, v in enumerate(row, 1)) + "\n" for row in rows))


WRITE: dict[str, Write] = {
    "rows.csv": _write_csv,
    "rows.csv.gz": _write_csv,
    "rows.parquet": lambda path, columns: parquet.write_table(_table(columns), path),
    "rows.feather": lambda path, columns: feather.write_feather(_table(columns), str(path), compression="lz4"),
    "rows.npy": _write_npy,
    "rows.npz": _write_npz,
    "rows.svm": _write_svm,
}
NUMBERS = {"left": X[300:, 0].tolist(), "right": X[300:, 1].tolist()}
COMMANDS = (
    "predict svm.dormie BAD -o out.csv",
    "verify svm.dormie BAD --against svm.model",
    "report svm.dormie BAD -o out.html",
    "compile svm.model -o out.dormie --effort quick --risk 0.05 --rows BAD",
    "compile svm.model -o out.dormie --effort quick --risk 0.05 --rows rows.npy --fit-rows BAD",
    "reduce svm.model 5 -o out.model --rows BAD",
)


def _missing(path: Path, write: Write) -> None:
    del path, write


def _empty(path: Path, write: Write) -> None:
    del write
    path.write_bytes(b"")


def _truncated(path: Path, write: Write) -> None:
    write(path, NUMBERS)
    content = path.read_bytes()
    end = len(content) * 2 // 3
    if path.suffix in (
        ".csv",
        ".svm",
    ):  # text that ends in the last number of a row may be whole
        end = content.rindex(b"\n", 0, end) + 4
    path.write_bytes(content[:end])


def _wrong_columns(path: Path, write: Write) -> None:
    write(path, {**NUMBERS, "third": NUMBERS["left"]})


def _too_few_columns(path: Path, write: Write) -> None:
    write(path, {"left": NUMBERS["left"]})


def _text(path: Path, write: Write) -> None:
    write(path, {"left": [*map(str, NUMBERS["left"][:-1]), "four"], "right": [*map(str, NUMBERS["right"])]})


def _not_finite(path: Path, write: Write) -> None:
    write(path, {"left": NUMBERS["left"], "right": [float("nan"), *NUMBERS["right"][1:]]})


def _no_rows(path: Path, write: Write) -> None:
    write(path, {"left": [], "right": []})


FAULTS = {
    fault.__name__[1:]: fault
    for fault in (_missing, _empty, _truncated, _wrong_columns, _too_few_columns, _text, _not_finite, _no_rows)
}
ANSWERED = {  # what is no fault to some
    ("too_few_columns", "rows.svm"): COMMANDS,  # all others are zeros
    **{("no_rows", name): COMMANDS[:1] for name in WRITE if name != "rows.svm"},  # where such a file is an empty one
}


def _listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good files, which is the current one."""
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:.* of the .* certifying rows are among fit_rows")
@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_rows(folder: Path, name: str, fault: str) -> None:
    bad = f"bad{name.removeprefix('rows')}"
    FAULTS[fault](folder / bad, WRITE[name])
    before = _listing(folder)
    for command in COMMANDS:
        result = run(*command.replace("BAD", bad).split())
        if command in ANSWERED.get((fault, name), ()):
            assert result.exit_code == 0, result.output
            for made in set(_listing(folder)) - set(before):
                (folder / made).unlink()
            continue
        require_failure(result, 4, bad)
        assert result.stdout == ""
        assert _listing(folder) == before


MODEL_COMMANDS = (
    "compile BAD -o out.dormie --trust",
    "reduce BAD 5 -o out.model --trust",
    "verify svm.dormie rows.npy --against BAD --trust",
    "report svm.dormie rows.npy -o out.html --against BAD --trust",
)
PLAN_COMMANDS = (
    "inspect BAD",
    "predict BAD rows.npy -o out.csv",
    "verify BAD rows.npy --against svm.model",
    "report BAD rows.npy -o out.html",
    "raster BAD scene.tif -o out.tif",
)


def _good_model(path: Path) -> None:
    if path.suffix == ".skops":
        pytest.importorskip("skops.io").dump(MODEL, path)
    elif path.suffix == ".pkl":
        path.write_bytes(pickle.dumps(MODEL))
    else:
        path.write_bytes(path.with_name(f"svm{path.suffix}").read_bytes())


def _no_model(path: Path) -> None:
    del path


def _no_bytes(path: Path) -> None:
    path.write_bytes(b"")


def _half(path: Path) -> None:
    _good_model(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _rows_instead(path: Path) -> None:
    path.write_bytes(path.with_name("rows.csv").read_bytes())


def _binary(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(3000))


def _a_folder(path: Path) -> None:
    path.mkdir()


MODEL_FAULTS = {fault.__name__[1:]: fault for fault in (_no_model, _no_bytes, _half, _rows_instead, _binary, _a_folder)}


def _require_refusals(folder: Path, bad: str, commands: tuple[str, ...], *words: str) -> None:
    before = sorted(folder.rglob("*"))
    for command in commands:
        result = run(*command.replace("BAD", bad).split())
        require_failure(result, 3, bad, *words)
        assert result.stdout == ""
        assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["bad.model", "bad.joblib", "bad.pkl", "bad.skops", "bad.dormie"])
@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_bad_models(folder: Path, name: str, fault: str) -> None:
    MODEL_FAULTS[fault](folder / name)
    _require_refusals(folder, name, MODEL_COMMANDS)


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_bad_plans(folder: Path, fault: str) -> None:
    MODEL_FAULTS[fault](folder / "bad.dormie")
    _require_refusals(folder, "bad.dormie", PLAN_COMMANDS)


def test_plans_of_a_newer_protocol(folder: Path) -> None:
    (folder / "bad.dormie").write_bytes(crafted(lambda document: document.schema.update(protocol=99)))
    _require_refusals(folder, "bad.dormie", (*MODEL_COMMANDS, *PLAN_COMMANDS), "protocol 99", "upgrade to dormie")


def test_models_that_are_no_plans(folder: Path) -> None:
    _require_refusals(folder, "svm.model", PLAN_COMMANDS, "dormie compile svm.model -o PLAN")


@pytest.mark.parametrize("name", ["svm.joblib", "bad.pkl", "bad.pickle"])
def test_pickles_without_trust(folder: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps(MODEL))
    commands = tuple(command.replace(" --trust", "") for command in MODEL_COMMANDS)
    _require_refusals(folder, name, commands, "--trust")


@pytest.mark.parametrize("fault", ["missing", "empty", "truncated", "folder"])
def test_bad_scenes(folder: Path, fault: str) -> None:
    pixels = scene()
    classifier(pixels).save(folder / "scene.dormie")
    bad = folder / "bad.tif"
    if fault == "folder":
        bad.mkdir()
    elif fault != "missing":
        write(bad, pixels)
        bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2 if fault == "truncated" else 0])
    before = sorted(folder.rglob("*"))
    result = run("raster", "scene.dormie", "bad.tif", "-o", "out.tif")
    require_failure(result, 4, "bad.tif")
    assert result.stdout == ""
    assert sorted(folder.rglob("*")) == before

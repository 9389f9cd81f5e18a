"""Python code in README.md, CONTRIBUTING.md and docs/ runs as it stands: block after block, one namespace a file.

What the prose takes for granted (a trained `svc`, rows `X`, ...) is in `_given`. A block that is not meant to run is
not marked as Python.
"""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

import dormie
from dormie.convert.libsvm.writer import write_libsvm
from dormie.estimators import SupportVectorTree
from dormie.machine.kernels import Custom
from dormie.machine.rules import Sign
from dormie.methods import METHODS
from tests import ROOT
from tests.scale.raster.scenes import scene
from tests.scale.raster.scenes import write as write_scene

DOCUMENTS = [
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if path.exists() and "```python" in path.read_text("utf-8")
]

PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if not {"generated", "gallery"} & set(path.parts)  # made
    and path.name not in {"contributing.md", "security.md"}  # CONTRIBUTING.md and SECURITY.md themselves
]
PICTURES = sorted(path for path in (ROOT / "docs" / "methods" / "pictures").glob("*.py") if path.stem != "drawing")
# Peers of the benchmark: `.[bench]` installs them.
NEEDS = {"onnx.md": ("onnxruntime", "skl2onnx"), "scikit-learn-intelex.md": ("sklearnex",)}


def _blocks(document: Path) -> list[Any]:
    """The Python blocks, compiled with the lines that they have in the document."""
    text = document.read_text("utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [
        compile("\n" * text.count("\n", 0, block.start(1)) + block.group(1), str(document), "exec") for block in found
    ]


def _pairs(a: Any, b: Any) -> Any:
    """A kernel of strings: how many pairs of letters both have."""
    found = [[{s[i : i + 2] for i in range(len(s) - 1)} for s in strings] for strings in (a, b)]
    return np.array([[float(len(u & v)) for v in found[1]] for u in found[0]])


def _given(folder: Path) -> dict[str, Any]:
    """Small models and rows, by the names that the documents have for them."""
    X, y = make_moons(3600, noise=0.2, random_state=0)
    X_train, y_train, X_held_out = X[:300], y[:300], X[600:]
    svc = SVC(C=10.0).fit(X_train, y_train)
    write_libsvm(dormie.read(svc), folder / "svm.model")
    (folder / "svm.range").write_text("x\n-1 1\n1 -2 3\n2 -2 2\n")
    noise = np.random.default_rng(0).normal(0, 40, (4, 70, 90))
    write_scene(folder / "scene.tif", (10 * scene(bands=4, dtype="float64") + noise).astype(np.uint16))
    strings = ["".join(letters) for letters in np.random.default_rng(0).choice([*"acgt"], size=(80, 6))]
    return {
        "dormie": dormie,
        "SVC": SVC,
        "SupportVectorTree": SupportVectorTree,
        "Custom": Custom,
        "Sign": Sign,
        "svc": svc,
        "svr": SVR().fit(X_train, X_train[:, 0]),
        "machine": dormie.read(svc),
        "X_train": X_train,
        "y_train": y_train,
        "X": X_train,
        "y": y_train,
        "x": X[400],
        "X_new": X[300:600],
        "X_held_out": X_held_out,
        "kernel": _pairs,
        "strings": strings,
        "support_strings": strings[:30],
        "weights": np.where(["ac" in string for string in strings[:30]], 1.0, -0.2),
        "bias": 0.5,
        "classes": np.array(["no", "yes"]),
    }


@pytest.mark.filterwarnings("ignore:Attribute `prob[AB]_` was deprecated:FutureWarning")  # skl2onnx reads them
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_run(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in NEEDS.get(document.name, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = _given(tmp_path)
    blocks = _blocks(document)
    assert blocks
    for block in blocks:
        exec(block, names)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_first_paragraph_is_prose(page: Path) -> None:
    """It says what the page is for, before any code, table or picture."""
    head, first, *_ = page.read_text("utf-8").removeprefix("\n").split("\n\n")
    assert re.fullmatch(r"# .+", head), head
    assert first[0].isalpha() and len(first) > 60, first  # noqa: PT018


def test_every_method_has_its_page_and_picture() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")} - {"index"}
    assert pages | {"regions"} == set(METHODS)
    assert pages == {path.stem for path in PICTURES}
    for page in pages:
        assert f".. plot:: methods/pictures/{page}.py" in (ROOT / "docs" / "methods" / f"{page}.md").read_text("utf-8")


@pytest.mark.parametrize("script", PICTURES, ids=lambda path: path.stem)
def test_pictures_are_drawn(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot.switch_backend("agg")
    monkeypatch.syspath_prepend(str(script.parent))
    try:
        runpy.run_path(str(script))
        assert pyplot.gcf().axes
    finally:
        pyplot.close("all")


def test_a_block_that_fails_is_named_by_its_line(tmp_path: Path) -> None:
    document = tmp_path / "WRONG.md"
    document.write_text("# Wrong\n\n```python\nx = 1\n```\n\ntext\n\n```python\ny = x\nz = no_such_name\n```\n")
    names: dict[str, Any] = {}
    first, second = _blocks(document)
    exec(first, names)
    with pytest.raises(NameError) as failed:
        exec(second, names)
    assert (failed.traceback[-1].path, failed.traceback[-1].lineno) == (document, 10)  # counted from 0


def test_the_reference_lists_every_public_name() -> None:
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs" / "api" / "index.md").read_text("utf-8"), flags=re.MULTILINE))
    modules = (
        "dormie",
        "dormie.kernels",
        "dormie.steps",
        "dormie.rules",
        "dormie.tree",
        "dormie.show",
        "dormie.estimators",
    )
    for module in map(import_module, (*modules, "dormie.raster", "dormie.tables", "dormie.dask")):
        names = {name for name in module.__all__ if not name.startswith("_")} - {"kernels", "rules", "steps", "tree"}
        assert names <= listed, (module.__name__, names - listed)

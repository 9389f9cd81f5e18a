"""The types that are written down for the native module are its own."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dormie.numerics import backend


def test_the_stub_is_the_one_that_the_module_gives(tmp_path: Path) -> None:
    if backend.extension is None:
        pytest.skip("there is no native core")
    made = tmp_path / "_native.pyi"
    stubgen = importlib.import_module("nanobind.stubgen")
    stubgen.main(["--quiet", "--module", backend.extension.__name__, "--output-file", str(made)])
    committed = Path(backend.__file__).with_name("_native.pyi")
    assert made.read_text() == committed.read_text(), "the bindings changed: make stub"

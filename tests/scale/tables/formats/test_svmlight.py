"""SVMlight text in blocks: what was written comes back, and errors name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dormie.scale.tables import open_rows
from dormie.scale.tables.formats import svmlight
from dormie.scale.tables.rows_file import nameless


@pytest.mark.parametrize("block", [50, 1 << 22])
def test_rows_come_back_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(svmlight, "_BLOCK", block)
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 7)) * (random.random((60, 7)) < 0.3)
    lines = [" ".join(["+1", *(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v)]) for row in X.tolist()]
    lines[3] += " # 1:2 3"
    (tmp_path / "x.svm").write_text(" \r\n".join(lines))
    blocks = list(open_rows(tmp_path / "x.svm", nameless(7)))
    assert (len(blocks) > 5) == (block == 50)
    assert np.array_equal(np.concatenate([part.values.toarray() for part in blocks]), X)
    assert [part.first_row for part in blocks] == np.cumsum(
        [0, *(part.values.shape[0] for part in blocks[:-1])]
    ).tolist()


@pytest.mark.parametrize(
    "wrong", ["1 1:x", "1 2", "1:2 1:3", "label", "1 1:2:3", "", "1 2:3 4\n1:5", "1:2 3", "1 1: 2 3"]
)
@pytest.mark.parametrize("before", [0, 30])
def test_lines_of_something_else_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, before: int
) -> None:
    monkeypatch.setattr(svmlight, "_BLOCK", 50)
    (tmp_path / "x.svm").write_text("1 1:2 3:4\n" * before + f"{wrong}\n" + "1 1:2\n")
    with pytest.raises(
        ValueError, match=rf"x\.svm, line {before + 1}: .* is not a label followed by index:value pairs"
    ):
        list(open_rows(tmp_path / "x.svm", nameless(3)))


@pytest.mark.parametrize("index", ["0", "4", "1.5"])
def test_features_that_the_model_does_not_have_are_named(tmp_path: Path, index: str) -> None:
    (tmp_path / "x.svm").write_text(f"1 1:2 3:4\n\n1 {index}:1\n".replace("\n\n", "\n-1\n"))
    with pytest.raises(ValueError, match=rf"x\.svm, line 3: there is a feature {index}; the model has features 1 to 3"):
        list(open_rows(tmp_path / "x.svm", nameless(3)))


def test_lines_of_a_comment_alone_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("# written by hand\n\t#\n1 1:2 3:4 # a row\n# the end\n-1 7:1\n")
    with pytest.raises(ValueError, match=r"x\.svm, line 5: there is a feature 7"):
        list(open_rows(tmp_path / "x.svm", nameless(3)))
    (block,) = open_rows(tmp_path / "x.svm", nameless(7))
    assert block.values.toarray().tolist() == [[2, 0, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]]


def test_indices_are_those_that_other_libraries_take(tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:2 3:4\n")
    (block,) = open_rows(tmp_path / "x.svm", nameless(3))
    assert (block.values.indices.dtype, block.values.indptr.dtype) == (np.int32, np.int32)


def test_some_features_alone_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("1 1:2\n")
    with pytest.raises(ValueError, match="all of them and in order"):
        list(open_rows(tmp_path / "x.svm", ["f1", "f0"]))

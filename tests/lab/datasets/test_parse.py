"""Every form in which sets are published is read as it is written."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.lab.datasets import parse
from dormie.lab.datasets.registry import RECIPES

PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress]

Rows = list[dict[int, float]]


@given(
    st.lists(st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6).filter(bool), max_size=5), min_size=1, max_size=8),
    st.sampled_from(PACKERS),
    st.sampled_from(["\n", " \n", "\r\n"]),
)
def test_svmlight_text_comes_back_as_written(rows: Rows, pack: Callable[[bytes], bytes], end: str) -> None:
    lines = [" ".join(["-1", *(f"{index}:{row[index]!r}" for index in sorted(row))]) for row in rows]
    content = pack(end.join([*lines, ""]).encode())
    X, y = parse.svmlight(content, features=9)
    expected = np.array([[row.get(index, 0.0) for index in range(1, 10)] for row in rows])
    assert np.array_equal(X.toarray(), expected)
    assert np.array_equal(parse.dense_svmlight(content, features=9)[0], expected)
    assert y.tolist() == [-1] * len(rows)


@pytest.mark.parametrize("text", [b"1 1:2 3\n", b"1:2 1:3\n", b"1 1:two\n", b"<html>moved</html>"])
def test_what_is_not_svmlight_text_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"LIBSVM text|text where a number belongs"):
        parse.svmlight(text, features=9)


@pytest.mark.parametrize("pack", PACKERS)
def test_tables_take_the_label_from_either_end_and_skip_a_header(pack: Callable[[bytes], bytes]) -> None:
    first = parse.table(pack(b"7,1.5,2\n8,2.5,3\n"), label=0)
    last = parse.table(pack(b"a,b,label\r\n1.5, 2,7\r\n2.5\t3 8 \n\n"), header=True)
    for X, y in (first, last):
        assert X.tolist() == [[1.5, 2.0], [2.5, 3.0]]
        assert y.tolist() == [7, 8]


@pytest.mark.parametrize("text", [b"1,2,3\n4,5\n", b"1,2,x\n", b"1,?,3\n", b"Not Found"])
def test_tables_with_gaps_or_words_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"reshape|text where a number belongs"):
        parse.table(text)


def test_words_stand_for_labels() -> None:
    X, y = parse.table(b"0.02,0.0371,R\n0.0453,0.0523,M\n", words={b"M": b"1", b"R": b"-1"})
    assert X.tolist() == [[0.02, 0.0371], [0.0453, 0.0523]]
    assert y.tolist() == [-1, 1]


def test_numbers_that_passed_through_binary_get_their_decimals_back() -> None:
    X, _ = parse.table(b"0.05644299999999999,1\n0.45834600000000003,0\n", decimals=6)
    assert X.tolist() == [[0.056443], [0.458346]]


def test_arff_begins_after_its_data_line() -> None:
    text = b"% a comment, 1 2 3\n@relation 'r'\n@attribute a numeric\n\n@DATA\n% and one here\n1, -1,UP\n\n0,2,DOWN\n"
    X, y = parse.arff(text, words={b"UP": b"1", b"DOWN": b"-1"}, leave_out=1)
    assert X.tolist() == [[-1.0], [2.0]]
    assert y.tolist() == [1, -1]
    with pytest.raises(ValueError, match="line @data"):
        parse.arff(b"1,2,3\n")


def test_idx_files_are_pixels_and_labels() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    head = b"\0" * 4
    images = gzip.compress(head * 4 + pixels.tobytes())
    X, y = parse.idx(images, head * 2 + bytes([7, 0, 9]))
    assert X.dtype == np.uint8
    assert X.tolist() == pixels.reshape(3, 4).tolist()
    assert y.tolist() == [7, 0, 9]


# Set and part: lines as the public home writes them, and the features and labels that they stand for.
PUBLIC = {
    ("sonar", "sonar.all-data"): (b"0.0200,0.0371,R\n0.0453,0.0523,M\n", [[0.02, 0.0371], [0.0453, 0.0523]], [-1, 1]),
    ("haberman", "haberman.data"): (b"30,64,1,1\n34,59,0,2\n", [[30, 64, 1], [34, 59, 0]], [-1, 1]),
    ("skin", "Skin_NonSkin.txt"): (b"74\t85\t123\t1\n198\t198\t158\t2\n", [[74, 85, 123], [198, 198, 158]], [1, -1]),
    ("cod-rna", "cod-rna"): (
        b"-1 1:-766 2:128 8:0.25 \n1 1:3\n",
        [[-766, 128, *[0] * 5, 0.25], [3, *[0] * 7]],
        [-1, 1],
    ),
    ("svmguide1", "svmguide1"): (b"1 1:2.617300e+01 2:58.8\n0 4:9\n", [[26.173, 58.8, 0, 0], [0, 0, 0, 9]], [1, -1]),
    ("svmguide1", "svmguide1.csv"): (
        b"1,2.617300e+01,58.8,0,0\n0,0,0,0,9",
        [[26.173, 58.8, 0, 0], [0, 0, 0, 9]],
        [1, -1],
    ),
    ("usps", "zip.train"): (b"6.0000 -1.0000 -0.6310 \n5.0000 1.0000 0.8620 \n", [[-1, -0.631], [1, 0.862]], [6, 5]),
    ("satimage", "sat.trn"): (b"92 115 3\n84 102 7\n", [[92, 115], [84, 102]], [3, 7]),
    ("phoneme", "phoneme.dat"): (
        b"@relation p\n@data\n1.24, 0.875, 0\n0.3, 0.6, 1\n",
        [[1.24, 0.875], [0.3, 0.6]],
        [-1, 1],
    ),
    ("phishing", "Training Dataset.arff"): (
        b"@attribute R { -1,1 }\n@data\n-1,0,-1\n1,1,1\n",
        [[-1, 0], [1, 1]],
        [-1, 1],
    ),
    ("electricity", "electricity-normalized.arff"): (
        b"@data\n0,2,0,0.056443,UP\n0.1,2,0.021277,0.051699,DOWN\n",
        [[0, 0.056443], [0.021277, 0.051699]],
        [1, -1],
    ),
    ("covtype", "test.csv"): (b"Elevation,Cover_Type\n0.67984,1\n0.5,7\n", [[0.67984], [0.5]], [1, 7]),
}


@pytest.mark.parametrize(("name", "file"), PUBLIC)
@pytest.mark.parametrize("pack", PACKERS)
def test_each_set_is_parsed_as_its_home_serves_it(name: str, file: str, pack: Callable[[bytes], bytes]) -> None:
    text, X, y = PUBLIC[name, file]
    read = next(form.parse for form in RECIPES[name].train.forms if form.files == (file,))
    features, labels = read(pack(text))
    assert features.tolist() == X
    assert labels.tolist() == y
    assert (features.dtype, labels.dtype) == (np.float64, np.int64)


def test_every_home_is_tried_here() -> None:
    libsvm_text = {"a9a", "w8a", "ijcnn1"}
    single_files = {
        (name, form.files[0])
        for name, recipe in RECIPES.items()
        for form in recipe.train.forms
        if recipe.train.folder not in ("ida", "mnist", *libsvm_text) and (form.origins or len(recipe.train.forms) == 1)
    }
    assert single_files - {("phoneme", "phoneme.csv")} <= set(PUBLIC)
    for name in libsvm_text:
        for form in RECIPES[name].train.forms:
            assert isinstance(form.parse, partial)
            assert form.parse.func in (parse.svmlight, parse.dense_svmlight)

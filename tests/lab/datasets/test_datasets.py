"""Data sets: found in the right order, checked each time, and read as their README describes them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.lab import datasets
from dormie.lab.datasets import fetch, parse
from dormie.lab.datasets.fetch import File, read_file
from dormie.lab.datasets.registry import RECIPES
from dormie.planner.cache_folder import cache_folder
from tests import ROOT

_BESIDE = ROOT.parent / "shared" / "data"
DATA = Path(os.environ.get("DORMIE_DATA") or _BESIDE)
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data: DORMIE_DATA is not set and {_BESIDE} is missing")

CONTENT = b"the bytes of a small file"
URL = "https://data.example/small.bin"


def _small(*origins: str) -> File:
    return File("set/small.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "a made-up place", origins)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty data folder and an empty cache folder."""
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache" / "dormie"


def _put(folder: Path, content: bytes) -> Path:
    place = folder / "set" / "small.bin"
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    return place


def _serve(monkeypatch: pytest.MonkeyPatch, pages: dict[str, bytes]) -> list[str]:
    """Replace the network by `pages`; the addresses asked for are recorded."""
    asked: list[str] = []

    def open_page(url: str, timeout: float) -> io.BytesIO:
        assert timeout > 0
        asked.append(url)
        if url not in pages:
            raise OSError("no such page")
        return io.BytesIO(pages[url])

    monkeypatch.setattr(fetch, "urlopen", open_page)
    return asked


def test_the_data_folder_comes_before_the_cache(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, {})
    _put(folders[0], CONTENT)
    _put(folders[1], b"something else, never looked at")
    assert read_file(_small(URL)) == CONTENT
    assert asked == []


def test_the_cache_comes_before_the_network(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, {})
    _put(folders[1], CONTENT)
    assert read_file(_small(URL)) == CONTENT
    assert asked == []


def test_without_xdg_the_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("DORMIE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "dormie"
    assert fetch.data_folder() is None


def test_a_download_is_kept_in_the_cache(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, {URL: CONTENT})
    assert read_file(_small(URL)) == CONTENT
    assert read_file(_small(URL)) == CONTENT
    assert asked == [URL]
    assert [path.name for path in (folders[1] / "set").iterdir()] == ["small.bin"]
    assert not folders[0].exists()


@pytest.mark.usefixtures("folders")
def test_a_mirror_that_fails_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrors = ("https://gone.example/", "https://wrong.example/", URL)
    asked = _serve(monkeypatch, {mirrors[1]: b"<html>moved</html>", URL: CONTENT})
    assert read_file(_small(*mirrors)) == CONTENT
    assert asked == list(mirrors)


@pytest.mark.parametrize("served", [CONTENT[:-3], b"", CONTENT + b"!", CONTENT[::-1]])
def test_a_truncated_or_altered_download_is_refused_and_leaves_nothing_behind(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, served: bytes
) -> None:
    _serve(monkeypatch, {URL: served})
    with pytest.raises(FileNotFoundError, match=r"set/small\.bin.*data\.example.*instead of.*DORMIE_DATA"):
        read_file(_small(URL))
    assert not folders[1].exists()


@pytest.mark.usefixtures("folders")
def test_a_missing_file_without_an_origin_says_where_to_get_it_and_where_to_put_it() -> None:
    with pytest.raises(FileNotFoundError, match=r"set/small\.bin is not at .*a made-up place.*DORMIE_DATA"):
        read_file(_small())


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("content", [CONTENT[:5], CONTENT[::-1]])
def test_a_damaged_file_is_an_error_that_names_it_and_is_left_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, which: int, content: bytes
) -> None:
    asked = _serve(monkeypatch, {URL: CONTENT})
    place = _put(folders[which], content)
    with pytest.raises(ValueError, match=r"small\.bin is not the file it should be"):
        read_file(_small(URL))
    assert place.read_bytes() == content
    assert asked == []


def test_only_https_origins_are_listed_and_every_file_says_where_its_data_come_from() -> None:
    files = [file for recipe in RECIPES.values() for file in (*recipe.train, *recipe.test)]
    assert all(url.startswith("https://") and url.endswith(Path(f.path).name) for f in files for url in f.origins)
    assert all(file.made_from for file in files)
    assert {file.path.split("/")[0] for file in files if file.origins} == {"mnist"}


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown data set 'mnits'; there are mnist, sonar"):
        datasets.load("mnits")
    with pytest.raises(ValueError, match="not an IDA set; they are banana"):
        datasets.ida_splits("sonar")


@given(
    st.lists(st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6).filter(bool), max_size=5), min_size=1, max_size=8)
)
def test_svmlight_text_comes_back_as_written(rows: list[dict[int, float]]) -> None:
    lines = [" ".join(["-1", *(f"{index}:{row[index]!r}" for index in sorted(row))]) + "\n" for row in rows]
    X, y = parse.svmlight(gzip.compress("".join(lines).encode()), features=9)
    expected = np.array([[row.get(index, 0.0) for index in range(1, 10)] for row in rows])
    assert np.array_equal(X.toarray(), expected)
    assert y.tolist() == [-1] * len(rows)


def test_tables_take_the_label_from_either_end_and_skip_a_header() -> None:
    first = parse.table(gzip.compress(b"7,1.5,2\n8,2.5,3\n"), label=0)
    last = parse.table(gzip.compress(b"a,b,label\n1.5,2,7\n2.5,3,8"), header=True)
    for X, y in (first, last):
        assert X.tolist() == [[1.5, 2.0], [2.5, 3.0]]
        assert y.tolist() == [7, 8]


def test_letters_written_as_numbers_become_strings() -> None:
    X, y = parse.strings(gzip.compress(b"1,2,3,1\n4,3,2,-1\n"), letters="AGCT")
    assert X.tolist() == ["AGC", "TCG"]
    assert [type(row) for row in X] == [str, str]
    assert y.tolist() == [1, -1]


def test_one_class_against_the_rest() -> None:
    data = datasets.Dataset("toy", "a toy", np.zeros((3, 1)), np.array([1, 2, 3]), np.zeros((1, 1)), np.array([2]))
    binary = data.against_rest(2)
    assert binary.y.tolist() == [-1, 1, -1]
    assert binary.y_test is not None
    assert binary.y_test.tolist() == [1]
    with pytest.raises(ValueError, match=r"toy: no class 9; the classes are \[1, 2, 3\]"):
        data.against_rest(9)


# name: (training shape, test rows, classes in order and how many rows each has in the training part)
SHAPES: dict[str, tuple[tuple[int, int], int | None, dict[int, int]]] = {
    "sonar": ((208, 60), None, {-1: 97, 1: 111}),
    "haberman": ((306, 3), None, {-1: 225, 1: 81}),
    "banana": ((5300, 2), None, {-1: 2924, 1: 2376}),
    "breast_cancer": ((277, 9), None, {-1: 196, 1: 81}),
    "diabetis": ((768, 8), None, {-1: 500, 1: 268}),
    "flare_solar": ((1066, 9), None, {-1: 477, 1: 589}),
    "german": ((1000, 20), None, {-1: 700, 1: 300}),
    "heart": ((270, 13), None, {-1: 150, 1: 120}),
    "image": ((2310, 18), None, {-1: 990, 1: 1320}),
    "ringnorm": ((7400, 20), None, {-1: 3736, 1: 3664}),
    "splice": ((3175, 60), None, {-1: 1648, 1: 1527}),
    "thyroid": ((215, 5), None, {-1: 150, 1: 65}),
    "titanic": ((2201, 3), None, {-1: 1490, 1: 711}),
    "twonorm": ((7400, 20), None, {-1: 3697, 1: 3703}),
    "waveform": ((5000, 21), None, {-1: 3353, 1: 1647}),
    "a9a": ((32561, 123), 16281, {-1: 24720, 1: 7841}),
    "w8a": ((49749, 300), None, {-1: 48270, 1: 1479}),
    "ijcnn1": ((49990, 22), 91701, {-1: 45137, 1: 4853}),
    "cod-rna": ((59535, 8), None, {-1: 39690, 1: 19845}),
    "covtype": ((92962, 54), None, {1: 33894, 2: 45328, 3: 5721, 4: 439, 5: 1519, 6: 2779, 7: 3282}),
    "skin": ((245057, 3), None, {-1: 194198, 1: 50859}),
    "phishing": ((11055, 30), None, {-1: 4898, 1: 6157}),
    "electricity": ((45312, 6), None, {-1: 26075, 1: 19237}),
    "satimage": ((4435, 36), 2000, {1: 1072, 2: 479, 3: 961, 4: 415, 5: 470, 7: 1038}),
    "phoneme": ((5404, 5), None, {-1: 3818, 1: 1586}),
    "svmguide1": ((3089, 4), 4000, {-1: 1089, 1: 2000}),
}
TEST_COUNTS = {"a9a": {-1: 12435, 1: 3846}, "ijcnn1": {-1: 82989, 1: 8712}, "svmguide1": {-1: 2000, 1: 2000}}


def _counts(y: Any) -> dict[int, int]:
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DORMIE_DATA", str(DATA))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@needs_data
@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_class_counts_are_the_published_ones(name: str) -> None:
    shape, test_rows, counts = SHAPES[name]
    data = datasets.load(name)
    assert (data.X.shape, _counts(data.y)) == (shape, counts)
    assert data.X.dtype == np.float64
    assert (None if data.X_test is None else data.X_test.shape[0]) == test_rows
    assert (data.y_test is None) == (test_rows is None)
    assert hasattr(data.X, "toarray") == (name in ("a9a", "w8a"))
    if name in TEST_COUNTS:
        assert _counts(data.y_test) == TEST_COUNTS[name]


@needs_data
@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(
    ("name", "shape", "test_shape", "low"),
    [("mnist", (60000, 784), (10000, 784), 0.0), ("usps", (7291, 256), (2007, 256), -1.0)],
)
def test_digits_have_ten_classes_and_scaled_pixels(
    name: str, shape: tuple[int, int], test_shape: tuple[int, int], low: float
) -> None:
    data = datasets.load(name)
    assert (data.X.shape, data.X_test.shape) == (shape, test_shape)
    assert (data.X.min(), data.X.max(), data.X.dtype) == (low, 1.0, np.float64)
    assert list(_counts(data.y)) == list(_counts(data.y_test)) == list(range(10))


@needs_data
@pytest.mark.usefixtures("real_data")
def test_mnist_has_the_published_class_counts() -> None:
    data = datasets.load("mnist")
    train, test = _counts(data.y), _counts(data.y_test)
    assert (min(train.values()), train[5], train[1]) == (5421, 5421, 6742)
    assert (min(test.values()), max(test.values())) == (892, 1135)


@needs_data
@pytest.mark.usefixtures("real_data")
def test_splice_is_there_as_strings() -> None:
    numbers, strings = datasets.load("splice"), datasets.load("splice-strings")
    assert strings.X.shape == (3175,)
    assert strings.y.tolist() == numbers.y.tolist()
    assert {(len(row), *sorted({*row} - {*"ACGT"})) for row in strings.X} == {(60,)}
    donor = "CCAGCTGCATCACAGGAGGCCAGCGAGCAGGTCTGTTCCAAGGGCCTTCGAGCCAGTCTG"  # the first string of the UCI file
    assert strings.y[strings.X.tolist().index(donor)] == 1
    sites, others = (strings.X[strings.y == label] for label in (1, -1))
    for which, least, most in ((sites, 0.95, 1.0), (others, 0.0, 0.2)):
        share = np.mean([row[28:30] == "AG" or row[30:32] == "GT" for row in which])
        assert least < share < most


def test_every_set_is_covered_here() -> None:
    assert set(datasets.NAMES) == {*SHAPES, "mnist", "usps", "splice-strings"}


@needs_data
@pytest.mark.usefixtures("real_data")
def test_ida_splits_are_disjoint_and_cover_all_rows() -> None:
    sizes = {"banana": (1, 400), "diabetis": (1, 468), "german": (1, 700), "heart": (10, 170), "image": (1, 1300)}
    sizes |= {"ringnorm": (10, 400), "titanic": (1, 150), "twonorm": (1, 400), "waveform": (1, 400)}
    for name in datasets.IDA_NAMES:
        splits = datasets.ida_splits(name)
        assert len(splits) == sizes.get(name, (0, 0))[0]
        for train, test in splits:
            assert len(train) == sizes[name][1]
            assert sorted([*train, *test]) == list(range(SHAPES[name][0][0]))

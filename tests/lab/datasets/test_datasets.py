"""Data sets: the arrays that come out are the published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.lab import datasets
from tests import ROOT

_BESIDE = ROOT.parent / "shared" / "data"
DATA = Path(os.environ.get("DORMIE_DATA") or _BESIDE)
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data: DORMIE_DATA is not set and {_BESIDE} is missing")


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown data set 'mnits'; there are mnist, sonar"):
        datasets.load("mnits")
    with pytest.raises(ValueError, match="not an IDA set; they are banana"):
        datasets.ida_splits("sonar")


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

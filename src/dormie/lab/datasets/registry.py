"""The list of data sets: where each is published, in which forms, and how a form is parsed.

Two sets were processed in a way that their first publication does not tell:

- covtype is a stratified 16 % sample of the UCI repository's 581,012 rows, scaled to [0, 1]. Which rows were drawn is
  known from the file of the sample alone, which `ramp-kits/covertype` serves. `covtype.data.gz` of the UCI repository
  cannot give it.
- the rows of the IDA sets have an order of their own, which `ida` restores from any copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dormie.lab.datasets import ida, parse
from dormie.lab.datasets.checksums import CONTENTS
from dormie.lab.datasets.openml import OpenML
from dormie.lab.datasets.places import Form, Parser, Part

_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_ESL = "https://hastie.su.domains/ElemStatLearn/datasets/"
_IDA = "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat"


@dataclass(frozen=True)
class Recipe:
    """A data set: one line about it, its training part, its test part, and what becomes of the features as stored."""

    description: str
    train: Part
    test: Part | None = None
    convert: Callable[[Any], Any] | None = None


def _form(name: str, parser: Parser, *origins: str) -> Form:
    """A form that is a single file."""
    return Form((name,), parser, tuple((origin,) for origin in origins))


def _recipe(name: str, description: str, *train: Form, test: tuple[Form, ...] = (), **more: Any) -> Recipe:
    """A set with a folder of its own name."""
    tested = Part(name, CONTENTS[f"{name} test"], test) if test else None
    return Recipe(description, Part(name, CONTENTS[name], train, **more), tested)


def _mnist(part: str) -> Form:
    names = (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte")
    return Form(names, parse.idx, tuple(tuple(f"{mirror}{name}.gz" for name in names) for mirror in _MNIST_MIRRORS))


def _pixels(X: Any) -> Any:
    return X / 255.0


def _ida(name: str) -> Part:
    return Part(
        "ida",
        CONTENTS[name],
        (
            _form(f"{name}.csv", parse.table),
            _form("benchmarks.mat", partial(ida.matlab_file, name=name), _IDA),
            Form(ida.split_files(name), partial(ida.text_files, name=name)),
        ),
    )


def _letters(X: Any) -> Any:
    """Numbers from 1 as strings of DNA.

    Written so, the strings are those of the UCI repository, and the letters around a splice site mostly AG and GT.
    """
    codes = np.frombuffer(b"AGCT", np.uint8)[X.astype(np.intp) - 1]
    return np.array([line.tobytes().decode("ascii") for line in codes], dtype=object)


def _two_classes(positive: int, parser: Parser = parse.table, **options: Any) -> Parser:
    """A parser whose label `positive` becomes +1 and the other -1."""
    return partial(_against, partial(parser, **options), positive)


def _against(parser: Parser, positive: int, content: bytes) -> tuple[Any, Any]:
    X, y = parser(content)
    return X, np.where(y == positive, 1, -1)


_IDA_SETS = {
    "banana": "banana: 5,300 rows, 2 features",
    "breast_cancer": "breast cancer: 277 rows, 9 features",
    "diabetis": "diabetes: 768 rows, 8 features",
    "flare_solar": "solar flare: 1,066 rows, 9 features",
    "german": "German credit: 1,000 rows, 20 features",
    "heart": "heart: 270 rows, 13 features",
    "image": "image segments: 2,310 rows, 18 features",
    "ringnorm": "ringnorm: 7,400 rows, 20 features",
    "splice": "splice: 3,175 rows, 60 features",
    "thyroid": "thyroid: 215 rows, 5 features",
    "titanic": "titanic: 2,201 rows, 3 features",
    "twonorm": "twonorm: 7,400 rows, 20 features",
    "waveform": "waveform: 5,000 rows, 21 features",
}
IDA_NAMES = tuple(_IDA_SETS)

_MINES = {b"M": b"1", b"R": b"-1"}
_a9a = partial(parse.svmlight, features=123)
_ijcnn1 = partial(parse.dense_svmlight, features=22)
_svmguide1 = (_two_classes(1, label=0), _two_classes(1, parse.dense_svmlight, features=4))
_usps = partial(parse.table, label=0)

RECIPES = {
    "mnist": Recipe(
        "MNIST digits: 60,000 + 10,000 rows, 784 pixels in [0, 1], ten classes",
        Part("mnist", CONTENTS["mnist"], (_mnist("train"),)),
        Part("mnist", CONTENTS["mnist test"], (_mnist("t10k"),)),
        _pixels,
    ),
    "sonar": _recipe(
        "sonar",
        "UCI sonar: 208 rows, 60 features, mine (+1) or rock (-1)",
        _form("sonar.csv", partial(parse.table, words=_MINES)),
        _form(
            "sonar.all-data",
            partial(parse.table, words=_MINES),
            f"{_UCI}undocumented/connectionist-bench/sonar/sonar.all-data",
        ),
    ),
    "haberman": _recipe(
        "haberman",
        "UCI Haberman's survival: 306 rows, 3 features, died (+1) or survived (-1)",
        _form("haberman.csv", _two_classes(2)),
        _form("haberman.data", _two_classes(2), f"{_UCI}haberman/haberman.data"),
    ),
    **{name: Recipe(f"IDA {description}, two classes", _ida(name)) for name, description in _IDA_SETS.items()},
    "splice-strings": Recipe(
        "IDA splice as text: 3,175 strings of 60 letters of DNA, two classes", _ida("splice"), convert=_letters
    ),
    "a9a": _recipe(
        "a9a",
        "Adult, LIBSVM encoding: 32,561 + 16,281 sparse rows, 123 binary features, two classes",
        _form("a9a", _a9a, f"{_LIBSVM}a9a"),
        test=(_form("a9a.t", _a9a, f"{_LIBSVM}a9a.t"),),
    ),
    "w8a": _recipe(
        "w8a",
        "web pages, LIBSVM encoding: 49,749 sparse rows, 300 binary features, two classes",
        _form("w8a", partial(parse.svmlight, features=300), f"{_LIBSVM}w8a"),
    ),
    "ijcnn1": _recipe(
        "ijcnn1",
        "IJCNN 2001 challenge: 49,990 + 91,701 rows, 22 features, two classes",
        _form("ijcnn1.trn", _ijcnn1),
        _form("ijcnn1", _ijcnn1, f"{_LIBSVM}ijcnn1.bz2"),
        test=(_form("ijcnn1.tst", _ijcnn1), _form("ijcnn1.t", _ijcnn1, f"{_LIBSVM}ijcnn1.t.bz2")),
    ),
    "cod-rna": _recipe(
        "cod-rna",
        "non-coding RNA: 59,535 rows, 8 unscaled features, two classes",
        _form("cod-rna.csv", partial(parse.table, label=0)),
        _form("cod-rna", partial(parse.dense_svmlight, features=8), f"{_LIBSVM}cod-rna"),
    ),
    "covtype": _recipe(
        "covtype",
        "forest cover, a stratified part: 92,962 rows, 54 features in [0, 1], seven classes",
        _form("covtype-92962.csv", partial(parse.table, header=True)),
        _form(
            "test.csv",
            partial(parse.table, header=True),
            "https://github.com/ramp-kits/covertype/raw/master/data/test.csv.gz",
        ),
    ),
    "skin": _recipe(
        "skin",
        "UCI skin segmentation: 245,057 rows sorted by class, 3 colours, skin (+1) or not (-1)",
        _form("Skin_NonSkin.txt", _two_classes(1), f"{_UCI}00229/Skin_NonSkin.txt"),
    ),
    "phishing": _recipe(
        "phishing",
        "UCI phishing websites: 11,055 rows, 30 features of -1, 0 or 1, two classes",
        _form("phishing.csv", parse.table),
        _form("Training Dataset.arff", parse.arff, f"{_UCI}00327/Training%20Dataset.arff"),
        openml=OpenML("PhishingWebsites", 1, "1"),
    ),
    "electricity": _recipe(
        "electricity",
        "electricity (ELEC2): 45,312 rows in order of time, 6 features in [0, 1], price up (+1) or down (-1)",
        _form("elec.csv", _two_classes(1, header=True, decimals=6)),
        # Without its columns date and day, which the other copy does not have.
        _form("electricity-normalized.arff", partial(parse.arff, words={b"UP": b"1", b"DOWN": b"-1"}, leave_out=2)),
        openml=OpenML("electricity", 1, "UP", ("date", "day")),
    ),
    "usps": _recipe(
        "usps",
        "USPS digits: 7,291 + 2,007 rows, 256 pixels in [-1, 1], ten classes",
        _form("usps-train.csv", _usps),
        _form("zip.train", _usps, f"{_ESL}zip.train.gz"),
        test=(_form("usps-test.csv", _usps), _form("zip.test", _usps, f"{_ESL}zip.test.gz")),
    ),
    "satimage": _recipe(
        "satimage",
        "Statlog Landsat: 4,435 + 2,000 rows, 36 features, six classes",
        _form("sat.trn", parse.table, f"{_UCI}statlog/satimage/sat.trn"),
        test=(_form("sat.tst", parse.table, f"{_UCI}statlog/satimage/sat.tst"),),
    ),
    "phoneme": _recipe(
        "phoneme",
        "ELENA phonemes: 5,404 rows, 5 features, oral (+1) or nasal (-1)",
        _form(
            "phoneme.csv", _two_classes(1), "https://raw.githubusercontent.com/jbrownlee/Datasets/master/phoneme.csv"
        ),
        _form("phoneme.dat", _two_classes(1, parse.arff)),
    ),
    "svmguide1": _recipe(
        "svmguide1",
        "astroparticles: 3,089 + 4,000 rows, 4 unscaled features, two classes",
        _form("svmguide1.csv", _svmguide1[0]),
        _form("svmguide1", _svmguide1[1], f"{_LIBSVM}svmguide1"),
        test=(
            _form("svmguide1.t.csv", _svmguide1[0]),
            _form("svmguide1.t", _svmguide1[1], f"{_LIBSVM}svmguide1.t"),
        ),
    ),
}

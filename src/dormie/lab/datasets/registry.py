"""The list of data sets: the files of each, how to parse them, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dormie.lab.datasets import parse
from dormie.lab.datasets.checksums import CHECKSUMS
from dormie.lab.datasets.fetch import File

# The two mirrors serve the original gzip files. For the other data sets, public pages serve the same data in other
# formats, so the files have no address: `made_from` says where the data come from.
_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_UCI = "the UCI repository (https://archive.ics.uci.edu), data set"
_LIBSVM = "the LIBSVM data page (https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/), data set"
_IDA = "the IDA benchmark repository of G. Raetsch, T. Onoda and K.-R. Mueller, data set"


@dataclass(frozen=True)
class Recipe:
    """A data set: one line about it, its files, and the parser of its training files and of its test files."""

    description: str
    parse: Callable[..., tuple[Any, Any]]
    train: tuple[File, ...]
    test: tuple[File, ...] = ()


def _file(path: str, made_from: str, origins: tuple[str, ...] = ()) -> File:
    return File(path, *CHECKSUMS[path], made_from, origins)


def _mnist(part: str) -> tuple[File, ...]:
    names = (f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz")
    origin = "MNIST, by Y. LeCun, C. Cortes and C. J. C. Burges"
    return tuple(_file(f"mnist/{name}", origin, tuple(mirror + name for mirror in _MNIST_MIRRORS)) for name in names)


def _recipe(
    description: str, parser: Callable[..., Any], made_from: str, train: str, test: str | None = None
) -> Recipe:
    tested = () if test is None else (_file(test, made_from),)
    return Recipe(description, parser, (_file(train, made_from),), tested)


def _ida(name: str, description: str) -> Recipe:
    return _recipe(f"IDA {description}, two classes", parse.table, f"{_IDA} {name}", f"ida/{name}.csv.gz")


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
IDA_SPLITS = _file("ida/splits.npz", f"{_IDA}s of all names (rows of the original split files)")

RECIPES = {
    "mnist": Recipe(
        "MNIST digits: 60,000 + 10,000 rows, 784 pixels in [0, 1], ten classes",
        parse.idx,
        _mnist("train"),
        _mnist("t10k"),
    ),
    "sonar": _recipe(
        "UCI sonar: 208 rows, 60 features, mine (+1) or rock (-1)",
        parse.sonar,
        f"{_UCI} Connectionist Bench (Sonar, Mines vs. Rocks)",
        "sonar/sonar.csv.gz",
    ),
    "haberman": _recipe(
        "UCI Haberman's survival: 306 rows, 3 features, died (+1) or survived (-1)",
        partial(parse.two_class_table, positive=2),
        f"{_UCI} Haberman's Survival",
        "haberman/haberman.csv.gz",
    ),
    **{name: _ida(name, description) for name, description in _IDA_SETS.items()},
    # Written so, the strings are those of the UCI repository, and the letters around a splice site mostly AG and GT.
    "splice-strings": _recipe(
        "IDA splice as text: 3,175 strings of 60 letters of DNA, two classes",
        partial(parse.strings, letters="AGCT"),
        f"{_IDA} splice",
        "ida/splice.csv.gz",
    ),
    "a9a": _recipe(
        "Adult, LIBSVM encoding: 32,561 + 16,281 sparse rows, 123 binary features, two classes",
        partial(parse.svmlight, features=123),
        f"{_LIBSVM} a9a",
        "a9a/a9a.xz",
        "a9a/a9a.t.xz",
    ),
    "w8a": _recipe(
        "web pages, LIBSVM encoding: 49,749 sparse rows, 300 binary features, two classes",
        partial(parse.svmlight, features=300),
        f"{_LIBSVM} w8a",
        "w8a/w8a.xz",
    ),
    "ijcnn1": _recipe(
        "IJCNN 2001 challenge: 49,990 + 91,701 rows, 22 features, two classes",
        partial(parse.dense_svmlight, features=22),
        f"{_LIBSVM} ijcnn1",
        "ijcnn1/ijcnn1.trn.bz2",
        "ijcnn1/ijcnn1.tst.bz2",
    ),
    "cod-rna": _recipe(
        "non-coding RNA: 59,535 rows, 8 unscaled features, two classes",
        partial(parse.table, label=0),
        f"{_LIBSVM} cod-rna",
        "cod-rna/cod-rna.csv.gz",
    ),
    "covtype": _recipe(
        "forest cover, a stratified part: 92,962 rows, 54 features in [0, 1], seven classes",
        partial(parse.table, header=True),
        f"{_UCI} Covertype (the public test part of ramp-kits/covertype)",
        "covtype/covtype-92962.csv.gz",
    ),
    "skin": _recipe(
        "UCI skin segmentation: 245,057 rows sorted by class, 3 colours, skin (+1) or not (-1)",
        partial(parse.two_class_table, positive=1),
        f"{_UCI} Skin Segmentation",
        "skin/Skin_NonSkin.txt.xz",
    ),
    "phishing": _recipe(
        "UCI phishing websites: 11,055 rows, 30 features of -1, 0 or 1, two classes",
        parse.table,
        f"{_UCI} Phishing Websites",
        "phishing/phishing.csv.gz",
    ),
    "electricity": _recipe(
        "electricity (ELEC2): 45,312 rows in order of time, 6 features in [0, 1], price up (+1) or down (-1)",
        partial(parse.two_class_table, positive=1, header=True),
        "OpenML (https://www.openml.org), data set electricity, without its date and day",
        "electricity/elec.csv.gz",
    ),
    "usps": _recipe(
        "USPS digits: 7,291 + 2,007 rows, 256 pixels in [-1, 1], ten classes",
        partial(parse.table, label=0),
        "zip.train and zip.test of The Elements of Statistical Learning (https://hastie.su.domains/ElemStatLearn/)",
        "usps/usps-train.csv.gz",
        "usps/usps-test.csv.gz",
    ),
    "satimage": _recipe(
        "Statlog Landsat: 4,435 + 2,000 rows, 36 features, six classes",
        parse.table,
        f"{_UCI} Statlog (Landsat Satellite)",
        "satimage/sat.trn.gz",
        "satimage/sat.tst.gz",
    ),
    "phoneme": _recipe(
        "ELENA phonemes: 5,404 rows, 5 features, oral (+1) or nasal (-1)",
        partial(parse.two_class_table, positive=1),
        "the ELENA project, also in KEEL (https://keel.es), data set phoneme",
        "phoneme/phoneme.csv.gz",
    ),
    "svmguide1": _recipe(
        "astroparticles: 3,089 + 4,000 rows, 4 unscaled features, two classes",
        partial(parse.two_class_table, positive=1, label=0),
        f"{_LIBSVM} svmguide1",
        "svmguide1/svmguide1.csv.gz",
        "svmguide1/svmguide1.t.csv.gz",
    ),
}

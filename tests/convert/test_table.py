"""docs/models.md says what the readers read, and the advice about models that are not read is of use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

import dormie
from dormie.convert.sklearn.reader import ADVICE
from dormie.convert.table import SECTIONS
from dormie.estimators import SupportVectorTree
from tests.convert.models_page import PAGE, with_tables


def test_the_page_has_the_tables_that_the_readers_make() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_tables(page), "run python -m tests.convert.models_page"


def test_every_reader_has_a_line_of_its_own_in_the_tables() -> None:
    page = PAGE.read_text("utf-8")
    for readers in SECTIONS.values():
        for name, reader in readers.items():
            assert f"| `{name}` | {reader.line} |" in page
            assert "|" not in reader.line
            assert "\n" not in reader.line


RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
TWO, THREE = (X[:, 0] > 0).astype(int), (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)
LABELS, TARGETS = np.c_[TWO, THREE], X[:, :2] ** 2
TREE = SupportVectorTree(SVC(), evaluations=5).fit(X, TWO)


def _pairs(member: Any) -> list[tuple[str, Any]]:
    return [("a", member), ("b", type(member)(C=0.1))]


# For every model that is refused: one of these, and what its advice names, each to be compiled.
ADVISED: dict[str, tuple[Callable[[], Any], Callable[[Any], list[Any]]]] = {
    "RBFSampler": (
        lambda: RBFSampler().fit(X),
        lambda _: [make_pipeline(Nystroem(n_components=20), LinearSVC()).fit(X, TWO), SVC().fit(X, TWO)],
    ),
    "OutputCodeClassifier": (
        lambda: OutputCodeClassifier(SVC()).fit(X, THREE),
        lambda _: [SVC().fit(X, THREE), OneVsRestClassifier(SVC()).fit(X, THREE)],
    ),
    "SupportVectorTree": (lambda: TREE, lambda model: [model.machine_]),
    "StackingClassifier": (
        lambda: StackingClassifier(_pairs(SVC())).fit(X, THREE),
        lambda model: [*model.estimators_, VotingClassifier(_pairs(SVC())).fit(X, THREE)],
    ),
    "ClassifierChain": (
        lambda: ClassifierChain(SVC()).fit(X, LABELS > 0),
        lambda _: [MultiOutputClassifier(SVC()).fit(X, LABELS > 0)],
    ),
    "RegressorChain": (
        lambda: RegressorChain(SVR()).fit(X, TARGETS),
        lambda _: [MultiOutputRegressor(SVR()).fit(X, TARGETS)],
    ),
    "AdaBoostClassifier": (
        lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(X, TWO),
        lambda _: [BaggingClassifier(SVC(), 2).fit(X, TWO), VotingClassifier(_pairs(SVC())).fit(X, TWO)],
    ),
    "AdaBoostRegressor": (
        lambda: AdaBoostRegressor(SVR(), n_estimators=2).fit(X, TARGETS[:, 0]),
        lambda _: [
            BaggingRegressor(SVR(), 2).fit(X, TARGETS[:, 0]),
            VotingRegressor(_pairs(SVR())).fit(X, TARGETS[:, 0]),
        ],
    ),
}


def test_all_advice_is_tried() -> None:
    assert set(ADVISED) == set(ADVICE)


@pytest.mark.parametrize("name", ADVISED)
def test_the_advice_is_of_use(name: str) -> None:
    refused, advised = ADVISED[name]
    model = refused()
    with pytest.raises(dormie.UnreadableModelError) as refusal:
        dormie.compile(model)
    assert ADVICE[name] in str(refusal.value)
    for each in advised(model):
        fast = dormie.compile(each, methods=[])
        if hasattr(each, "predict"):
            np.testing.assert_allclose(fast.predict(X), each.predict(X), rtol=1e-9)

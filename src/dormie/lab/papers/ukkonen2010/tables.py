"""Ukkonen 2010, *The Support Vector Tree*: Table 1.

On twenty splits of eleven IDA sets, trees are compared with the SVM they approximate, with other classifiers of as few
kernel evaluations (`classifiers.py`), and with the paper's numbers (`printed.py`). Labels of test rows serve only for
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dormie.lab import datasets
from dormie.lab.papers.table import Cell, Numbers, Table
from dormie.lab.papers.ukkonen2010.classifiers import (
    DUMMY,
    FITTED,
    GREEDY,
    LINEAR,
    MARGIN,
    ONE_START,
    REDUCED,
    SVM,
    TRAINING,
    UNSCALED,
    Answers,
    classify,
)
from dormie.lab.papers.ukkonen2010.printed import TABLE_1
from dormie.lab.papers.ukkonen2010.problems import TRAINING_ROWS, Labels, Trainer, linear_svm, rbf_svm, splits
from dormie.lab.papers.ukkonen2010.seconds import SET, walking
from dormie.lab.papers.ukkonen2010.strings import strings
from dormie.lab.papers.ukkonen2010.tiny import beside_exact
from dormie.machine.kernels import RBF
from dormie.progress import Progress

_TITLE = "Ukkonen 2010, Table 1"
_PRINTED_AS = {
    DUMMY: "dummy",
    LINEAR: "linear",
    SVM: "svm",
    ONE_START: "tree",
    REDUCED: "cpsp",
    TRAINING: "cpsp_training",
}
_HOLDS = "sets where it holds"
_NEAR_PAPER, _NEAR_SVM = 0.02, 0.03  # in accuracy


@dataclass(frozen=True)
class Extent:
    """The sets, the number of splits of each and of the strings, and on how many splits the machines are tuned."""

    sets: tuple[str, ...] = tuple(TRAINING_ROWS)
    splits: int = 20
    tuned_on: int = 5
    string_splits: int = 5
    training_strings: int = 1000  # as many as in the numeric form of the set


FULL = Extent()
SMALL = Extent(splits=2, tuned_on=1, string_splits=1)


@dataclass(frozen=True)
class Score:
    """The score of a classifier on the test rows of one split, or the mean over several."""

    accuracy: float
    agreement: float  # with the SVM
    evaluations: float  # per row

    @classmethod
    def of(cls, answers: Answers, svm: Answers, y: Labels) -> Score:
        right, same = answers.labels == y, answers.labels == svm.labels
        return cls(float(right.mean()), float(same.mean()), answers.evaluations)

    @classmethod
    def mean(cls, scores: list[Score]) -> Score:
        table = np.array([(each.accuracy, each.agreement, each.evaluations) for each in scores])
        return cls(*table.mean(axis=0).tolist())


@dataclass(frozen=True)
class Result:
    """One set: how its SVM is trained, and the score of every classifier."""

    trainer: Trainer
    scores: Mapping[str, Score]


Results = Mapping[str, Result]


def tables(seconds: float) -> Iterator[Table]:
    """The tables for twenty splits of eleven sets: about ten minutes of processor time."""
    return tables_of(FULL, seconds)


def small_tables(seconds: float) -> Iterator[Table]:
    """The tables for two splits of each set, with the machines tuned on the first: about a minute."""
    return tables_of(SMALL, seconds)


def tables_of(extent: Extent, seconds: float) -> Iterator[Table]:
    """Accuracies, sizes, agreement with the SVM, how the trees compare, tiny exact trees, seconds, and strings."""
    with Progress() as progress:
        results = {name: measure(name, extent, progress.say) for name in extent.sets}
    yield accuracies(results, extent)
    yield sizes(results)
    yield agreement(results)
    yield differences(results)
    yield beside_exact({name: (splits(name, 1)[0], result.trainer) for name, result in results.items()})
    if SET in results:
        yield walking(splits(SET, 1)[0], results[SET].trainer, seconds)
    yield strings(extent.string_splits, extent.training_strings)


def measure(name: str, extent: Extent, say: Callable[[str], None]) -> Result:
    """Score all classifiers on the splits of one set."""
    say(f"{name}: tuning")
    several, printed = splits(name, extent.splits), TABLE_1[name]
    tuning = several[: extent.tuned_on]
    linear, rbf = linear_svm(tuning), rbf_svm(tuning, printed.support_vectors)
    scores = []
    for seed, split in enumerate(several):
        say(f"{name}: split {seed + 1} of {extent.splits}")
        found = classify(split, linear, rbf, printed.evaluations, seed)
        scores.append({classifier: Score.of(each, found[SVM], split.y_test) for classifier, each in found.items()})
    return Result(rbf, {classifier: Score.mean([each[classifier] for each in scores]) for classifier in scores[0]})


def accuracies(results: Results, extent: Extent) -> Table:
    """A line for each set, a column for each classifier: the paper's accuracy, if it gives one, and ours."""
    order = (DUMMY, LINEAR, SVM, ONE_START, UNSCALED, GREEDY, FITTED, REDUCED, TRAINING)
    columns = {each: {name: _accuracy(result, name, each) for name, result in results.items()} for each in order}
    counts = {name: min(len(datasets.ida_splits(name)), extent.splits) for name in results}
    original = ", ".join(f"{count} of {name}" for name, count in counts.items() if count)
    notes = (
        "pairs: paper, here; share of correct test rows, mean over the splits",
        "the greedy tree with one start is paired with the paper's sv-tree; the machines of few vectors, fitted here "
        "to the SVM's outputs, with its cpsp and cpsp(tr), which are trained with as many vectors",
        f"{extent.splits} splits per set, of the published sizes, by seed; original ones first: {original or 'none'}",
        "features standardised on training rows; C and gamma by 5-fold cross-validation on the training rows of the "
        f"first splits ({extent.tuned_on}): of the pairs within a standard error of the best, the one with about as "
        "many support vectors as the paper",
    )
    return Table(f"{_TITLE}: accuracies", columns, notes)


def _accuracy(result: Result, name: str, classifier: str) -> Cell:
    ours = round(result.scores[classifier].accuracy, 3)
    printed_as = _PRINTED_AS.get(classifier)
    return ours if printed_as is None else (getattr(TABLE_1[name], printed_as), ours)


def sizes(results: Results) -> Table:
    """A line for each set: the sizes of its machines, and the kernel evaluations per row."""
    cells = {name: _sizes(result, name) for name, result in results.items()}
    columns = {column: {name: cells[name][column] for name in cells} for column in next(iter(cells.values()))}
    notes = (
        "pairs except for C and gamma: paper, here; kernel evaluations per test row, mean over the splits",
        "vectors of the reduced sets and of the training points: evaluations of the tree with one start, rounded up",
        f"on training rows the tree with restarts may take the paper's evaluations, the fitted one {MARGIN} fewer; "
        "those with one start end where a leaf has five rows, as in the paper",
    )
    return Table(f"{_TITLE}: sizes", columns, notes)


def _sizes(result: Result, name: str) -> Numbers:
    printed, scores, kernel = TABLE_1[name], result.scores, result.trainer.kernel
    assert isinstance(kernel, RBF)
    return {
        "C, gamma": (result.trainer.C, round(kernel.gamma, 4)),
        "support vectors": (printed.support_vectors, round(scores[SVM].evaluations)),
        f"{ONE_START}: evaluations": (printed.evaluations, round(scores[ONE_START].evaluations, 2)),
        **{f"{tree}: evaluations": round(scores[tree].evaluations, 2) for tree in (UNSCALED, GREEDY, FITTED)},
        "vectors": (printed.vectors, round(scores[REDUCED].evaluations, 1)),
    }


def agreement(results: Results) -> Table:
    """A line for each set: how often each classifier of few evaluations agrees with the SVM."""
    columns: dict[str, Numbers] = {
        classifier: {name: round(100 * each.scores[classifier].agreement, 1) for name, each in results.items()}
        for classifier in (LINEAR, ONE_START, UNSCALED, GREEDY, FITTED, REDUCED, TRAINING)
    }
    return Table(f"{_TITLE}: test rows that are answered as by the SVM, %", columns)


def differences(results: Results) -> Table:
    """A line for each set with the differences to the paper and to the SVM, and on how many sets a goal is met."""
    one_start, by_greedy, by_fitted = (
        {n: _less_paper(each, n, tree) for n, each in results.items()} for tree in (ONE_START, GREEDY, FITTED)
    )
    less_svm = {
        name: round(each.scores[FITTED].accuracy - each.scores[SVM].accuracy, 3) for name, each in results.items()
    }
    columns: dict[str, Numbers] = {
        f"{ONE_START} less paper's": {**one_start, _HOLDS: sum(abs(a) <= _NEAR_PAPER for a, _ in one_start.values())},
        f"{GREEDY} less paper's": {
            **by_greedy,
            _HOLDS: sum(a >= -_NEAR_PAPER and e <= 0 for a, e in by_greedy.values()),
        },
        f"{FITTED} less paper's": {**by_fitted, _HOLDS: sum(a > 0 and e <= 0 for a, e in by_fitted.values())},
        f"{FITTED} less SVM": {**less_svm, _HOLDS: sum(a >= -_NEAR_SVM for a in less_svm.values())},
    }
    notes = (
        "pairs: accuracy, evaluations; the paper's tree is as printed, the SVM is that of this run",
        f"what holds on so many sets of {len(results)}: the tree with one start is within {_NEAR_PAPER} of the paper's "
        f"in accuracy, the one with restarts at most {_NEAR_PAPER} below it and the fitted one above it, neither with "
        f"more evaluations; the fitted one is at most {_NEAR_SVM} below the SVM",
    )
    return Table(f"{_TITLE}: how the trees compare", columns, notes)


def _less_paper(result: Result, name: str, tree: str) -> tuple[float, float]:
    """Our accuracy and evaluations minus the paper's, which gives evaluations with one decimal."""
    score, printed = result.scores[tree], TABLE_1[name]
    return round(score.accuracy - printed.tree, 3), round(score.evaluations - printed.evaluations, 1)

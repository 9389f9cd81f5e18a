"""DeCoste & Mazzoni 2003: pairs of MNIST digits, the machines that separate them, and the variants of stopping early.

Of each pair's training digits, 5,000 are held out at random, and the others train the machine. Calibrated thresholds
and filters are fitted on the training digits, and certified on all held-out digits. The paper's thresholds, which carry
no guarantee, are measured on the held-out digits: a support vector is nearest to itself, so training digits are not
typical. Rows made in the convex hull are made from training digits. Test digits serve only for evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dormie.convert import read
from dormie.lab.datasets import Dataset
from dormie.lab.papers.decoste2003.hull import hull_rows
from dormie.lab.papers.machines import train_svm
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Normalized, Polynomial
from dormie.methods.dense import Dense
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.plan.cascade import Cascade
from dormie.planner.risk.calibration import certify

Signs = npt.NDArray[np.int64]

PAIRS = tuple(combinations(range(10), 2))
RISK = 1e-3
CONFIDENCE = 0.95
_C = 10
WINDOW = 10  # steps to either side that the paper's thresholds are smoothed over
_CAUTIONS = np.geomspace(12, 0.4, 45).tolist()


@dataclass(frozen=True)
class Extent:
    """The pairs, the number of their digits, and the most terms before the dense stage."""

    pairs: tuple[tuple[int, int], ...]
    few_pairs: tuple[tuple[int, int], ...]  # of which reduced sets and plans of any stages are made, which take long
    held_out: int = 5000
    most_rows: int = 100_000  # of each kind
    risk: float = RISK
    budget: int = 1024
    hull: int = 2000  # rows of either sign made in the convex hull


@dataclass(frozen=True, eq=False)
class Pair:
    """The digits of two classes, of which the first is positive, and test digits of all ten classes."""

    name: str
    train: Floats = field(repr=False)
    train_signs: Signs = field(repr=False)
    held_out: Floats = field(repr=False)
    held_out_signs: Signs = field(repr=False)
    test: Floats = field(repr=False)
    test_signs: Signs = field(repr=False)
    all_ten: Floats = field(repr=False)

    @classmethod
    def of(cls, data: Dataset, digits: tuple[int, int], extent: Extent, seed: int = 0) -> Pair:
        assert data.y_test is not None
        mine = np.flatnonzero(np.isin(data.y, digits))
        mine = np.random.default_rng(seed).permutation(mine)[: extent.held_out + extent.most_rows]
        held_out, train = np.sort(mine[: extent.held_out]), np.sort(mine[extent.held_out :])
        test = np.flatnonzero(np.isin(data.y_test, digits))[: extent.most_rows]
        return cls(
            f"{digits[0]}-{digits[1]}",
            data.X[train],
            _signs(data.y[train], digits),
            data.X[held_out],
            _signs(data.y[held_out], digits),
            data.X_test[test],
            _signs(data.y_test[test], digits),
            data.X_test[::5][: extent.most_rows],
        )


def _signs(y: npt.NDArray[np.int64], digits: tuple[int, int]) -> Signs:
    return np.where(y == digits[0], 1, -1)


def degree_9(pair: Pair) -> Machine:
    """(u.v)^9 on digits of unit length."""
    return train_svm(Normalized(Polynomial(1, 0, 9)), pair.train, pair.train_signs, _C)[0]


def rbf(pair: Pair) -> Machine:
    """exp(-0.02 |u - v|^2) on pixels in [0, 1]."""
    from sklearn.svm import SVC  # optional

    return read(SVC(C=_C, gamma=0.02, cache_size=1000).fit(pair.train, pair.train_signs))


MACHINES: Mapping[str, Callable[[Pair], Machine]] = {"(u.v)^9, unit length": degree_9, "RBF, gamma = 0.02": rbf}

SIMPLE, SMOOTHED, HULL, CALIBRATED = KINDS = "simple", "smoothed", "hull", "calibrated"  # of thresholds
ALONE, FILTER, SVM_FILTER = BEFORE = "", "filter, ", "SVM filter, "  # what comes before the nearest stage


def variants(machine: Machine, pair: Pair, extent: Extent) -> dict[str, Cascade]:
    """Cascades before the dense stage: kinds of thresholds, without a filter, with ours and with the paper's."""
    nearest = nearest_stages(machine, pair, extent)
    ours, svm = LinearFilter.fit(machine, pair.train), svm_filter(machine, pair)
    filters: dict[str, tuple[LinearFilter, ...]] = {ALONE: (), FILTER: (ours,), SVM_FILTER: (svm,)}
    found = {before + kind: Cascade.of(*filters[before], nearest[kind]) for before in BEFORE for kind in kinds(before)}
    for name in (ALONE + CALIBRATED, FILTER + CALIBRATED):
        found[name] = certified(found[name], machine, pair, extent.risk)
    return found


def nearest_stages(machine: Machine, pair: Pair, extent: Extent) -> dict[str, Nearest]:
    """A nearest stage with each kind of thresholds."""
    last = min(extent.budget, machine.n_points)
    sampled = np.vstack([pair.held_out, hull_rows(machine, pair.train, extent.hull)])
    found = {
        kind: Nearest.fit(machine, rows, mode="paper", steps=range(1, last + 1), window=window)
        for kind, rows, window in ((SIMPLE, pair.held_out, 0), (SMOOTHED, pair.held_out, WINDOW), (HULL, sampled, 0))
    }
    return found | {CALIBRATED: Nearest.fit(machine, pair.train, budget=last)}


def kinds(before: str) -> tuple[str, ...]:
    """The kinds of thresholds with each filter; the paper's are not for calibration, which needs a width to scale."""
    return KINDS[:-1] if before == SVM_FILTER else KINDS


def svm_filter(machine: Machine, pair: Pair) -> LinearFilter:
    """The paper's filter: a linear SVM."""
    return LinearFilter.fit(machine, pair.train, mode="paper")


def certified(cascade: Cascade, machine: Machine, pair: Pair, risk: float) -> Cascade:
    """The stages at the smallest caution, the same for all, that held-out rows certify; none if no caution passes."""
    rows, right = pair.held_out, Dense(machine).decide(pair.held_out).answers
    found = certify(_CAUTIONS, lambda caution: _disagrees(cascade.scaled(caution), rows, right), risk, CONFIDENCE)
    return Cascade.of() if found is None else cascade.scaled(_CAUTIONS[found.index])


def _disagrees(cascade: Cascade, rows: Floats, right: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Whether each row is settled wrongly by the first stage that settles it."""
    wrong, waiting = np.zeros(len(right), dtype=bool), np.arange(len(right))
    for stage, caution in cascade:
        found = stage.decide(rows[waiting], caution)
        assert found.settled is not None
        wrong[waiting] = found.settled & (found.answers != right[waiting])
        waiting = waiting[~found.settled]
    return wrong

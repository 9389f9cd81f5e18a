"""DeCoste 2002, last section: time spent first on the rows whose answers are in most doubt.

The paper proposes this as future work, so it has no numbers of its own. `predict(X, deadline=t)` is held against two
simpler ways: the rows in the order they come, with the answer of the bias for those not reached, and `predict` itself,
which has no answer before its end. Wrong answers are those that differ from `predict`'s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.lab.bench.cases import make_case
from dormie.lab.bench.timing import seconds_of
from dormie.lab.papers.table import Numbers, Table
from dormie.planner.compiler import compile
from dormie.predictor.predictor import Predictor

_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)  # of the time of `predict`
_IN_THE_TABLE = (0.5, 1.0, 1.5, 2.0)
_ROUNDS = 20
_ROWS = {"two moons": 100_000, "covtype": 50_000, "mnist": 10_000}  # some tens of milliseconds each


@dataclass(frozen=True)
class Moment:
    """What several runs with one deadline gave: shares of rows, and seconds beyond the deadline."""

    share: float  # the deadline, in times of `predict`
    settled: float  # median over the runs
    wrong: float  # median
    most_wrong: float
    wrong_in_row_order: float
    wrong_without: float  # before `predict` returns: all that the bias has wrong
    settled_wrong: int  # rows that count as settled and differ from `predict`; the sum over the runs
    late: float  # median
    latest: float


@dataclass(frozen=True)
class Trade:
    """Error against time of one model."""

    name: str
    plan: str
    rows: int
    seconds: float  # of `predict`, median
    moments: tuple[Moment, ...]


def tables() -> Iterator[Table]:
    """A table for each model."""
    for name in _ROWS:
        yield table(measured(name))


@cache
def measured(name: str) -> Trade:
    """The trade of a named model; tables and the figure share it."""
    predictor, rows = _two_moons() if name == "two moons" else _of_case(name)
    return trade(name, predictor, rows[: _ROWS[name]])


def _of_case(name: str) -> tuple[Predictor, Any]:
    case = make_case(name)
    return compile(case.model), case.rows


def _two_moons() -> tuple[Predictor, Any]:
    """An SVM whose plan is a reduced set, then geometry, then the full sum."""
    from sklearn.datasets import make_moons  # optional
    from sklearn.svm import SVC  # optional

    X, y = make_moons(4000, noise=0.3, random_state=0)
    model = SVC(C=100, gamma=5).fit(X, y)
    rows, _ = make_moons(_ROWS["two moons"], noise=0.3, random_state=1)
    return compile(model, methods=["reduced_set", "geometry"]), rows


def trade(name: str, predictor: Predictor, rows: Any, rounds: int = _ROUNDS) -> Trade:
    """Measure a predictor at all deadlines, in rounds, each by the time that `predict` takes in it."""
    right = predictor.predict(rows)
    runs: dict[float, list[_Run]] = {share: [] for share in _SHARES}
    times = []
    for _ in range(rounds):
        times.append(seconds_of(lambda: predictor.predict(rows)))
        for share in _SHARES:
            runs[share].append(_run(predictor, rows, right, share * times[-1]))
    bias_is_wrong = predictor.predict(rows, deadline=0.0).labels != right
    moments = tuple(_moment(share, several, bias_is_wrong) for share, several in runs.items())
    return Trade(name, str(predictor.plan.cascade), len(rows), float(np.median(times)), moments)


class _Run(NamedTuple):
    """What one deadline gave: shares of rows, rows settled and not as `predict`, and seconds beyond it."""

    settled: float
    wrong: float
    settled_wrong: int
    late: float


def _run(predictor: Predictor, rows: Any, right: npt.NDArray[Any], seconds: float) -> _Run:
    began = time.perf_counter()
    found = predictor.predict(rows, deadline=seconds)
    late = time.perf_counter() - began - seconds
    differs = found.labels != right
    return _Run(
        float(found.settled.mean()), float(differs.mean()), int(np.sum(differs & found.settled)), max(late, 0.0)
    )


def _moment(share: float, runs: list[_Run], bias_is_wrong: npt.NDArray[np.bool_]) -> Moment:
    settled, wrong, settled_wrong, late = zip(*runs, strict=True)
    reached = int(share * len(bias_is_wrong))
    return Moment(
        share=share,
        settled=float(np.median(settled)),
        wrong=float(np.median(wrong)),
        most_wrong=max(wrong),
        wrong_in_row_order=float(bias_is_wrong[reached:].sum() / len(bias_is_wrong)),
        wrong_without=float(bias_is_wrong.mean()) if share < 1 else 0.0,
        settled_wrong=sum(settled_wrong),
        late=float(np.median(late)),
        latest=max(late),
    )


def table(trade: Trade) -> Table:
    """The lines for the deadlines of interest."""
    columns = {f"{each.share:g} x": _numbers(each) for each in trade.moments if each.share in _IN_THE_TABLE}
    notes = (
        f"deadlines in times of `predict`, which takes {1e3 * trade.seconds:.3g} ms for {trade.rows:,} rows; "
        f"{_ROUNDS} runs of each, medians unless it says most",
        f"plan: {trade.plan}",
    )
    return Table(f"DeCoste 2002, answers at a deadline: {trade.name}", columns, notes)


def _numbers(moment: Moment) -> Numbers:
    return {
        "settled, %": 100 * moment.settled,
        "wrong, %: most doubtful first": 100 * moment.wrong,
        "wrong, %: most of the runs": 100 * moment.most_wrong,
        "wrong, %: in row order": 100 * moment.wrong_in_row_order,
        "wrong, %: predict alone": 100 * moment.wrong_without,
        "settled and not as predict: rows": moment.settled_wrong,
        "late, ms: median, most": (1e3 * moment.late, 1e3 * moment.latest),
    }


def draw(path: Path) -> Path:
    """Plot wrong answers over time, with a panel for every model; this needs no display."""
    from matplotlib.figure import Figure  # optional

    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots(1, len(_ROWS), sharey=True)
    for ax, name in zip(axes, _ROWS, strict=True):
        _panel(ax, measured(name))
    axes[0].set_ylabel("wrong answers, % of the rows")
    axes[-1].legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=100)
    return path


def _panel(ax: Any, trade: Trade) -> None:
    shares = [each.share for each in trade.moments]
    base = 100 * trade.moments[0].wrong_without
    ax.plot([0, 1, 1], [base, base, 0], "k--", label="predict alone")
    ax.plot([0, *shares], [base, *(100 * each.wrong_in_row_order for each in trade.moments)], "C1-", label="row order")
    ax.plot(
        [0, *shares], [base, *(100 * each.wrong for each in trade.moments)], "C0.-", label="at a deadline, doubt first"
    )
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set_ylim(0, 100)
    ax.set_title(f"{trade.name}\n{trade.plan}", fontsize="small")
    ax.set_xlabel(f"time, in times of predict ({1e3 * trade.seconds:.3g} ms)")

"""Muller 2004, *Fast Stopping in Support Vector Machine Classifiers*: its three machines.

The paper adds one term at a time, in Octave, and stops when the remaining terms cannot change the sign. `terms_needed`
counts those terms for all rows at once; `one_at_a_time` adds them in a loop as the paper did, to compare seconds. Our
stage adds 32 terms between two tests, which is faster on today's computers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dormie.lab import datasets
from dormie.lab.bench.timing import interleave
from dormie.lab.papers.machines import differences, microseconds, predictor, train_svm
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Polynomial
from dormie.methods.fast_stopping.stage import FastStopping, largest_first


@dataclass(frozen=True, eq=False)
class Problem:
    """A trained machine, labelled test rows, and the numbers that the paper printed."""

    title: str
    printed: Numbers
    machine: Machine
    rows: Floats
    labels: npt.NDArray[np.int64]
    notes: tuple[str, ...]


def tables(seconds: float) -> Iterator[Table]:
    """A table for each machine, with `seconds` of measuring for each."""
    yield table(synthetic(), seconds)
    for digit in (1, 2):
        yield table(mnist(digit), seconds)


def plane(seed: int = 0) -> tuple[Floats, npt.NDArray[np.int64]]:
    """1,100 points and their classes, which an ellipse with a narrow gap along it separates."""
    candidates = np.random.default_rng(seed).uniform(-1, 1, (1500, 2))
    outside = candidates[:, 0] ** 2 + 4 * candidates[:, 1] ** 2 - 0.8
    kept = np.flatnonzero(np.abs(outside) > 0.1)[:1100]
    return candidates[kept], np.where(outside[kept] > 0, 1, -1)


def synthetic() -> Problem:
    """1,000 training and 100 test points in the plane, kernel (u.v + 1)^2."""
    X, y = plane()
    machine, _ = train_svm(Polynomial(1, 1, 2), X[:1000], y[:1000], C=2)
    notes = (
        "the paper shows its points only in a picture: here they are uniform with an ellipse between the classes",
        "kernel (u.v + 1)^2; C = 2, which gives about as many support vectors as printed",
    )
    printed = _printed(145, 100, 1.0, 86, 80)
    return Problem("2-D points, quadratic kernel", printed, machine, X[1000:], y[1000:], notes)


def mnist(digit: int, training_rows: int = 2000, test_rows: int = 1000) -> Problem:
    """One digit against the rest, kernel (u.v + 1)^5."""
    data = datasets.load("mnist").against_rest(digit)
    assert data.y_test is not None
    machine, _ = train_svm(Polynomial(1, 1, 5), data.X[:training_rows], data.y[:training_rows], C=1)
    printed = _printed(268, 1000, 0.60, 1765, 982) if digit == 1 else _printed(422, 1000, 0.65, 2806, 1223)
    notes = (
        f"the first {training_rows:,} training and {test_rows:,} test digits, pixels in [0, 1], kernel (u.v + 1)^5",
        "one-sided tails hold here although the degree is odd, because pixels are never negative; the stage sees that",
    )
    title = f"MNIST, {digit} against the rest, degree 5"
    return Problem(title, printed, machine, data.X_test[:test_rows], data.y_test[:test_rows], notes)


def _printed(points: int, rows: int, right: float, full: float, stopped: float) -> Numbers:
    return {
        "support vectors": points,
        "test rows": rows,
        "share of test rows right": right,
        "one term at a time, full sum: seconds": full,
        "one term at a time, stopping: seconds": stopped,
        "one term at a time: times as fast": full / stopped,
    }


def table(problem: Problem, seconds: float) -> Table:
    """The table of one machine: the printed numbers beside those measured here."""
    return Table(
        f"Muller 2004: {problem.title}", {"paper": problem.printed, "here": measure(problem, seconds)}, problem.notes
    )


def measure(problem: Problem, seconds: float) -> Numbers:
    """Terms and seconds of the full sum, of stopping term by term, and of the two stages."""
    machine, rows = problem.machine, problem.rows
    stage = FastStopping(machine)
    found = stage.decide(rows)
    one_sided = terms_needed(machine, rows, one_sided=True)
    certain = np.where(True if found.settled is None else found.settled, found.answers, -1)
    return {
        "support vectors": machine.n_points,
        "test rows": len(rows),
        "share of test rows right": float(np.mean(predictor(machine, stage).predict(rows) == problem.labels)),
        "terms per row, stopping": float(terms_needed(machine, rows, one_sided=False).mean()),
        "terms per row, one-sided tails": float(one_sided.mean()),
        "terms per row, the stage (after every 32)": float(np.mean(found.evaluations)),
        "terms saved in %: stopping": _saved(machine, terms_needed(machine, rows, one_sided=False)),
        "terms saved in %: one-sided tails": _saved(machine, one_sided),
        "terms saved in %: the stage": _saved(machine, found.evaluations),
        **_loop_seconds(machine, rows),
        **_stage_times(machine, stage, rows, seconds),
        "answers that differ from the full sum": differences(machine, rows, certain),
    }


def _saved(machine: Machine, terms: npt.NDArray[np.intp] | int) -> float:
    return 100 * (1 - float(np.mean(terms)) / machine.n_points)


def _loop_seconds(machine: Machine, rows: Floats) -> Numbers:
    loops = {name: partial(one_at_a_time, machine, rows, name == "stopping") for name in ("full sum", "stopping")}
    best = {name: min(rounds) for name, rounds in interleave(loops, 0).items()}
    return {
        **{f"one term at a time, {name}: seconds": spent for name, spent in best.items()},
        "one term at a time: times as fast": best["full sum"] / best["stopping"],
    }


def _stage_times(machine: Machine, stage: FastStopping, rows: Floats, seconds: float) -> Numbers:
    predictors = {"dense stage": predictor(machine).predict, "fast stopping stage": predictor(machine, stage).predict}
    times = microseconds(predictors, rows, seconds / len(predictors))
    return {
        **{f"{name}: microseconds per row": time for name, time in times.items()},
        "fast stopping stage: times as fast as the dense stage": times["dense stage"] / times["fast stopping stage"],
    }


def terms_needed(machine: Machine, rows: Floats, one_sided: bool) -> npt.NDArray[np.intp]:
    """The number of terms, largest first, after which the sign of each row is settled (equation 5 of the paper).

    One-sided tails count only the weights that could still change the sign. They require a kernel that is not negative
    on these rows.
    """
    ordered = largest_first(machine)
    weights, roots = ordered.weights[:, 0], np.sqrt(ordered.kernel.diagonal(rows))[:, None]
    terms = ordered.kernel.matrix(rows, ordered.points) * weights
    partial = ordered.bias[0] + np.hstack([np.zeros((len(rows), 1)), np.cumsum(terms, axis=1)])
    down, up = _tails(ordered, one_sided)
    settled = (partial - roots * down >= 0) | (partial + roots * up < 0)
    return np.where(settled.any(axis=1), settled.argmax(axis=1), ordered.n_points)


def _tails(ordered: Machine, one_sided: bool) -> tuple[Floats, Floats]:
    """How far the remaining terms can still move the sum down and up, after each term, for rows with K(x, x) = 1."""
    weights = ordered.weights[:, 0]
    sizes = np.abs(weights) * np.sqrt(ordered.kernel.diagonal(ordered.points))
    down, up = (np.append(np.cumsum(np.where(part, sizes, 0)[::-1])[::-1], 0) for part in (weights < 0, weights > 0))
    return (down, up) if one_sided else (down + up, down + up)


def one_at_a_time(machine: Machine, rows: Floats, stop: bool) -> npt.NDArray[np.intp]:
    """Answers by a plain loop over rows and terms, which stops as soon as the tail allows it, or never."""
    ordered = largest_first(machine)
    tails = _tails(ordered, one_sided=False)[0].tolist() if stop else [np.inf] * (ordered.n_points + 1)
    terms = list(zip(ordered.points, ordered.weights[:, 0].tolist(), tails[1:], strict=True))
    kernel, bias = ordered.kernel, float(ordered.bias[0])
    assert isinstance(kernel, Polynomial)
    answers = []
    for row, root in zip(rows, np.sqrt(kernel.diagonal(rows)).tolist(), strict=True):
        total = bias
        for point, weight, tail in terms:
            total += weight * (kernel.gamma * float(row @ point) + kernel.coef0) ** kernel.degree
            if tail * root <= abs(total):
                break
        answers.append(total >= 0)
    return np.array(answers, dtype=np.intp)

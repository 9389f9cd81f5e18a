"""A machine of few vectors in place of one of many, on its own: `dormie.reduce`.

For those who want just this: a smaller model, for LIBSVM or scikit-learn or a chip, and how far it is off. What exact
algebra can do is done first; only a machine that still has too many vectors is approximated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.convert.libsvm.writer import is_one_class, write_libsvm
from dormie.machine import Floats, Machine
from dormie.machine.rows import check_rows, require_finite
from dormie.machine.rules import ClassRule
from dormie.methods.reduced_set.errors import Distance, Errors
from dormie.methods.reduced_set.fitting import chosen_objective, fit
from dormie.methods.reduced_set.report import report
from dormie.methods.reduced_set.slopes import require_slope
from dormie.methods.reduced_set.threshold import positions, refitted_bias
from dormie.numerics.evaluate import FullSum
from dormie.numerics.synthetic_rows import sample_rows
from dormie.simplify import REWRITES, simplify

_HELD_OUT = 5  # one row in so many
_ENOUGH_ROWS = 100  # with fewer none is held out
_MOST_MEASURED = 10_000
_MADE_UP = 2048


@dataclass(frozen=True, eq=False)
class Reduction:
    """A reduced machine and how far it is from the original. Printed, it tells both in words."""

    machine: Machine
    original: Machine
    exact: bool  # nothing is lost: exact algebra was enough, or there was nothing to do
    distance: Distance | None  # in feature space; None where there is none
    errors: Errors  # on rows
    threshold: str | None = None  # what moving the threshold did

    def refit_threshold(self, X: Any, y: Any) -> Reduction:
        """The same vectors and weights with the bias that has the fewest errors on labelled rows, output by output.

        With one-vs-one each pair is judged by the rows of its two classes, with one-vs-rest each output by all rows.
        Rows that the model was not trained on are best: it has few errors on its own training rows, and a threshold
        moved for the sake of one or two of them is no better elsewhere.
        """
        rule = self.machine.rule
        if not isinstance(rule, ClassRule):
            raise ValueError("a regressor has no threshold: refit_threshold is for classifiers")
        rows = check_rows(X, self.machine)
        if not rows.shape[0]:
            raise ValueError("there are no rows in X to refit the threshold on: pass some, with their labels")
        answers = positions(rule, y, rows.shape[0])
        outputs = FullSum(self.machine).outputs(rows)
        bias = refitted_bias(rule, self.machine.bias, outputs, answers)
        shift = bias - self.machine.bias
        wrong = [int((rule.answer(these) != answers).sum()) for these in (outputs, outputs + shift)]
        judges = _counted(len(answers), "labelled row")
        return replace(
            self,
            machine=replace(self.machine, bias=bias),
            errors=replace(self.errors, after=self.errors.after + shift),
            threshold=f"{judges}: {wrong[0]:,} of them wrong before, {wrong[1]:,} after",
        )

    def write_libsvm(self, path: str | PathLike[str]) -> None:
        """Write a LIBSVM text model. With several classes every vector is in the file once for each class but one."""
        write_libsvm(self.machine, path)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn model: SVC, OneClassSVM, SVR, KernelRidge or OneVsRestClassifier, scaler included."""
        from dormie.convert.sklearn.writer import to_sklearn  # here: start-up time

        return to_sklearn(self.machine, one_class=is_one_class(self.original))

    def report(self) -> str:
        """Several lines for a person to read."""
        return report(self.machine, self.original, self.exact, self.distance, self.errors, self.threshold)

    def __str__(self) -> str:
        return self.report()


def reduce(
    model: Any,
    n: int,
    rows: Any | None = None,
    *,
    objective: str | None = None,
    method: str = "together",
    start: str = "middles",
    seed: int = 0,
) -> Reduction:
    """A machine of n vectors whose outputs are close to those of `model` (Burges & Scholkopf 1997).

        reduction = dormie.reduce(svc, 40, X_train)
        print(reduction)                        # how far it is off
        small = reduction.to_sklearn()          # or reduction.machine, or reduction.write_libsvm(path)

    model      a fitted scikit-learn model, the path of a LIBSVM model file, or a `Machine`; see `dormie.read`
    n          how many vectors, shared by all outputs; of a machine that needs no more nothing is lost
    rows       unlabelled rows like those to come, training rows for instance: they make the result much better on such
               rows. A fifth of them, if there are 100 or more, is not fitted on but used to tell how far it is off
    objective  "outputs" (default with rows) or "norm", the distance in feature space (default without)
    method     "together", or "one_by_one": as the paper extracts them, for the distance in feature space
    start      "middles" of the support vectors, class by class, or "w_greedy", the most telling of them
    seed       of what is drawn: rows held out, batches, middles
    """
    _check_size(n)
    original = read(model)
    require_slope(original.kernel)
    objective = chosen_objective(original, objective, method, start, rows)
    exact = _without_loss(original, n)
    fitted, measured, what = _split(original, rows, exact is None and objective == "outputs", seed)
    if exact is None:
        whole = _tidied(original)
        reduced = fit(whole, n, fitted, objective=objective, method=method, start=start, seed=seed).machine()
    else:
        whole = reduced = exact
    machine = _in_coordinates_of(original, reduced)
    before, after = (FullSum(each).outputs(measured) for each in (original, machine))
    errors = Errors(original.rule, before, after, what)
    return Reduction(machine, original, exact is not None, Distance.between(whole, reduced), errors)


def _check_size(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise TypeError(f"n must be a whole number of vectors, such as 40, got {n!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1 vector, got {n}")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _split(machine: Machine, rows: Any | None, fits_rows: bool, seed: int) -> tuple[Any | None, Any, str]:
    """Rows to fit on, rows to measure on, and what the latter are; `fits_rows`: whether any will be fitted on."""
    if not machine.n_points:
        return rows, np.zeros((1, machine.n_features)), "a row of zeros, which is as good as any: it has no vectors"
    if rows is None:
        made = f"{_MADE_UP:,} rows made up from the support vectors: pass rows like those to come for better figures"
        return None, sample_rows(machine, None, _MADE_UP, seed), made
    rows = check_rows(rows, machine)
    count = rows.shape[0]
    if not count:
        raise ValueError("there are no rows in what was passed as rows: pass some, or leave rows out")
    require_finite(rows)
    if not fits_rows:
        measured = sample_rows(machine, rows, _MOST_MEASURED, seed)
        return rows, measured, f"{measured.shape[0]:,} of the rows given, none of which was fitted on"
    if count < _ENOUGH_ROWS:
        advice = f"which flatters it: pass {_ENOUGH_ROWS} rows or more and some are held out"
        return rows, rows, f"the {_counted(count, 'row')} it was fitted on, {advice}"
    order = np.random.default_rng(seed).permutation(count)
    held_out = min(count // _HELD_OUT, _MOST_MEASURED)
    fitted, measured = (rows[np.sort(part)] for part in (order[held_out:], order[:held_out]))
    return fitted, measured, f"{held_out:,} of the rows given, held out from fitting"


def _without_loss(original: Machine, n: int) -> Machine | None:
    """The machine itself, or what exact algebra makes of it, where that has no more than n vectors."""
    if n >= original.n_points:
        return original
    exact, _ = simplify(original)
    return exact if n >= exact.n_points else None


def _tidied(original: Machine) -> Machine:
    """The machine to fit to. Not its exact rewrite: vectors that look like rows start better, and those need not."""
    for name in ("merge_duplicates", "drop_zero_weights", "center"):
        if REWRITES[name].accepts(original):
            original = REWRITES[name].apply(original)
    return original


def _in_coordinates_of(original: Machine, reduced: Machine) -> Machine:
    """The reduced machine with the original's input map: a centre of its own goes into the vectors again."""
    if reduced.input_map is None or reduced.input_map is original.input_map:
        return reduced
    center: Floats = reduced.input_map.center
    shift = center if original.input_map is None else original.input_map(center)
    return replace(reduced, points=reduced.points + shift, input_map=original.input_map)

"""`dormie verify`: a plan beside the model that it was compiled from, on rows of yours."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from scipy.special import bdtrc

from dormie.cli.failures import Exit, Failure, blaming
from dormie.cli.models import Features, PlanFile, Scale, TextModel, Trust, load_answering, load_plan
from dormie.cli.rows import Columns, Rows, blocks_of
from dormie.machine.csr import is_sparse
from dormie.machine.rules import Probability
from dormie.plan.guarantee import Guarantee, Risk, tolerance_of
from dormie.plan.plan import Plan
from dormie.progress import Progress
from dormie.scale.tables.block import naming_errors

_FALSE_ALARM = 0.01  # the probability at most that a promise that holds is called broken
_ROUNDING = 1e-9  # relative to a value: models round, too
_SHOWN = 5


@dataclass
class _Findings:
    """What was found of one kind of answers: how many rows were compared, and which of them differ by too much."""

    what: str
    guarantee: Guarantee
    rows: int = 0
    differing: list[int] = field(default_factory=list)
    largest: float = 0.0  # difference of values
    by_class: Counter[str] = field(default_factory=Counter)  # rows of each class, where a risk is that of each
    differing_by_class: Counter[str] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        """Whether the promise can hold: a risk is called broken only if it certainly is."""
        if not isinstance(self.guarantee, Risk):
            return not self.differing
        promised = [count.label for count in self.guarantee.evidence.classes]
        counts = [(self.differing_by_class[label], self.by_class[label]) for label in promised]
        counts = counts or [(len(self.differing), self.rows)]
        least = _FALSE_ALARM / len(counts)
        return not any(count and bdtrc(count - 1, rows, self.guarantee.alpha) <= least for count, rows in counts)

    def compare(self, ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> None:
        """Compare the next rows' answers."""
        differ = ours != theirs
        if ours.dtype.kind == "f" and theirs.dtype.kind == "f":
            with np.errstate(invalid="ignore"):  # of infinities that are equal
                errors = np.abs(ours - theirs)
            differ &= ~(errors <= tolerance_of(self.guarantee) + _ROUNDING * np.maximum(np.abs(theirs), 1.0))  # or NaN
            self.largest = max(self.largest, float(errors.max(initial=0.0)))
        wrong = differ.reshape(len(ours), -1).any(axis=1)
        self.differing += (self.rows + np.flatnonzero(wrong)).tolist()
        self.rows += len(ours)
        if isinstance(self.guarantee, Risk) and self.guarantee.per_class:
            labels = theirs.astype(str)
            self.by_class.update(labels.tolist())
            self.differing_by_class.update(labels[wrong].tolist())

    def record(self) -> dict[str, Any]:
        """The findings as data."""
        return {
            "what": self.what,
            "promised": str(self.guarantee),
            "rows": self.rows,
            "differing": len(self.differing),
            "first_differing_rows": self.differing[:_SHOWN],
            "largest_difference": self.largest,
            "holds": self.holds,
        }


def verify(
    plan: PlanFile,
    rows: Rows,
    against: Annotated[Path, typer.Option(help="The model that the plan was compiled from, or another plan.")],
    columns: Columns = None,
    n_features: Features = None,
    scale: Scale = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")] = False,
) -> None:
    """Compare a plan's answers with the model's own. Ends with exit code 1 if a promise is broken.

    A promise with a risk is called broken if so many differing rows would be found with a probability of less than
    1 % while it holds.
    """
    fast = load_plan(plan)
    model = load_answering(against, trust, TextModel(n_features, scale))
    findings = [
        _Findings(what, of.guarantee) for what, of in _kinds(fast.plan) if what == "predict" or hasattr(model, what)
    ]
    with Progress() as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were chosen by name here
        for block in blocks_of(rows, fast.plan.machine, columns):
            for found in findings:
                with blaming(Exit.ROWS, rows), naming_errors(block):
                    ours, theirs = (_answers(each, found.what, block.values) for each in (fast, model))
                    found.compare(ours, theirs)
            progress.say(f"{findings[0].rows:,} rows")
    if not findings[0].rows:
        raise Failure(Exit.ROWS, f"{rows}: there are no rows to compare answers on")
    if as_json:
        print(json.dumps([found.record() for found in findings]))
    else:
        for found in findings:
            Console().print(_words(found), markup=False, highlight=False, soft_wrap=True)
    if not all(found.holds for found in findings):
        raise typer.Exit(Exit.BROKEN_PROMISE)


def _answers(model: Any, what: str, rows: Any) -> npt.NDArray[Any]:
    """A model's answers; one that was trained on dense rows may refuse sparse ones."""
    answer = getattr(model, what)
    try:
        return np.asarray(answer(rows))
    except (TypeError, ValueError):
        if not is_sparse(rows):
            raise
        return np.asarray(answer(rows.toarray()))


def _kinds(plan: Plan) -> list[tuple[str, Plan]]:
    """The methods whose answers are promised, each with the plan that promises them."""
    if plan.values is None:
        return [("predict", plan)]
    of_values = "predict_proba" if isinstance(plan.values.machine.rule, Probability) else "decision_function"
    return [("predict", plan), (of_values, plan.values)]


def _words(found: _Findings) -> str:
    count = len(found.differing)
    first = f", the first in rows {', '.join(map(str, found.differing[:_SHOWN]))}" if count else ""
    far = f"; the largest difference is {found.largest:.3g}" if found.largest else ""
    verdict = "the promise holds" if found.holds else "THE PROMISE IS BROKEN"
    return f"{found.what}: {count:,} of {found.rows:,} rows differ{first}{far}\n  {found.guarantee}\n  {verdict}"

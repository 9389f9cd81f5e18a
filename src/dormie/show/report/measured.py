"""What a report tells of a plan on rows: where they stop, what they cost, and how long the answers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rows import check_rows, dense, require_finite_vectors, some
from dormie.machine.rules import ClassRule
from dormie.machine.typing import Integers, Positions
from dormie.plan.cascade import Cascade
from dormie.plan.plan import Plan
from dormie.predictor import Predictor, cascade
from dormie.show.funnel import Funnel, funnel_of
from dormie.show.report.speed import Comparison, compare

_MOST_SHOWN = 48  # rows in the table: more are not looked at
_CONSIDERED = 500  # rows whose outputs are worked out, because many may have cost the same


@dataclass(frozen=True)
class Costly:
    """The rows that cost most, the dearest first; of those that cost the same, the most doubtful."""

    rows: Positions
    answers: list[str]
    stages: list[str]
    evaluations: Integers
    leads: Floats | None  # distances from another answer; None for values, which have none
    images: Floats | None  # of shape (rows, height, width), if rows are images


@dataclass(frozen=True)
class Measured:
    """All that a report tells."""

    plan: Plan
    n_rows: int
    funnel: Funnel
    evaluations: Integers  # of every row
    speed: Comparison
    against: str  # what the plan is compared with, in words
    costly: Costly


def measure(predictor: Predictor, X: Any, *, against: Any = None, image: Sequence[int] | None = None) -> Measured:
    """Send rows through a plan, and time it beside another model, or beside the full sum."""
    plan = predictor.plan
    rows = check_rows(X, plan.machine)
    require_finite_vectors(rows, plan.machine)
    if not rows.shape[0]:
        raise ValueError("a report needs at least one row, got none")
    shape = None if image is None else image_shape(plan, image)
    found = cascade.run(plan.cascade, rows, predictor.threads)
    evaluations = np.array(np.broadcast_to(found.evaluations, rows.shape[0]))
    other = in_full(predictor) if against is None else against
    return Measured(
        plan=plan,
        n_rows=rows.shape[0],
        funnel=funnel_of(plan, found),
        evaluations=evaluations,
        speed=compare(predictor.predict, other.predict, rows),
        against="the full sum" if against is None else "the source model",
        costly=_costly(predictor, rows, found, evaluations, shape),
    )


def image_shape(plan: Plan, image: Sequence[int]) -> tuple[int, int]:
    """The height and width of rows that are images; a ValueError where they do not fit the model."""
    height, width = image
    features = plan.machine.n_features if plan.machine.of_vectors else 0
    if min(height, width) < 1 or height * width != features:
        raise ValueError(f"rows of {features:,} features are no images of {height} x {width} pixels")
    return height, width


def in_full(predictor: Predictor) -> Predictor:
    """The same predictor without the stages that stop early."""
    plan = predictor.plan
    return Predictor(replace(plan, cascade=Cascade.of(plan.stages[-1]), values=None), predictor.threads or None)


def _costly(
    predictor: Predictor,
    rows: Any,
    found: cascade.CascadeResult,
    evaluations: Integers,
    image: tuple[int, int] | None,
) -> Costly:
    plan, rule = predictor.plan, predictor.plan.machine.rule
    places = np.argsort(-evaluations, kind="stable")[:_CONSIDERED]
    leads = None
    if isinstance(rule, ClassRule):
        low, high = predictor.interval(some(rows, places))
        leads = rule.lead((low / 2 + high / 2).reshape(len(places), -1))
        order = np.lexsort((leads, -evaluations[places]))
        places, leads = places[order], leads[order][:_MOST_SHOWN]
    places = places[:_MOST_SHOWN]
    by = np.array(np.broadcast_to(found.settled_by, len(evaluations)))
    by[found.by_source] = len(plan.stages)
    names = [*(stage.name for stage in plan.stages), "source"]
    return Costly(
        rows=places,
        answers=[_answer(answer) for answer in rule.labels(found.answers[places])],
        stages=[names[place] for place in by[places]],
        evaluations=evaluations[places],
        leads=leads,
        images=None if image is None else dense(some(rows, places)).reshape(-1, *image),
    )


def _answer(answer: npt.NDArray[Any] | Any) -> str:
    """A label as it is; values with a few digits."""
    values = np.ravel(answer)
    return ", ".join(f"{value:.6g}" if values.dtype.kind == "f" else str(value) for value in values)

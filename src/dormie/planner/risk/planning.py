"""Makes a plan with a stated risk: chooses calibrated stages and their cautions, and has the choice certified.

The rows are split into choosing and certifying rows. (Without `fit_rows`, half of the choosing rows serve for fitting.)
The race on the choosing rows finds, for each of several rates of disagreement, the cascade that is probably cheapest.
These cascades in order, preceded by more and more cautious ones and followed by bolder ones, are the sequence of plans
that `calibration` tests on the certifying rows. The last plan to pass is the result. If no plan passes, or if the one
that passes is not faster, `compile` makes an exact plan instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine
from dormie.machine.rows import as_array, dense, unmapped
from dormie.machine.typing import Booleans
from dormie.methods.base import EFFORTS, CalibratedFitting, Effort, Sample, Stage
from dormie.methods.dense import Dense
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.guarantee import Risk
from dormie.plan.plan import CLEAR_WIN, Trial
from dormie.planner.certified_candidates import candidates
from dormie.planner.race import Candidate, Race
from dormie.planner.risk import calibrated_candidates
from dormie.planner.risk.calibration import certify, require_enough_of_each, split
from dormie.planner.risk.training_rows import without_certifying
from dormie.predictor import cascade
from dormie.progress import Progress

_CHOOSING = 2048
_CHOOSING_ALONE, _FITTING_TOO = 0.05, 0.3  # least share of the rows that is set apart from certifying
_FEWEST = 200  # choosing rows; instead of fewer, synthetic rows are used
_RATES = np.geomspace(0.02, 1.5, 14).tolist()  # of disagreement on the choosing rows, as multiples of the risk
_MORE_CAUTIOUS = np.geomspace(24.0, 1.2, 18).tolist()  # factors on the cautions of the first cascade
_BOLDER = np.geomspace(0.85, 0.3, 8).tolist()  # factors on the cautions of the last

_FAR_AHEAD = 0.3  # below this share of the time of a quickly fitted exact plan, no better fitted one will be faster

Chosen = tuple[tuple[Stage, ...], Risk, tuple[Trial, ...]]


@dataclass(frozen=True)
class Request:
    """The risk and confidence that the caller asks for, of all rows together or of each class."""

    alpha: float
    confidence: float
    per_class: bool
    seed: int


@dataclass(frozen=True)
class Parts:
    """Checked rows: those to fit approximations on, the choosing rows and the certifying rows."""

    fitting: Any
    choosing: Any
    certifying: Any

    @classmethod
    def of(cls, machine: Machine, rows: Any, fit_rows: Any | None, request: Request) -> Parts:
        """Split the caller's rows."""
        count = rows.shape[0]
        share = _CHOOSING_ALONE if fit_rows is not None else _FITTING_TOO
        least = max(_FEWEST, int(share * count))
        choosing, certifying = split(
            count, request.alpha, request.confidence, request.seed, least=least, per_class=request.per_class
        )
        if fit_rows is None:
            halves = choosing[::2], choosing[1::2]
            fit_rows, choosing = _points_and(machine, rows[halves[0]]), halves[1]
        else:
            fit_rows = without_certifying(machine, fit_rows, rows[certifying])
        enough = rows[choosing] if len(choosing) >= _FEWEST else None
        if enough is None and machine.kernel.is_python:  # synthetic rows exist for vectors only
            enough = rows[choosing] if len(choosing) else fit_rows
        return cls(fit_rows, sample_rows(machine, enough, _CHOOSING, request.seed), rows[certifying])


def _points_and(machine: Machine, rows: Any) -> Any:
    """The support vectors and these rows."""
    if machine.of_vectors:
        return np.vstack([unmapped(machine, machine.points), dense(rows)])
    return np.concatenate([as_array(machine.points), rows])


def plan_with_risk(
    machine: Machine,
    names: list[str] | None,
    parts: Parts,
    request: Request,
    effort: Effort,
    progress: Progress,
    far_ahead: float = _FAR_AHEAD,
) -> Chosen | None:
    """The stages, their risk, and the timings; None if an exact plan is as good.

    If the plan takes at most `far_ahead` times as long as a quickly fitted exact plan, no better exact plan is fitted
    for comparison.
    """
    full = Dense(machine)
    right = full.decide(parts.certifying).answers
    classes = machine.rule.labels(right) if request.per_class else None
    if classes is not None:
        require_enough_of_each(classes, request.alpha, request.confidence)
    entries = _certified(machine, names, parts, EFFORTS["quick"], progress)
    entries += _calibrated(machine, names, parts, effort, request.seed, progress)
    progress.say(f"timing {len(entries)} candidates on {parts.choosing.shape[0]:,} rows")
    race = Race.between(full, entries, parts.choosing)
    exact, trials = race.winner()
    cascades = race.cheapest_within([request.alpha * rate for rate in _RATES])
    plans = sequence_of_plans([stages for stages in cascades if not all(stage.certified for stage in stages)], full)
    progress.say(f"certifying {len(plans)} plans on {parts.certifying.shape[0]:,} rows")
    risk = certify(
        _disagreements(plans, parts.certifying, right, full.float32_only().decide(parts.certifying).answers),
        [*plans],
        request.alpha,
        request.confidence,
        classes=classes,
        seed=request.seed,
    )
    if risk is None:
        return None
    safe = plans[risk.evidence.caution]
    ours, theirs = race.timed(safe, exact)
    if ours.microseconds > far_ahead * theirs.microseconds:  # an exact plan fitted with the full effort may be faster
        entries = _certified(machine, names, parts, effort, progress)
        exact, trials = Race.between(full, entries, parts.choosing).winner()
        ours, theirs = race.timed(safe, exact)
    return (safe, risk, (ours, *trials)) if ours.microseconds < CLEAR_WIN * theirs.microseconds else None


def _disagreements(
    plans: dict[float, tuple[Stage, ...]], rows: Any, right: npt.NDArray[Any], last: npt.NDArray[Any]
) -> Callable[[float], Booleans]:
    """A function from the rank of a plan to the rows on which it is wrong; `last` has the answers of the dense stage.

    A row's answer does not depend on its batch, so the dense stage, which is the most expensive, runs only once.
    """

    def wrong(rank: float) -> Booleans:
        early = cascade.run(plans[rank][:-1], rows)
        answers = np.array(early.answers)
        answers[early.open] = last[early.open]
        return np.asarray(answers != right)

    return wrong


def _certified(
    machine: Machine, names: list[str] | None, parts: Parts, effort: Effort, progress: Progress
) -> list[Candidate]:
    return [Candidate([stage]) for stage in candidates(machine, names, parts.choosing, effort, progress)]


def _calibrated(
    machine: Machine, names: list[str] | None, parts: Parts, effort: Effort, seed: int, progress: Progress
) -> list[Candidate]:
    """Fit on one part of the rows, and measure half-widths on the other."""
    progress.say(f"evaluating {parts.fitting.shape[0]:,} rows to fit on")
    fitting, measuring = (Sample.of(machine, rows) for rows in (parts.fitting, parts.choosing))
    task = CalibratedFitting(machine, fitting, measuring, effort, names is not None, seed, progress)
    return [*calibrated_candidates.candidates(task, names)]


def sequence_of_plans(cascades: Sequence[tuple[Stage, ...]], full: Dense) -> dict[float, tuple[Stage, ...]]:
    """The plans to test by rank, from cautious to bold; each ends in the dense stage, and the boldest has rank 1."""
    plans = [_scaled(stages, scale) for stages in cascades[:1] for scale in _MORE_CAUTIOUS]
    plans += [stages for at, stages in enumerate(cascades) if at == 0 or stages != cascades[at - 1]]
    plans += [_scaled(stages, scale) for stages in cascades[-1:] for scale in _BOLDER]
    last = full.float32_only()
    return {float(len(plans) - at): (*stages, last) for at, stages in enumerate(plans)}


def _scaled(stages: Sequence[Stage], scale: float) -> tuple[Stage, ...]:
    """The same cascade, with the caution of every calibrated stage multiplied by `scale`."""
    return tuple(stage.scaled(scale) for stage in stages)

"""Plans with a stated risk: which approximate stages, how cautious, and the evidence that they may be so bold.

Rows are split. Some choose the list of stages (and, where the caller has no `fit_rows`, half of those are fitted on);
the others certify it: all cautions of the list are scaled together, from far too cautious to bolder than was chosen,
and calibration says how far one may go. Where not even the most cautious can be certified, or nothing is gained by it,
the plan is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.approximations import approximations
from dormie.calibration import certify, p_value, split
from dormie.candidates import candidates
from dormie.contest import Contest
from dormie.machine import Machine
from dormie.plan import Exact, Guarantee, Risk, Trial
from dormie.progress import Progress
from dormie.rows import dense, unmapped
from dormie.sample import sample_rows
from dormie.stages import Dense, Stage
from dormie.stages.base import CautiousStage

_CHOOSING = 2048
_FEWEST = 200  # rows to choose by: with fewer, made-up ones do better
_SCALES = np.geomspace(6.0, 0.3, 48)  # of the cautions chosen
_HEADROOM = 0.6  # how much rarer disagreement should be than what just passes

Chosen = tuple[tuple[Stage, ...], Guarantee, tuple[Trial, ...]]


@dataclass(frozen=True)
class Request:
    """What the caller asks for: a risk, with a confidence, of all rows or of each class."""

    alpha: float
    confidence: float
    per_class: bool
    seed: int


@dataclass(frozen=True)
class Parts:
    """Checked rows to fit approximations on, to choose by, and to certify on."""

    fitting: Any
    choosing: Any
    certifying: Any

    @classmethod
    def of(cls, machine: Machine, rows: Any, fit_rows: Any | None, request: Request) -> Parts:
        choosing, certifying = split(rows.shape[0], request.alpha, request.confidence, request.seed)
        if fit_rows is None:
            halves = choosing[::2], choosing[1::2]
            fit_rows, choosing = np.vstack([unmapped(machine, machine.points), dense(rows[halves[0]])]), halves[1]
        if len(choosing) >= _FEWEST:
            return cls(fit_rows, sample_rows(machine, rows[choosing], _CHOOSING, request.seed), rows[certifying])
        return cls(fit_rows, sample_rows(machine, None, _CHOOSING, request.seed), rows[certifying])


def plan_with_risk(
    machine: Machine, names: list[str] | None, parts: Parts, request: Request, effort: str, progress: Progress
) -> Chosen:
    """Stages, what they promise, and what was measured."""
    full = Dense(machine)
    stages: list[Stage] = [*candidates(machine, names, parts.choosing, "quick", progress)]
    bolder = approximations(machine, names, parts.fitting, parts.choosing, effort, request.seed, progress)
    stages += bolder.stages
    progress.say(f"timing {len(stages)} candidates on {parts.choosing.shape[0]:,} rows")
    contest = Contest(full, stages, parts.choosing, bolder.flips)
    exact, exact_trials = contest.winner()
    bold, trials = contest.winner(allowed=_likely_to_pass(parts.certifying.shape[0], request))
    if all(stage.certified for stage in bold):
        return exact, Exact(), exact_trials
    progress.say(f"certifying on {parts.certifying.shape[0]:,} rows")
    risk = _certified(bold, full, parts.certifying, request)
    if risk is None:
        return exact, Exact(), exact_trials
    safe = _scaled(bold, risk.evidence.caution)
    ours, theirs = contest.timed(safe, exact)
    return (safe, risk, (ours, *trials)) if ours.microseconds < theirs.microseconds else (exact, Exact(), exact_trials)


def _likely_to_pass(rows: int, request: Request) -> float:
    """A rate of disagreement at which the certifying rows will probably show no more than they may."""
    seen = 0
    while p_value(rows, seen + 1, request.alpha) <= 1 - request.confidence:
        seen += 1
    return _HEADROOM * (seen + 0.4) / rows


def _certified(stages: tuple[Stage, ...], full: Dense, rows: Any, request: Request) -> Risk | None:
    """The promise that the list can make at the boldest scale of its cautions, or None."""
    right = full.decide(rows).answers
    return certify(
        lambda scale: _wrong(_scaled(stages, scale), rows, right),
        [float(scale) for scale in _SCALES],
        request.alpha,
        request.confidence,
        classes=full.machine.rule.labels(right) if request.per_class else None,
        seed=request.seed,
    )


def _scaled(stages: Sequence[Stage], scale: float) -> tuple[Stage, ...]:
    """The same list, every stage without a certificate as many times as cautious."""
    return tuple(
        stage.cautious(scale * stage.caution) if isinstance(stage, CautiousStage) and not stage.certified else stage
        for stage in stages
    )


def _wrong(stages: Sequence[Stage], rows: Any, right: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which rows the list gets wrong: only stages before the dense one can."""
    wrong, waiting = np.zeros(len(right), dtype=bool), np.arange(len(right))
    for stage in stages[:-1]:
        found = stage.decide(rows[waiting])
        assert found.settled is not None
        settled = waiting[found.settled]
        wrong[settled] = found.answers[found.settled] != right[settled]
        waiting = waiting[~found.settled]
    return wrong

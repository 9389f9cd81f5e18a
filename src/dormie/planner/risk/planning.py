"""Makes a plan with a stated risk: chooses calibrated stages and their cautions, and has the choice certified.

The rows are split into choosing and certifying rows. (Without `fit_rows`, half of the choosing rows serve for fitting.)
The race on the choosing rows finds, for each of several rates of disagreement, the cascade that is probably cheapest.
These cascades in order, preceded by more and more cautious ones and followed by bolder ones, are the sequence of plans
that `calibration` tests on the certifying rows. The last plan to pass is the result. If no plan passes, or if the one
that passes is not faster, `compile` makes an exact plan instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine, members_of
from dormie.machine.rows import as_array, dense, unmapped
from dormie.machine.rules import Rule, ValueRule
from dormie.machine.typing import Booleans
from dormie.methods.base import Stage
from dormie.methods.dense import Dense, cheapest
from dormie.methods.fitting import EFFORTS, CalibratedFitting, Sample
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.cascade import Cascade
from dormie.plan.plan import CLEAR_WIN, Trial
from dormie.planner.certified_candidates import candidates, companions
from dormie.planner.costs import Costs
from dormie.planner.options import Options, RiskRequest
from dormie.planner.race import Candidate, Chosen, Race
from dormie.planner.risk import calibrated_candidates
from dormie.planner.risk.calibration import Certified, certify, require_enough_of_each, split
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


@dataclass(frozen=True)
class Parts:
    """Checked rows: those to fit approximations on, the choosing rows and the certifying rows."""

    fitting: Any
    choosing: Any
    certifying: Any

    @classmethod
    def of(cls, machine: Machine, rows: Any, fit_rows: Any | None, risk: RiskRequest, seed: int) -> Parts:
        """Split the caller's rows."""
        count = rows.shape[0]
        share = _CHOOSING_ALONE if fit_rows is not None else _FITTING_TOO
        least = max(_FEWEST, int(share * count))
        choosing, certifying = split(count, risk.alpha, risk.confidence, seed, least=least, per_class=risk.per_class)
        if fit_rows is None:
            halves = choosing[::2], choosing[1::2]
            fit_rows, choosing = _points_and(machine, rows[halves[0]]), halves[1]
        else:
            fit_rows = without_certifying(machine, fit_rows, rows[certifying])
        enough = rows[choosing] if len(choosing) >= _FEWEST else None
        if enough is None and machine.kernel.is_python:  # synthetic rows exist for vectors only
            enough = rows[choosing] if len(choosing) else fit_rows
        return cls(fit_rows, sample_rows(machine, enough, _CHOOSING, seed), rows[certifying])


def _points_and(machine: Machine, rows: Any) -> Any:
    """The support vectors and these rows."""
    if machine.of_vectors:
        return np.vstack([*(unmapped(member, member.points) for member in members_of(machine)), dense(rows)])
    return np.concatenate([as_array(machine.points), rows])


@dataclass(frozen=True, eq=False)
class CertifyingRows:
    """The certifying rows, and the answers that plans are compared with."""

    rows: Any
    rule: Rule
    right: npt.NDArray[Any]  # the full machine's answers
    last: npt.NDArray[Any]  # the answers of the dense stage that ends every plan
    classes: npt.NDArray[Any] | None  # the full machine's labels, for a risk in each class

    @classmethod
    def of(cls, rows: Any, full: Dense, last: Stage, risk: RiskRequest) -> CertifyingRows:
        """Answer the rows; raises ValueError if some class has too few of them. last: what ends every plan."""
        right = full.right(rows)
        rule = full.machine.rule
        classes = rule.labels(right) if risk.per_class else None
        if classes is not None:
            require_enough_of_each(classes, risk.alpha, risk.confidence)
        return cls(rows, rule, right, last.decide(rows).answers, classes)

    def disagreements(self, plan: Cascade) -> Booleans:
        """The rows on which a plan is wrong.

        A row's answer does not depend on its batch, so the dense stage, which is the most expensive, ran only once.
        """
        answers = self.last
        if len(plan.early):
            early = cascade.run(plan.early, self.rows)
            answers = np.array(early.answers)
            answers[early.open] = self.last[early.open]
        return self.rule.differ(answers, self.right)


@dataclass(frozen=True, eq=False)
class RiskPlanner:
    """The steps to a plan with a risk, and what they share.

    If the plan takes at most `far_ahead` times as long as a quickly fitted exact plan, no better exact plan is fitted
    for comparison.
    """

    machine: Machine
    options: Options
    risk: RiskRequest
    parts: Parts
    progress: Progress
    costs: Costs
    far_ahead: float = _FAR_AHEAD

    def choose(self) -> Chosen | None:
        """The stages, their risk, and the timings; None if an exact plan is as good."""
        full = Dense(self.machine)
        last = cheapest(full, self.parts.choosing)
        certifying = CertifyingRows.of(self.parts.certifying, full, last, self.risk)  # first: a class may have too few
        quick = replace(self.options, effort=EFFORTS["quick"])
        race = self._race(full, last, self._certified_candidates(quick) + self._fitted_candidates())
        plans = self._plans(race)
        certified = self._certify(plans, certifying)
        if certified is None:
            return None
        plan = plans[certified.index]
        trials = self._trials_if_faster(plan, race)
        return None if trials is None else Chosen(plan, certified.risk, trials)

    def _certified_candidates(self, options: Options) -> list[Candidate]:
        stages = candidates(self.machine, options, self.parts.choosing, self.progress)
        return [Candidate(stage) for stage in stages]

    def _fitted_candidates(self) -> list[Candidate]:
        """Calibrated candidates, and certified ones made of what those were fitted to.

        They are fitted on one part of the rows, with half-widths measured on the other.
        """
        effort, named, seed = self.options.effort, self.options.named, self.options.seed
        to_fit_on = sample_rows(self.machine, self.parts.fitting, effort.fit_rows, seed)
        self.progress.say(f"evaluating {to_fit_on.shape[0]:,} rows to fit on")
        fitting, measuring = (Sample.of(self.machine, rows) for rows in (to_fit_on, self.parts.choosing))
        task = CalibratedFitting(self.machine, fitting, measuring, effort, named, seed, self.progress)
        calibrated = [*calibrated_candidates.candidates(task, self.options)]
        return calibrated + [Candidate(stage) for stage in companions(task, self.options)]

    def _race(self, full: Dense, last: Stage, entries: Sequence[Candidate]) -> Race:
        self.progress.say(f"comparing {len(entries)} candidates on {self.parts.choosing.shape[0]:,} rows")
        return Race.between(full, entries, self.parts.choosing, self.costs, last)

    def _plans(self, race: Race) -> list[Cascade]:
        """The sequence of plans, from the cheapest cascades at several rates of disagreement."""
        cascades = race.cheapest_within([self.risk.alpha * rate for rate in _RATES])
        plans = sequence_of_plans(cascades, race.last)
        return [plan for plan in plans if not plan.certified]

    def _certify(self, plans: Sequence[Cascade], rows: CertifyingRows) -> Certified | None:
        rule = self.machine.rule
        self.progress.say(f"certifying {len(plans)} plans on {rows.rows.shape[0]:,} rows")
        return certify(
            plans,
            rows.disagreements,
            self.risk.alpha,
            self.risk.confidence,
            classes=rows.classes,
            seed=self.options.seed,
            tolerance=rule.tolerance if isinstance(rule, ValueRule) else None,
        )

    def _trials_if_faster(self, plan: Cascade, race: Race) -> tuple[Trial, ...] | None:
        """The timings of the plan and of exact plans; None unless it is clearly faster than the best exact one."""
        exact, trials = race.winner()
        ours, theirs = race.timed(plan, exact)
        if ours.microseconds > self.far_ahead * theirs.microseconds:  # one fitted with the full effort may be faster
            exact, trials = self._race(race.dense, race.dense, self._certified_candidates(self.options)).winner()
            ours, theirs = race.timed(plan, exact)
        return (ours, *trials) if ours.microseconds < CLEAR_WIN * theirs.microseconds else None


def sequence_of_plans(cascades: Sequence[Cascade], last: Stage) -> list[Cascade]:
    """The plans to test, from cautious to bold; each ends in a dense stage."""
    plans = [cascade.scaled(factor) for cascade in cascades[:1] for factor in _MORE_CAUTIOUS]
    plans += cascades
    plans += [cascade.scaled(factor) for cascade in cascades[-1:] for factor in _BOLDER]
    return [plan.before(last) for at, plan in enumerate(plans) if at == 0 or plan != plans[at - 1]]

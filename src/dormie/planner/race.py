"""The race: finds the cheapest cascade.

Every stage is run alone on the same sample rows. The cost of all cascades is estimated from that (`cascades.py`), and
the most promising cascades are run and timed. Where the times come from, the clock or a profile, is in `costs.py`.

Times are never quite the same twice. So where several exact cascades are about as fast, within a margin, the simplest
of them wins: the one with the fewest stages, then with the fewest vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.machine.typing import Positions
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Guarantee
from dormie.plan.plan import CLEAR_WIN, Trial
from dormie.planner.cascades import STAGE_PENALTY, Cascades, Run, weigh
from dormie.planner.costs import Alone, Costs
from dormie.predictor.cascade import run

_FINALISTS = 5
_ABOUT_AS_FAST = 1.05  # ratio of times below which the simpler of two cascades wins


@dataclass(frozen=True, eq=False)
class Candidate:
    """A stage at one or several cautions; for each, the probability that its answer to a sample row is wrong."""

    stage: Stage
    cautions: Sequence[float] = (1.0,)
    disagreement: Sequence[Floats | float] = (0.0,)  # from `dormie.planner.risk.disagreement`


class Chosen(NamedTuple):
    """The cascade of a plan, what it guarantees, and what was timed to choose it."""

    cascade: Cascade
    guarantee: Guarantee
    trials: tuple[Trial, ...]


@dataclass(frozen=True, eq=False)
class Race:
    """What candidates did alone on sample rows, to choose cascades by; every cascade ends in the dense stage."""

    dense: Dense
    sample: Any
    costs: Costs
    runs: Sequence[Run]
    dense_run: Run
    last_run: Run  # of what ends cascades with a risk
    entry: float  # seconds of a row besides its stages

    @classmethod
    def between(
        cls, dense: Dense, candidates: Iterable[Candidate], sample: Any, costs: Costs, last: Stage | None = None
    ) -> Race:
        """Run every candidate, and the dense stage, alone on the sample.

        last: what ends cascades with a risk, if that is not the dense stage itself
        """
        ends = [Candidate(dense)] if last in (None, dense) else [Candidate(last), Candidate(dense)]
        measured = [*_measured([*candidates, *ends], dense, sample, costs)]
        runs = measured[: -len(ends)]
        return cls(dense, sample, costs, runs, measured[-1], measured[-len(ends)], costs.of_entry(dense, sample))

    @property
    def last(self) -> Stage:
        """What ends cascades with a risk."""
        return self.last_run.stage

    def winner(self, dense_alone: bool = True) -> tuple[Cascade, tuple[Trial, ...]]:
        """The cheapest certified cascade, and all trials; with `dense_alone` it must clearly beat the dense stage."""
        runs = [run for run in self.runs if run.stage.certified]
        cascades = weigh(runs, self.dense_run)
        alone = Cascade.of(self.dense)
        early = [found for index in _finalists(cascades, runs) if len(found := cascades.cascade(index, runs))]
        finalists = [alone] if dense_alone or not early else []
        finalists += [cascade.before(self.dense) for cascade in early[:_FINALISTS]]
        trials = self.timed(*finalists)
        times = np.array([trial.microseconds for trial in trials])
        penalized = times * STAGE_PENALTY ** np.array([len(entry) for entry in finalists])
        close = np.flatnonzero(penalized <= _ABOUT_AS_FAST * penalized.min())
        at = min(close, key=lambda number: (len(finalists[number]), _size(finalists[number]), penalized[number]))
        best = finalists[at]
        if dense_alone and times[at] > CLEAR_WIN * times[0]:
            best = alone
        return best, _each_once([*trials, *map(self._alone, runs)])

    def cheapest_within(self, shares: Iterable[float]) -> list[Cascade]:
        """For each share of rows that may be wrong, the cheapest cascade by estimate, without its last stage."""
        cascades = weigh(self.runs, self.last_run)
        seconds = cascades.penalized_seconds()
        allowed = (cascades.wrong <= share * self.sample.shape[0] for share in shares)
        return [cascades.cascade(int(np.argmin(np.where(few, seconds, np.inf))), self.runs) for few in allowed]

    def timed(self, *cascades: Cascade) -> list[Trial]:
        """The measured time of whole cascades, dense stage included, run in turns."""
        found = [run(cascade, self.sample) for cascade in cascades]
        seconds = self.costs.of_cascades(cascades, self.sample)
        return [
            Trial(str(cascade), float(np.mean(each.settled_by < len(cascade) - 1)), 1e6 * of_row)
            for cascade, each, of_row in zip(cascades, found, seconds, strict=True)
        ]

    def _alone(self, alone: Run) -> Trial:
        """The estimated time of one stage before the dense one."""
        seconds = float(alone.costs.sum() + self.dense_run.costs @ ~alone.settled)
        cascade = Cascade((alone.stage, self.dense), (alone.caution, 1.0))
        return Trial(
            str(cascade), float(alone.settled.mean()), float(1e6 * (self.entry + seconds / self.sample.shape[0]))
        )


def _measured(candidates: Sequence[Candidate], dense: Dense, sample: Any, costs: Costs) -> Iterator[Run]:
    """Run every stage alone. The costs of a candidate are asked for once: evaluations cost the same at any caution."""
    found = [[each.stage.decide(sample, caution) for caution in each.cautions] for each in candidates]
    firsts = [Alone(each.stage, each.cautions[0], of[0]) for each, of in zip(candidates, found, strict=True)]
    prices, count = costs.of_stages(firsts, sample), sample.shape[0]
    rule, right = dense.machine.rule, dense.right(sample)
    for number, (candidate, price) in enumerate(zip(candidates, prices, strict=True)):
        stage = candidate.stage
        for caution, chances, decisions in zip(candidate.cautions, candidate.disagreement, found[number], strict=True):
            settled = np.broadcast_to(True if decisions.settled is None else decisions.settled, count)
            wrong = settled * np.maximum(chances, rule.differ(decisions.answers, right)) if not stage.certified else 0.0
            yield Run(stage, caution, number, settled, np.broadcast_to(wrong, count), price(decisions))


def _finalists(cascades: Cascades, runs: Sequence[Run]) -> list[int]:
    """The positions of the most promising cascades: the simplest that is about as fast as the best, and the fastest."""
    seconds = cascades.penalized_seconds()
    fastest = np.argsort(seconds, kind="stable")[: _FINALISTS + 1]
    return [*dict.fromkeys([_simplest(cascades, cascades.sizes(runs), seconds), *fastest.tolist()])]


def _simplest(cascades: Cascades, sizes: Positions, seconds: Floats) -> int:
    """The position of the simplest of the cascades that are about as fast as the fastest."""
    close = np.flatnonzero(seconds <= _ABOUT_AS_FAST * seconds.min())
    order = np.lexsort((seconds[close], sizes[close], cascades.lengths()[close]))
    return int(close[order[0]])


def _size(cascade: Cascade) -> int:
    return sum(stage.size for stage in cascade.stages)


def _each_once(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The first trial of each cascade, sorted by time."""
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.stages, trial)
    return tuple(sorted(first.values(), key=lambda trial: trial.microseconds))

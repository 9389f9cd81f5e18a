"""Plans that are free to choose any stages, for the pairs of DeCoste & Mazzoni 2003: the time a risk saves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from dormie.lab.bench.timing import interleave, seconds_of
from dormie.lab.papers.decoste2003.pairs import Pair
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Machine
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.planner import compiler as planner
from dormie.predictor import cascade


@dataclass(frozen=True)
class Free:
    """The plan of one pair, and its results on the pair's own test digits."""

    pair: str
    stages: str
    points: int
    evaluations: float
    disagreements: int
    rows: int
    dense: float  # microseconds per row, as is `plan`
    plan: float
    compiling: float  # seconds

    @classmethod
    def of(cls, machine: Machine, pair: Pair, risk: float) -> Free:
        found = []
        spent = seconds_of(
            lambda: found.append(planner.compile(machine, pair.held_out, fit_rows=pair.train, risk=risk).plan.cascade)
        )
        [chosen], full = found, Dense(machine)
        run, right = cascade.run(chosen, pair.test), full.decide(pair.test).answers
        cascades = {"plan": chosen, "dense": Cascade.of(full)}
        tasks = {name: partial(cascade.run, each, pair.test) for name, each in cascades.items()}
        times = {name: 1e6 * min(rounds) / len(right) for name, rounds in interleave(tasks, 0).items()}
        return cls(
            pair.name,
            str(chosen),
            machine.n_points,
            float(np.mean(run.evaluations)),
            int(np.sum(run.answers != right)),
            len(right),
            times["dense"],
            times["plan"],
            spent,
        )


def free_table(title: str, found: list[Free]) -> Table:
    """A column for each quantity, a line for each pair, and one for all of them together."""
    dense, plan = sum(each.dense for each in found), sum(each.plan for each in found)
    columns: dict[str, Numbers] = {
        "L": {each.pair: each.points for each in found},
        "evaluations": {each.pair: each.evaluations for each in found},
        "disagreements": {
            **{each.pair: each.disagreements for each in found},
            "all": sum(each.disagreements for each in found),
        },
        "of rows": {**{each.pair: each.rows for each in found}, "all": sum(each.rows for each in found)},
        "dense, us per row": {**{each.pair: each.dense for each in found}, "all": dense / len(found)},
        "plan, us per row": {**{each.pair: each.plan for each in found}, "all": plan / len(found)},
        "times as fast": {**{each.pair: each.dense / each.plan for each in found}, "all": dense / plan},
        "compiling, s": {each.pair: each.compiling for each in found},
    }
    return Table(f"{title}: plans free to choose their stages", columns, tuple(f"{e.pair}: {e.stages}" for e in found))

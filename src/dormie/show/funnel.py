"""How many rows reach each stage of a plan, and how many it settles: the numbers of the funnel, without its picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dormie.machine import Floats
from dormie.plan.plan import Plan
from dormie.predictor.cascade import CascadeResult


class Funnel(NamedTuple):
    """For every stage: its words, the shares of all rows that reach it and that it settles, and what those cost."""

    stages: list[str]
    reached: Floats
    settled: Floats
    evaluations: Floats  # the mean, in all stages, of the rows that the stage settles


def funnel_of(plan: Plan, found: CascadeResult) -> Funnel:
    """The funnel of rows that went through a plan."""
    by = np.array(np.broadcast_to(found.settled_by, len(found.answers)))
    by[found.by_source] = len(plan.stages)
    stages = [*(str(stage) for stage in plan.stages), "source"]
    counts = np.bincount(by, minlength=len(stages))
    spent = np.bincount(by, np.broadcast_to(found.evaluations, len(by)), minlength=len(stages))
    means = spent / np.maximum(counts, 1)
    kept = len(stages) if counts[-1] else len(stages) - 1  # the model's own sum is shown only where it was needed
    settled = counts[:kept] / max(1, counts.sum())
    reached = np.append(1.0, 1.0 - np.cumsum(settled)[:-1]).clip(0.0, 1.0)
    return Funnel(stages[:kept], reached, settled, means[:kept])

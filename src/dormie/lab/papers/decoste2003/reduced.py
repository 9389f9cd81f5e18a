"""Nearest reduced-set vectors, which the paper proposes: the terms are those of a reduced set, not support vectors.

The thresholds are measured by the outputs of the full machine, which also answers the rows left open.
"""

from __future__ import annotations

from dormie.lab.papers.decoste2003.pairs import CALIBRATED, SIMPLE, SMOOTHED, WINDOW, Extent, Pair, certified
from dormie.machine import Machine
from dormie.methods.nearest import Nearest
from dormie.methods.reduced_set.reduce import reduce
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade

SHARE = 10  # support vectors for each vector of the reduced set


def reduced_variants(machine: Machine, pair: Pair, extent: Extent) -> dict[str, Cascade]:
    """Cascades before the dense stage, each of one nearest stage over a reduced set."""
    few = reduce(machine, max(machine.n_points // SHARE, 1), pair.train).machine
    train, held_out = (FullSum(machine).outputs(rows) for rows in (pair.train, pair.held_out))
    steps = range(1, min(extent.budget, few.n_points) + 1)
    found = {
        kind: Cascade.of(Nearest.fit(few, pair.held_out, outputs=held_out, mode="paper", steps=steps, window=window))
        for kind, window in ((SIMPLE, 0), (SMOOTHED, WINDOW))
    }
    calibrated = Cascade.of(Nearest.fit(few, pair.train, outputs=train, budget=steps[-1]))
    return found | {CALIBRATED: certified(calibrated, machine, pair, extent.risk)}

"""Fast stopping: partial sums, largest terms first, between what the rest of the weights could still do."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, COSTS, GREY, INK, ORANGE, open_frame

import dormie

rng = np.random.default_rng(4)
points = rng.normal(size=(600, 3))
weights = np.where(np.arange(600) < 40, 1.0, 0.012) * rng.choice([-1.0, 1.0], 600)
machine = dormie.Machine(dormie.kernels.RBF(0.2), points, weights, 0.0, dormie.rules.Sign(["no", "yes"]))
fast = dormie.compile(machine, methods=["fast_stopping"], profile=COSTS)
rows = rng.normal(size=(2000, 3))
evaluations = fast.trace(rows).evaluations

easy = rows[np.flatnonzero(evaluations == evaluations.min())[0]]
doubtful = rows[np.flatnonzero((evaluations > 250) & (evaluations < 600))[0]]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=[1.3, 1])
left.axhline(0, color=INK, linewidth=1)
for row, colour, name in ((easy, BLUE, "an easy row"), (doubtful, ORANGE, "a doubtful one")):
    steps = [step for step in fast.anytime(row) if step.evaluations]
    at = [step.evaluations for step in steps]
    low, high = ([float(end[0]) for end in ends] for ends in ([s.low for s in steps], [s.high for s in steps]))
    left.fill_between(at, low, high, color=colour, alpha=0.3, linewidth=0, label=name)
    settled = next(i for i in range(len(at)) if low[i] > 0 or high[i] < 0)
    left.plot([at[settled]] * 2, [low[settled], high[settled]], color=colour, linewidth=2.5)
left.set(xlabel="terms added, largest first", ylabel="interval of the output", xlim=(32, 600))
left.set_title("a row stops where its interval leaves 0", fontsize=10)
left.legend(frameon=False)
open_frame(left)

counts = np.arange(0, 601, 4)
right.fill_between(counts, [(evaluations > count).mean() for count in counts], color=GREY, step="post", linewidth=0)
right.set(xlabel="terms added", ylabel="share of 2,000 rows still open", xlim=(0, 600), ylim=(0, 1))
right.set_title(f"{evaluations.mean():.0f} of 600 terms in the mean", fontsize=10)
open_frame(right)

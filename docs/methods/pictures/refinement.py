"""Refinement: where a coarse and a fine reduced set agree, the fine one is close to the full sum."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, COSTS, GREY, INK, open_frame
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR

import dormie
from dormie.show import CascadeDisplay

X, y = make_friedman1(9000, n_features=5, noise=1.0, random_state=0)
train, held_out, new = X[:2000], X[2000:7000], X[7000:]
svr = SVR(C=10.0).fit(train, y[:2000])
coarse, fine = (dormie.compile(dormie.reduce(svr, n, train).machine).predict(new) for n in (32, 128))
step, error = np.abs(fine - coarse), np.abs(fine - svr.predict(new))
fast = dormie.compile(
    svr,
    held_out,
    fit_rows=train,
    tolerance=0.12,
    risk=0.01,
    methods=["refinement"],
    effort="quick",
    profile=COSTS,
)
settled = fast.trace(new).stage == "refinement"

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained", width_ratios=[1, 1.1])
for part, colour, name in ((~settled, GREY, "goes on"), (settled, BLUE, "settled by the plan")):
    left.scatter(step[part], error[part], s=5, color=colour, linewidths=0, label=name)
left.axhline(0.12, color=INK, linewidth=1, linestyle="--")
left.annotate("tolerance", (step.min(), 0.12), xytext=(0, 3), textcoords="offset points", fontsize=9)
left.set(xscale="log", yscale="log", ylim=(1e-4, 3))
left.set(xlabel="step from 32 vectors to 128, known for each row", ylabel="error of the 128")
left.legend(frameon=False, markerscale=3, loc="lower left")
open_frame(left)
CascadeDisplay.from_predictor(fast, new, ax=right)
right.get_legend().remove()
right.set_xlabel("share of the rows: reach (grey), are settled (blue)")

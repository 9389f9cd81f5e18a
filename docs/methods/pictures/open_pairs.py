"""Open pairs: of a digit in doubt, the pairs that estimates leave open are summed in full, and no others."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, COSTS, GREY, INK, ORANGE, bare, open_frame
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.methods.open_pairs import OpenPairs

X, y = load_digits(return_X_y=True)
svc = SVC(gamma=0.002, decision_function_shape="ovo").fit(X[:1000], y[:1000])
held_out, unseen = X[1000:1500], X[1500:]
fast = dormie.compile(
    svc, held_out, fit_rows=X[:1000], risk=0.02, methods=["open_pairs"], effort="quick", profile=COSTS
)
stage, caution = fast.plan.stages[0], fast.plan.cascade.cautions[0]
assert isinstance(stage, OpenPairs)
evaluations = fast.trace(unseen).evaluations

half_widths = caution * stage.guess.half_widths[0]
first, second = np.triu_indices(10, 1)
estimates, outputs = stage.estimate(unseen), svc.decision_function(unseen)
champions = fast.predict(unseen)
own = (first == champions[:, None]) | (second == champions[:, None])
opened = own & (np.abs(estimates) <= half_widths)
at = int(np.flatnonzero(opened.sum(axis=1) == 2)[0])  # a digit with two pairs in doubt
pairs = np.flatnonzero(own[at])
sign = np.where(first[pairs] == champions[at], 1, -1)
rivals = np.where(first[pairs] == champions[at], second[pairs], first[pairs])

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(9.6, 3.3), layout="constrained", width_ratios=[0.55, 1.3, 1.1]
)
left.imshow(unseen[at].reshape(8, 8), cmap="Greys")
bare(left, f"a digit; the guess: {champions[at]}")

for rival, pair, side in zip(rivals, pairs, sign, strict=True):
    colour = ORANGE if opened[at, pair] else BLUE
    middle.errorbar(rival, side * estimates[at, pair], half_widths[pair], fmt="o", color=colour, capsize=3)
    if opened[at, pair]:
        middle.plot(rival, side * outputs[at, pair], "D", color=INK, markersize=5)
middle.axhline(0, color=GREY)
middle.set(xticks=rivals, xlabel="against", ylabel="lead of the guess")
middle.set_title("estimates; open pairs in full (diamonds)", fontsize=10)
open_frame(middle)

right.hist(evaluations, bins=24, color=BLUE)
right.axvline(len(svc.support_), color=INK, linestyle="--")
right.annotate("full sum", (len(svc.support_), 0.9), xycoords=("data", "axes fraction"), ha="right")
right.set(xlabel="kernel evaluations", ylabel="unseen digits")
right.set_title("what a digit takes", fontsize=10)
open_frame(right)

"""The champion: the guess's own nine pairs of the forty-five prove the vote."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import COSTS, GREY, INK, bare
from matplotlib.colors import TwoSlopeNorm
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.show import CascadeDisplay

X, y = load_digits(return_X_y=True)
X = X / 16
svc = SVC(decision_function_shape="ovo").fit(X[:1000], y[:1000])
fast = dormie.compile(svc, methods=["champion"], effort="quick", profile=COSTS)
row = X[1003:1004]
outputs, champion = svc.decision_function(row)[0], int(fast.predict(row)[0])

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(9.6, 3.3), layout="constrained", width_ratios=[0.55, 1, 1.3]
)
left.imshow(row.reshape(8, 8), cmap="Greys")
bare(left, f"a digit; the guess: {champion}")

lead = np.full((10, 10), np.nan)
first, second = np.triu_indices(10, 1)
lead[first, second], lead[second, first] = outputs, -outputs
middle.imshow(lead, cmap="RdBu", norm=TwoSlopeNorm(0, -2, 2), alpha=0.18)
own = np.full_like(lead, np.nan)
own[champion] = lead[champion]
middle.imshow(own, cmap="RdBu", norm=TwoSlopeNorm(0, -2, 2))
middle.add_patch(Rectangle((-0.5, champion - 0.5), 10, 1, fill=False, edgecolor=INK, linewidth=1.5))
middle.set(xticks=range(10), yticks=range(10), xlabel="against", ylabel="class")
middle.tick_params(length=0)
middle.set_title("its own pairs are all won (blue)", fontsize=10)
for side in middle.spines.values():
    side.set_color(GREY)

CascadeDisplay.from_predictor(fast, X[1000:], ax=right)
right.set_title("where 797 unseen digits stop", fontsize=10, pad=22)
right.get_legend().remove()
right.set_xlabel("share of the rows: reach (grey), are settled (blue)")

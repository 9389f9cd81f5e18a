"""Parts: the intervals of the members of an ensemble, and what they leave open of the mean."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, COSTS, GREY, INK, open_frame
from sklearn.ensemble import BaggingRegressor
from sklearn.svm import SVR

import dormie

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (1500, 3))
y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.3 * X[:, 2] + rng.normal(0, 0.1, 1500)
ensemble = BaggingRegressor(SVR(C=5.0, gamma=0.25), n_estimators=5, max_samples=0.6, random_state=0).fit(X, y)
row = np.array([[1.0, 0.5, -0.5]])
members = [
    dormie.compile(member, methods=["geometry"], tolerance=0.01, profile=COSTS) for member in ensemble.estimators_
]

figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained", sharey=True, sharex=True)
for panel, budget in zip(panels, (16, 32, 64), strict=True):
    ends = np.array([np.ravel(each.interval(row, budget)) for each in members])
    for place, (low, high) in enumerate(ends):
        panel.plot([low, high], [place] * 2, color=GREY, linewidth=7, solid_capstyle="butt")
    low, high = ends.mean(axis=0)
    panel.plot([low, high], [5.3] * 2, color=BLUE, linewidth=7, solid_capstyle="butt")
    panel.axvline(ensemble.predict(row)[0], color=INK, linewidth=1)
    panel.set_title(f"{budget} landmarks each: ±{(high - low) / 2:.2g}", fontsize=10)
    open_frame(panel)
panels[0].set_yticks([0, 1, 2, 3, 4, 5.3], [*(f"member {n}" for n in range(1, 6)), "the mean"])
panels[0].invert_yaxis()
panels[1].set_xlabel("interval of the value of one row")

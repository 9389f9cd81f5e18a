"""Scores: the class that is ahead by a measured gap, for seven classes in the plane."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, COSTS, GREY, INK, PALE_GREY, bare, open_frame, plane
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

import dormie

X, y = make_blobs(14_000, centers=7, cluster_std=1.7, random_state=6)
train, held_out = X[:2000], X[2000:]
svc = SVC(gamma=0.15).fit(train, y[:2000])
fast = dormie.compile(svc, held_out, fit_rows=train, risk=0.001, methods=["scores"], effort="quick", profile=COSTS)

low, high = np.quantile(X, [0.002, 0.998], axis=0)
rows, across, up = plane((low[0], high[0]), (low[1], high[1]))
labels, first = fast.predict(rows), fast.trace(rows).stage == "scores"
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[1.25, 1])
colours = ListedColormap([PALE_GREY, *plt.colormaps["Set2"](range(7))])
number = np.where(first, 1 + labels, 0).reshape(across.shape)
left.pcolormesh(across, up, number, cmap=colours, vmin=0, vmax=7, rasterized=True)
left.contour(across, up, svc.predict(rows).reshape(across.shape), levels=np.arange(0.5, 7), colors=INK, linewidths=0.7)
settled = (fast.trace(held_out).stage == "scores").mean()
bare(left, f"scores settle {settled:.1%} of the rows; grey goes on")

machine = fast.plan.machine
names = ["an output\nfor each pair", "a score\nfor each class"]
right.bar(names, [machine.n_outputs, len(svc.classes_)], color=[GREY, BLUE], width=0.55)
for place, count in enumerate((machine.n_outputs, len(svc.classes_))):
    right.annotate(str(count), (place, count), xytext=(0, 3), textcoords="offset points", ha="center")
right.set_title("numbers that each kernel value is weighted for", fontsize=10)
open_frame(right)

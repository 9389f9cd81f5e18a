"""Nearest support vectors: a digit, the vectors nearest to it, and the same sum in two orders."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, GREY, INK, ORANGE, bare, open_frame
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie

X, y = load_digits(return_X_y=True)
pair = np.isin(y, (3, 8))
X, y = X[pair] / 16, y[pair]
svc = SVC(gamma=0.3, C=10.0).fit(X[:240], y[:240])
machine = dormie.read(svc)
row = X[240:][np.argsort(np.abs(svc.decision_function(X[240:])))[6]][None]
terms = machine.kernel.matrix(row, machine.points)[0] * machine.weights[:, 0]
nearest = np.argsort(-np.abs(terms))

figure = plt.figure(figsize=(9.4, 3.4), layout="constrained")
grid = figure.add_gridspec(3, 6)
first = figure.add_subplot(grid[0:2, 0:2])
first.imshow(row.reshape(8, 8), cmap="Greys")
bare(first, f"a digit: {svc.predict(row)[0]}")
for place, at in enumerate(nearest[:2]):
    small = figure.add_subplot(grid[2, place])
    small.imshow(machine.points[at].reshape(8, 8), cmap="Greys")
    bare(small, f"term {terms[at]:+.2f}")
    for side in small.spines.values():
        side.set(color=BLUE if terms[at] > 0 else ORANGE, linewidth=2.5)
chart = figure.add_subplot(grid[:, 2:])
chart.axhline(0, color=INK, linewidth=1)
for order, colour, name in ((np.arange(len(terms)), GREY, "the model's order"), (nearest, BLUE, "nearest first")):
    sums = machine.bias[0] + np.concatenate([[0.0], np.cumsum(terms[order])])
    chart.step(np.arange(len(sums)), sums, color=colour, label=name, where="post", linewidth=2)
chart.set(xlabel=f"terms added, of {machine.n_points}", ylabel="partial sum")
chart.legend(frameon=False)
open_frame(chart)

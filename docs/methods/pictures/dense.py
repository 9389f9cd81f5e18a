"""The full sum: every support vector pulls at a row, and the pulls add up."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, GREY, INK, ORANGE, bare, open_frame, plane
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie

X, y = make_moons(400, noise=0.25, random_state=3)
machine = dormie.read(SVC(gamma=2.0).fit(X, y))
row = np.array([[0.55, 0.1]])
terms = (machine.kernel.matrix(row, machine.points)[0] * machine.weights[:, 0]).astype(float)

rows, across, up = plane((-1.8, 2.8), (-1.3, 1.8))
outputs = dormie.compile(machine, methods=[]).decision_function(rows).reshape(across.shape)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=[1.15, 1])
left.contour(across, up, outputs, levels=[0], colors=INK, linewidths=1)
for (a, b), term in zip(machine.points, terms, strict=True):
    colour = BLUE if term > 0 else ORANGE
    left.plot([row[0, 0], a], [row[0, 1], b], color=colour, linewidth=4 * abs(term), solid_capstyle="round")
left.scatter(*machine.points.T, s=10, c=[BLUE if term > 0 else ORANGE for term in terms], linewidths=0)
left.plot(*row[0], "o", color=INK, markersize=7)
bare(left, f"a row, and the pull of each of {machine.n_points} support vectors")

right.axhline(0, color=GREY)
sums = machine.bias[0] + np.concatenate([[0.0], np.cumsum(terms)])
right.step(range(len(sums)), sums, where="post", color=BLUE)
right.plot(len(sums) - 1, sums[-1], "o", color=INK)
right.annotate(
    f"{sums[-1]:+.2f}", (len(sums) - 1, sums[-1]), xytext=(-6, 8), textcoords="offset points", ha="right", color=INK
)
right.set(xlabel="terms added", ylabel="sum")
right.set_title("only the last value is the output", fontsize=10)
open_frame(right)

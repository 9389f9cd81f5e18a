"""A reduced set: sixteen vectors in place of hundreds, and the belt where they do not settle a row."""

from __future__ import annotations

import matplotlib.pyplot as plt
from drawing import BLUE, COSTS, INK, ORANGE, bare, plane, settled_map
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie

X, y = make_moons(12_000, noise=0.3, random_state=0)
train, held_out = X[:2000], X[2000:]
svc = SVC(gamma=20.0).fit(train, y[:2000])
machine = dormie.read(svc)
small = dormie.reduce(svc, 16, train)
fast = dormie.compile(svc, held_out, fit_rows=train, risk=0.001, methods=["reduced_set"], effort="quick", profile=COSTS)

rows, across, up = plane((-1.8, 2.8), (-1.4, 1.9))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
colours = [BLUE if weight > 0 else ORANGE for weight in machine.weights[:, 0]]
left.scatter(*machine.points.T, s=9, c=colours, alpha=0.45, linewidths=0)
left.scatter(*small.machine.points.T, s=70, color=INK, marker="X", linewidths=0)
full = svc.decision_function(rows).reshape(across.shape)
approximate = small.machine.kernel.matrix(rows, small.machine.points) @ small.machine.weights + small.machine.bias
left.contour(across, up, full, levels=[0], colors=INK, linewidths=2.5, alpha=0.35)
left.contour(across, up, approximate.reshape(across.shape), levels=[0], colors=INK, linewidths=1, linestyles="--")
bare(left, f"boundaries of {machine.n_points} support vectors, and of 16 made ones (dashed)")

settled_map(right, fast, across, up, rows)
right.contour(across, up, full, levels=[0], colors=INK, linewidths=1)
settled = (fast.trace(held_out).stage == "reduced_set").mean()
bare(right, f"{fast.plan.stages[0]} settles {settled:.1%} of the rows; grey goes on")

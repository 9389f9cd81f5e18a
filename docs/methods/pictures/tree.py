"""A support vector tree: the path that each comparison chooses, and what it makes of the plane."""

from __future__ import annotations

import matplotlib.pyplot as plt
from drawing import BLUE, INK, ORANGE, bare, plane
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.estimators import SupportVectorTree

X, y = make_moons(2000, noise=0.25, random_state=0)
svc = SVC(gamma=2.0).fit(X, y)
tree = SupportVectorTree(svc, evaluations=8, method="greedy", random_state=0).fit(X)

rows, across, up = plane((-1.9, 2.9), (-1.5, 2.0))
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained", width_ratios=[1.25, 1])
dormie.tree.plot(tree, X, ax=left, max_depth=3)
left.set_title("the first comparisons; broad lines: many rows", fontsize=10)
right.contourf(
    across,
    up,
    tree.decision_function(rows).reshape(across.shape),
    levels=[-1e9, 0, 1e9],
    colors=[ORANGE, BLUE],
    alpha=0.3,
)
right.contour(across, up, svc.decision_function(rows).reshape(across.shape), levels=[0], colors=INK, linewidths=1)
agree = (tree.predict(X) == svc.predict(X)).mean()
mean = tree.count_evaluations(X).mean()
bare(right, f"{mean:.1f} comparisons in place of {len(svc.support_)}: {agree:.1%} agree")

"""The linear filter: two parallel lines, beyond which rows are settled."""

from __future__ import annotations

import matplotlib.pyplot as plt
from drawing import BLUE, COSTS, INK, ORANGE, bare, plane, settled_map
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.show import CascadeDisplay

X, y = make_moons(20_000, noise=0.25, random_state=0)
train, held_out, new = X[:2000], X[2000:12_000], X[12_000:]
svc = SVC(gamma=2.0).fit(train, y[:2000])
fast = dormie.compile(
    svc, held_out, fit_rows=train, risk=0.005, methods=["linear_filter"], effort="quick", profile=COSTS
)

rows, across, up = plane((-1.9, 2.9), (-1.5, 2.0))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
settled_map(left, fast, across, up, rows)
left.contour(across, up, svc.decision_function(rows).reshape(across.shape), levels=[0], colors=INK, linewidths=1)
colours = [BLUE if label else ORANGE for label in svc.predict(new[:700])]
left.scatter(*new[:700].T, s=5, c=colours, linewidths=0)
bare(left, "settled by a straight line (coloured), and not (grey)")
CascadeDisplay.from_predictor(fast, new, ax=right)
right.get_legend().remove()
right.set_xlabel("share of the rows: reach (grey), are settled (blue)")

"""Geometry: how many landmarks a row needs, over the plane; and with landmarks of its own for each region."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import COSTS, INK, bare, plane
from sklearn.svm import SVC

import dormie

rng = np.random.default_rng(1)
centers = rng.uniform(-6, 6, size=(14, 2))
X = np.repeat(centers, 200, axis=0) + rng.normal(0, 0.9, size=(2800, 2))
y = np.repeat(np.arange(14) % 2, 200)
svc = SVC(gamma=0.5).fit(X, y)
rows, across, up = plane((-8, 8), (-8, 8), 220)
outputs = svc.decision_function(rows).reshape(across.shape)
most = len(svc.support_)

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plans: list[tuple[str, Any]] = [
    (name, dormie.compile(svc, X, methods=[name], profile=COSTS)) for name in ("geometry", "regions")
]
for panel, (name, fast) in zip(panels, plans, strict=True):
    evaluations = fast.trace(rows).evaluations
    shown = panel.pcolormesh(
        across, up, evaluations.reshape(across.shape), cmap="Blues", vmin=0, vmax=300, rasterized=True
    )
    panel.contour(across, up, outputs, levels=[0], colors=INK, linewidths=1)
    bare(panel, f"{name}: {fast.trace(X).evaluations.mean():.0f} of {most:,} evaluations in the mean")
figure.colorbar(shown, ax=panels, label="kernel evaluations of a row", shrink=0.8, extend="max")

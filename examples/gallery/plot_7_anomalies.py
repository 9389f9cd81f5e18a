"""
The most anomalous rows
=======================

A one-class machine scores rows. The lowest scores of many rows are found without working out all of them: a row
whose score is certainly not among the lowest is left out early.
"""

# %%
# Traffic around two centers, and a few rows elsewhere.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import OneClassSVM

import dormie

rng = np.random.default_rng(0)
usual = np.concatenate([rng.normal([0, 0], 0.6, (20_000, 2)), rng.normal([4, 2], 0.8, (20_000, 2))])
rows = np.concatenate([usual, rng.uniform(-4, 9, (60, 2))])
model = OneClassSVM(nu=0.05, gamma=0.5).fit(usual[::20])
found = dormie.compile(model, effort="quick").most_anomalous(rows, 40)

# %%
# They are the model's own.
assert set(found.rows.tolist()) == set(np.argsort(model.score_samples(rows), kind="stable")[:40].tolist())

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.scatter(rows[::20, 0], rows[::20, 1], s=4, color="#c9ced6", label="rows")
axes.scatter(rows[found.rows, 0], rows[found.rows, 1], s=18, color="#d9822b", label="the 40 most anomalous")
axes.legend(frameon=False)

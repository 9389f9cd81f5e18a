"""
A service with an audit
=======================

A plan with a risk holds for rows like those that certified it. An audit re-evaluates a share of the rows in full,
and raises an alarm once the promise is certainly broken: here after the rows have changed.
"""

# %%
# A plan that may differ on 2 % of the rows.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie

X, y = make_moons(30_000, noise=0.3, random_state=0)
svc = SVC(gamma=5.0, C=10.0).fit(X[:3000], y[:3000])
fast = dormie.compile(svc, X[3000:10_000], fit_rows=X[:3000], risk=0.02, methods=["linear_filter"], effort="quick")
print(fast.plan.cascade, fast.plan.guarantee, sep="\n")

# %%
# Forty batches arrive. From the twentieth on, all rows come from the middle, where classes meet.
rng = np.random.default_rng(0)
near = X[10_000:][np.abs(svc.decision_function(X[10_000:])) < 0.6]
low, high, broken = [], [], None
if isinstance(fast.plan.guarantee, dormie.Risk):
    watched = fast.audited(rate=0.2, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dormie.BrokenPromiseWarning)
        for batch in range(40):
            source = X[10_000:] if batch < 20 else near
            watched.predict(source[rng.integers(0, len(source), 500)])
            low.append(watched.status.low)
            high.append(watched.status.high)
            if broken is None and watched.status.broken:
                broken = batch

# %%
# The interval of the rate of disagreement, which holds whenever one looks at it.
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.fill_between(range(len(low)), low, high, color="#2a6fb0", alpha=0.4, label="rate of disagreement, certified")
axes.axhline(0.02, color="black", linewidth=1, linestyle="--", label="promised at most")
if broken is not None:
    axes.axvline(broken, color="#d9822b", label="alarm")
axes.set(xlabel="batch", ylim=(0, 0.2))
axes.legend(frameon=False)

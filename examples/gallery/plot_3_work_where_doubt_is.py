"""
Work goes where doubt is
========================

A row far from the decision boundary is settled by a few kernel evaluations, one close to it takes many. DeCoste
called that proportionality.
"""

# %%
# Intervals from a few landmarks narrow with every kernel value.
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.show import ProportionalityDisplay

X, y = make_moons(6000, noise=0.25, random_state=1)
svc = SVC(gamma=2.0).fit(X[:2000], y[:2000])
fast = dormie.compile(svc, methods=["geometry"], effort="quick")
ProportionalityDisplay.from_predictor(fast, X[2000:])

# %%
# One of the most doubtful rows, step by step.
doubtful = abs(svc.decision_function(X[2000:])).argmin()
for step in fast.anytime(X[2000 + doubtful]):
    print(f"{step.evaluations:4d} evaluations: between {step.low[0]:+.4f} and {step.high[0]:+.4f}")

"""
The trade of risk for speed
===========================

One label in a thousand may differ: how much work does that save? And where on the way from cautious to bold is the
plan that was certified?
"""

# %%
# Rows for training, rows that certify the risk, and rows that nobody has seen.
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.show import CascadeDisplay, RiskDisplay

X, y = make_moons(40_000, noise=0.3, random_state=0)
X_train, y_train, X_held_out, X_new = X[:4000], y[:4000], X[4000:20_000], X[20_000:]
svc = SVC(C=10.0, gamma=5.0).fit(X_train, y_train)
bold = dormie.compile(svc, X_held_out, fit_rows=X_train, risk=1e-3, effort="quick", methods=["reduced_set"])
print(bold.plan.guarantee)

# %%
# Nearly all rows stop at a few dozen vectors in place of hundreds of support vectors.
CascadeDisplay.from_predictor(bold, X_new)

# %%
# The same stages, more cautious and bolder. The certified plan keeps a distance from its promise: what was found on
# the held-out rows must carry the confidence, too.
if isinstance(bold.plan.guarantee, dormie.Risk):
    RiskDisplay.from_predictor(bold, X_new)

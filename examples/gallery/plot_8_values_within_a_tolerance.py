"""
A regressor within a tolerance
==============================

Values that need not be exact to the last digit take less work: here each is within 0.02 of the full sum, certified.
"""

# %%
# A curve, and a support vector regressor.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVR

import dormie

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, (3000, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.3 * np.sin(4 * X[:, 0]) + rng.normal(0, 0.1, 3000)
svr = SVR(C=10.0, gamma=1.0, epsilon=0.05).fit(X, y)
fast = dormie.compile(svr, tolerance=0.02, effort="quick")
print(fast.plan.guarantee, fast.plan.cascade, sep="\n")

# %%
# The error of every value, far below what was promised.
grid = np.linspace(0, 10, 1500)[:, None]
error = fast.predict(grid) - svr.predict(grid)
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.4), layout="constrained", sharex=True)
above.scatter(X[::6, 0], y[::6], s=4, color="#c9ced6")
above.plot(grid, fast.predict(grid), color="#2a6fb0")
below.plot(grid, error, color="#2a6fb0")
for promised in (-0.02, 0.02):
    below.axhline(promised, color="black", linewidth=1, linestyle="--")
below.set(ylabel="error")

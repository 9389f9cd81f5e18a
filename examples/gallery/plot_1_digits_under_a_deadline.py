"""
Digits under a deadline
=======================

A classifier of handwritten digits must answer in time. At a deadline the most doubtful rows have had the most work,
and every answer says whether it is final.
"""

# %%
# A model that is compiled exactly: with enough time its labels are scikit-learn's.
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.show import AnytimeDisplay, CascadeDisplay

X, y = load_digits(return_X_y=True)
svc = SVC().fit(X[:1000] / 16, y[:1000])
fast = dormie.compile(svc, effort="quick")
rows = X[1000:].repeat(4, axis=0) / 16

# %%
# Where rows stop when there is time enough. A few vectors guess the winner; its own pairs prove it.
CascadeDisplay.from_predictor(fast, rows)

# %%
# What a deadline gets: answers that are settled, and answers that are not yet those of ``predict``.
AnytimeDisplay.from_predictor(fast, rows)

# %%
# In a program:
answers = fast.predict(rows, deadline=0.001)
print(f"{answers.settled.mean():.0%} of the answers are settled after a millisecond")

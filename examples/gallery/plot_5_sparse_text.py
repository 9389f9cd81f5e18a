"""
Sparse text
===========

Bags of words have tens of thousands of columns, and a hundred of them are not zero. The support vectors stay sparse
from the model to the core, and a row meets only those that share a word with it.
"""

# %%
# Made-up texts of two subjects, whose words overlap.
import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from sklearn.svm import SVC

import dormie

rng = np.random.default_rng(0)


def texts(count: int, subject: int) -> scipy.sparse.csr_array:
    """Counts of 30,000 words in texts of a hundred words; half of the common words belong to a subject."""
    common = (rng.pareto(0.7, (count, 100)) * 20).astype(np.int32) % 15_000
    words = common + 9000 * subject * rng.integers(0, 2, (count, 100), dtype=np.int32)
    rows = np.repeat(np.arange(count, dtype=np.int32), 100)
    return scipy.sparse.csr_array((np.ones(words.size), (rows, words.ravel())), shape=(count, 30_000))


X = scipy.sparse.vstack([texts(1500, 0), texts(1500, 1)], format="csr")
y = np.repeat(["sports", "politics"], 1500)
order = rng.permutation(3000)
X, y = X[order], y[order]

# %%
# The same labels, sooner.
svc = SVC(gamma=0.002).fit(X[:1500], y[:1500])
fast = dormie.compile(svc)
seconds = {}
for name, model in (("scikit-learn", svc), ("dormie", fast)):
    began = time.perf_counter()
    labels = model.predict(X[1500:])
    seconds[name] = time.perf_counter() - began
print(f"{np.sum(labels != svc.predict(X[1500:]))} labels differ; {svc.support_.size} support vectors of 30,000 columns")

figure, axes = plt.subplots(figsize=(6, 1.6), layout="constrained")
axes.barh(list(seconds), [1e6 * each / 1500 for each in seconds.values()], color=["#c9ced6", "#2a6fb0"])
axes.set(xscale="log", xlabel="microseconds per text")

"""
Strings with a tree
===================

A kernel may be any function. Where each evaluation is expensive, a tree of support vectors needs about ten of them in
place of hundreds.
"""

# %%
# Strands of DNA come from two sources with habits of their own: which letter tends to follow which. The kernel says how
# alike two strands are by the triples of letters that they share.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

import dormie
from dormie.estimators import SupportVectorTree

rng = np.random.default_rng(0)
habits = rng.dirichlet([2, 2, 2, 2], size=(2, 4))


def strand(source: int) -> str:
    """A strand of 40 letters."""
    letters = [0]
    for _ in range(39):
        letters.append(int(rng.choice(4, p=habits[source, letters[-1]])))
    return "".join("acgt"[letter] for letter in letters)


def counts(strands: Any) -> Any:
    """How often every triple of letters occurs, in vectors of length 1."""
    triples = [a + b + c for a in "acgt" for b in "acgt" for c in "acgt"]
    found = np.array([[s.count(triple) for triple in triples] for s in strands], dtype=float)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def kernel(a: Any, b: Any) -> Any:
    """How alike the strands of two lists are."""
    return counts(a) @ counts(b).T


# %%
# Train, and grow a tree on the training strands.
sources = rng.integers(2, size=900)
strands = [strand(source) for source in sources]
train, new = strands[:600], strands[600:]
svc = SVC(kernel="precomputed", C=0.1).fit(kernel(train, train), sources[:600])
points = [train[i] for i in svc.support_]
rule = dormie.rules.Sign(svc.classes_)
machine = dormie.Machine(dormie.kernels.Custom(kernel), points, svc.dual_coef_.T, svc.intercept_, rule)
tree = SupportVectorTree(machine, evaluations=10).fit(train)

# %%
# What a strand costs, and how often the tree agrees with the machine.
agree = np.mean(tree.predict(new) == svc.predict(kernel(new, train)))
means = [len(points), tree.count_evaluations(new).mean()]
figure, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
axes.barh(["the machine", "the tree"], means, color=["#c9ced6", "#2a6fb0"])
axes.set(xscale="log", xlabel="kernel evaluations per strand", title=f"{agree:.1%} of the answers agree")

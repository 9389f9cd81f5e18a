"""Strings: the same answers for eight kernel evaluations in place of a hundred and seventy.

    python examples/strings.py

Short strands of DNA come from two sources with habits of their own: which letter tends to follow which. A *spectrum
kernel* says how alike two strands are by the triples of letters they share. An SVM trained with it compares every new
strand with all of its support vectors. The kernel is an inner product, so a few comparisons bound what the others can
add: `dormie.compile` stops once they cannot change the answer. A support vector tree, which needs nothing but kernel
values, compares a strand with ten, each chosen by what the last comparison gave, and estimates the answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC

import dormie
from dormie.estimators import SupportVectorTree

Floats = npt.NDArray[np.float64]

LETTERS = "ACGT"


class Result(NamedTuple):
    """How the full machine, the exact plan and the tree do on strands that none of them has seen."""

    support_vectors: int
    exact_evaluations: float
    exact_agreement: float
    evaluations: float
    machine_accuracy: float
    tree_accuracy: float
    agreement: float
    times_faster: float


def spectrum_kernel(a: Sequence[str], b: Sequence[str]) -> Floats:
    """How alike strands are, those of a by those of b, one pair after the other."""
    return np.array([[alike(u, v) for v in b] for u in a])


def alike(u: str, v: str) -> float:
    """From 0, no triple of letters in common, to 1."""
    of_u, of_v = triples(u), triples(v)
    return sum(count * of_v[triple] for triple, count in of_u.items()) / (length(u) * length(v))


@cache
def triples(strand: str) -> Counter[str]:
    """How often every triple of letters occurs."""
    return Counter(strand[i : i + 3] for i in range(len(strand) - 2))


@cache
def length(strand: str) -> float:
    return math.sqrt(sum(count**2 for count in triples(strand).values()))


def strands(n: int, seed: int) -> tuple[list[str], npt.NDArray[np.int64]]:
    """n strands of 30 to 60 letters, and which of the two sources each is from."""
    habits = np.random.default_rng(0).dirichlet([2, 2, 2, 2], size=(2, 4))  # source, letter: chances of the next letter
    random = np.random.default_rng(seed)
    sources = random.integers(2, size=n)
    return [_strand(random, habits[source]) for source in sources], sources


def _strand(random: np.random.Generator, habit: Floats) -> str:
    letters = [int(random.integers(4))]
    for _ in range(int(random.integers(29, 60))):
        letters.append(int(random.choice(4, p=habit[letters[-1]])))
    return "".join(LETTERS[letter] for letter in letters)


def trained(X: list[str], y: npt.NDArray[np.int64]) -> dormie.Machine:
    """An SVM over strands: scikit-learn sees their kernel matrix, dormie the strands that became support vectors."""
    svc = SVC(kernel="precomputed", C=0.1).fit(spectrum_kernel(X, X), y)
    points = [X[i] for i in svc.support_]
    kernel = dormie.kernels.Custom(
        spectrum_kernel,
        positive_semidefinite=True,
        nonnegative=True,
        self_similarity=1.0,  # an inner product of lengths 1
    )
    return dormie.Machine(kernel, points, svc.dual_coef_.T, svc.intercept_, dormie.rules.Sign(svc.classes_))


def compared(machine: dormie.Machine, tree: SupportVectorTree, X: list[str], y: npt.NDArray[np.int64]) -> Result:
    exact, full = dormie.compile(machine), dormie.compile(machine, methods=[])
    (labels, by_machine), (guesses, by_tree) = (timed(by.predict, X) for by in (full, tree))
    return Result(
        support_vectors=machine.n_points,
        exact_evaluations=float(exact.trace(X).evaluations.mean()),
        exact_agreement=float(np.mean(exact.predict(X) == labels)),
        evaluations=float(np.mean(tree.count_evaluations(X))),
        machine_accuracy=float(np.mean(labels == y)),
        tree_accuracy=float(np.mean(guesses == y)),
        agreement=float(np.mean(guesses == labels)),
        times_faster=by_machine / by_tree,
    )


def timed(predict: Callable[[list[str]], Any], X: list[str]) -> tuple[Any, float]:
    start = perf_counter()
    return predict(X), perf_counter() - start


def main() -> Result:
    X, y = strands(600, seed=1)
    X_new, y_new = strands(500, seed=2)
    machine = trained(X, y)
    tree = SupportVectorTree(machine, evaluations=10, random_state=0).fit(X)
    result = compared(machine, tree, X_new, y_new)
    print(f"the machine   {result.support_vectors} kernel evaluations per strand, {result.machine_accuracy:.1%} right")
    print(
        f"exact plan    {result.exact_evaluations:.1f} kernel evaluations per strand, "
        f"{result.exact_agreement:.1%} of the answers the same"
    )
    print(f"the tree      {result.evaluations:.1f} kernel evaluations per strand, {result.tree_accuracy:.1%} right")
    print(f"same answer   for {result.agreement:.1%} of the strands, {result.times_faster:.0f} times faster\n")
    print(dormie.tree.export_text(tree, X_new, max_depth=2))
    return result


if __name__ == "__main__":
    main()

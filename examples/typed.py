"""What a program with type hints does with dormie: `mypy --strict` accepts it as it stands.

python examples/typed.py
"""

from __future__ import annotations

import io
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie import kernels, rules


class Result(NamedTuple):
    """What the program found."""

    by_hand: list[str]
    in_time: int
    score: float
    loaded: bool


def by_hand() -> dormie.Machine:
    """A machine of lists and numbers."""
    scaled = dormie.Affine([0.0, 0.0], [2.0, 2.0])
    rule = rules.Sign(["far", "near"])
    return dormie.Machine(kernels.RBF(0.5), [[0.0, 0.0], [1.0, 1.0]], [1.0, -1.0], 0.0, rule, scaled)


def answers(fast: dormie.Predictor, X: npt.NDArray[np.float64], deadline: float | None = None) -> npt.NDArray[Any]:
    """Answers, by a deadline if there is one."""
    found = fast.predict(X, deadline=deadline)
    return found.labels if isinstance(found, dormie.Answers) else found


def main() -> Result:
    X, y = make_moons(400, noise=0.2, random_state=0)
    near: npt.NDArray[Any] = dormie.compile(by_hand()).predict([[0.1, 0.0], [2.0, 1.0]])
    effort: Literal["quick", "normal"] = "quick"
    fast = dormie.compile(SVC().fit(X, y), effort=effort, methods=["geometry"])
    low, high = fast.interval(X[:5].tolist(), budget=8)
    file = io.BytesIO()
    fast.save(file)
    file.seek(0)
    same = bool((dormie.load(file).predict(X, deadline=None) == fast.predict(X)).all())
    model = dormie.estimators.CompiledClassifier(SVC(), effort="quick").fit(X, y)
    predictor: dormie.Predictor = model.predictor_
    score: float = predictor.score(X, y)
    return Result(near.tolist(), len(answers(fast, X, 1.0)), score, same and bool((low <= high).all()))


if __name__ == "__main__":
    print(main())

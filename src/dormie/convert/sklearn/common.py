"""What all scikit-learn readers share: who a model descends from, dense arrays, and how to refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.errors import UnreadableModelError

BY_HAND = "build a dormie.Machine(kernel, points, weights, bias, rule) by hand"


def ancestors(model: Any) -> list[str]:
    """Names of the classes of scikit-learn and dormie that a model descends from, nearest first.

    So subclasses read like their parents.
    """
    return [cls.__name__ for cls in type(model).__mro__ if cls.__module__.split(".")[0] in ("sklearn", "dormie")]


def require_own_methods(model: Any) -> None:
    """Refuse a subclass that answers in another way than the scikit-learn class it would be read as."""
    for cls in type(model).__mro__:
        if cls.__module__.split(".")[0] in _KEEPS_THE_ANSWERS:
            return
        changed = {"predict", "decision_function", "transform"} & vars(cls).keys()
        if changed:
            raise unreadable(
                model, f"{cls.__name__} has a {min(changed)} method of its own. Compile a plain one, or {BY_HAND}"
            )


# The accelerated classes of scikit-learn-intelex replace methods, not what they return.
_KEEPS_THE_ANSWERS = ("sklearn", "dormie", "sklearnex", "daal4py", "onedal")


def dense(values: Any) -> npt.NDArray[Any]:
    """A NumPy array of what may be sparse: models fitted on sparse rows keep sparse arrays."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def unreadable(model: Any, reason: str) -> UnreadableModelError:
    return UnreadableModelError(f"cannot read this {type(model).__name__}: {reason}")

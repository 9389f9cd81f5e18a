"""What all scikit-learn readers share: the ancestors of a model's class, dense arrays, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.errors import UnreadableModelError

BY_HAND = "build a dormie.Machine(kernel, points, weights, bias, rule) by hand"


def ancestors(model: Any) -> list[str]:
    """The names of the scikit-learn and dormie classes that a model inherits from, nearest first.

    Readers look models up by these names, so a user's subclass is read like its parent.
    """
    return [cls.__name__ for cls in type(model).__mro__ if cls.__module__.split(".")[0] in ("sklearn", "dormie")]


def require_own_methods(model: Any) -> None:
    """Raise an error for a subclass that overrides how the scikit-learn class it would be read as predicts."""
    for cls in type(model).__mro__:
        if cls.__module__.split(".")[0] in _KEEPS_THE_ANSWERS:
            return
        changed = {"predict", "decision_function", "transform"} & vars(cls).keys()
        if changed:
            raise unreadable(
                model, f"{cls.__name__} has a {min(changed)} method of its own. Compile a plain one, or {BY_HAND}"
            )


# The classes of scikit-learn-intelex override methods, but return the same answers.
_KEEPS_THE_ANSWERS = ("sklearn", "dormie", "sklearnex", "daal4py", "onedal")


def dense(values: Any) -> npt.NDArray[Any]:
    """A dense array; models fitted on sparse rows hold sparse ones."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def unreadable(model: Any, reason: str) -> UnreadableModelError:
    return UnreadableModelError(f"cannot read this {type(model).__name__}: {reason}")

"""Methods that only some predictors have, so that `hasattr` says of a predictor what it can do, as scikit-learn asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Available(Generic[P, R]):
    """A method of those predictors alone for which `why_not` gives no reason; of others it is an AttributeError."""

    def __init__(self, function: Callable[Concatenate[Any, P], R], why_not: Callable[[Any], str]) -> None:
        update_wrapper(self, function)
        self._function, self._why_not = function, why_not

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[P, R]:
        if instance is None:
            return self._function  # by help() and documentation tools
        if reason := self._why_not(instance):
            raise AttributeError(f"{type(instance).__name__} has no {self._function.__name__}: {reason}")
        return self._function.__get__(instance, owner)  # type: ignore[attr-defined, no-any-return]


def available_if_not(
    why_not: Callable[[Any], str],
) -> Callable[[Callable[Concatenate[Any, P], R]], Available[P, R]]:
    """Decorate a method that exists only where `why_not(predictor)` is empty."""
    return partial(Available, why_not=why_not)

"""Methods that only some predictors have: scikit-learn asks `hasattr` what an estimator can do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class Available(Generic[P, R]):
    """A method of those predictors alone for which `why_not` gives no reason; of others it is an AttributeError."""

    def __init__(self, function: Callable[Concatenate[Any, P], R], why_not: Callable[[Any], str]) -> None:
        self._function, self._why_not = function, why_not

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[P, R]: ...
    def __get__(self, instance: Any, owner: type) -> Callable[..., R]:
        if instance is None:
            return self._function  # by help() and documentation tools
        if reason := self._why_not(instance):
            raise AttributeError(f"{type(instance).__name__} has no {self._function.__name__}: {reason}")
        return MethodType(self._function, instance)


def available_if_not(
    why_not: Callable[[Any], str],
) -> Callable[[Callable[Concatenate[Any, P], R]], Available[P, R]]:
    """Decorate a method that exists only where `why_not(predictor)` is empty."""
    return partial(Available, why_not=why_not)

"""Methods that only some predictors have, as scikit-learn's tools expect: `hasattr` tells which."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def available(
    why_not: Callable[[Any], str],
) -> Callable[[Callable[Concatenate[Any, Parameters], Result]], _Method[Parameters, Result]]:
    """A decorator of methods: getting one raises AttributeError where `why_not` gives a reason."""
    return lambda method: _Method(method, why_not)


class _Method(Generic[Parameters, Result]):
    def __init__(self, method: Callable[Concatenate[Any, Parameters], Result], why_not: Callable[[Any], str]) -> None:
        self._method, self._why_not = method, why_not
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, owner: Any, kind: type[Any]) -> Callable[Parameters, Result]:
        if owner is not None and (reason := self._why_not(owner)):
            raise AttributeError(reason)
        found: Any = self._method if owner is None else MethodType(self._method, owner)
        return found  # type: ignore[no-any-return]

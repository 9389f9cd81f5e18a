"""The interface of a peer: it turns a trained model into a function from rows to labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy.typing as npt

Predict = Callable[[Any], npt.NDArray[Any]]


class PeerUnavailableError(Exception):
    """A peer cannot take part; the message is printed below the table."""


class Peer(ABC):
    """An implementation of prediction with a trained model."""

    name: str
    needs: ClassVar[tuple[str, ...]] = ()

    def missing(self) -> str | None:
        """Why the peer cannot run here, or None."""
        absent = [package for package in self.needs if find_spec(package) is None]
        return f"not installed: {', '.join(absent)}" if absent else None

    @abstractmethod
    def prepare(self, model: Any) -> Predict:
        """A function from rows to labels; raises `PeerUnavailableError` for a model the peer cannot take."""


def require_estimator(model: Any) -> None:
    """Raise PeerUnavailableError for a `Machine`: peers built on scikit-learn take its estimators only."""
    if not hasattr(model, "predict"):
        raise PeerUnavailableError(f"needs a scikit-learn model, this is a {type(model).__name__}")

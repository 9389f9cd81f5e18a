"""Readers: every source of a trained model, brought to the normal form.

    Machine ─────────────────────────────▶ as it is
    path ─────────────▶ libsvm.py ───────▶ Machine
    scikit-learn ─────▶ sklearn.py ──────▶ Machine      (one file a family: sklearn_svm.py, sklearn_regression.py, ...)

What cannot be read is refused with an `UnreadableModelError` that says what to do instead. scikit-learn itself is
imported only once a model of its own arrives.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from dormie.errors import UnreadableModelError
from dormie.machine import Machine

__all__ = ["read"]


def read(model: Any) -> Machine:
    """The normal form of a fitted scikit-learn model, a LIBSVM text model (by path), or a `Machine`."""
    if isinstance(model, Machine):
        return model
    if isinstance(model, str | PathLike):
        from dormie.convert.libsvm.reader import read_libsvm  # here: start-up time, a loaded plan needs no reader

        return read_libsvm(model)
    if isinstance(model, type):
        raise UnreadableModelError(
            f"{model.__name__} is a class: pass a fitted model, such as {model.__name__}().fit(X, y)"
        )
    if any(ancestor.__module__.split(".")[0] == "sklearn" for ancestor in type(model).__mro__):
        from dormie.convert.sklearn.reader import read_sklearn  # here: start-up time

        return read_sklearn(model)
    raise UnreadableModelError(
        f"cannot read a {type(model).__name__}: pass a fitted scikit-learn model or the path of a LIBSVM text model, "
        f"or build a Machine(kernel, points, weights, bias, rule) by hand"
    )

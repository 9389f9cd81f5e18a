"""Trained models of other libraries, read as machines and written back.

    Machine ───────────────────────────────────▶ unchanged
    path of a text model ──▶ libsvm/reader.py ─▶ Machine      libsvm/writer.py:  Machine ─▶ text model
    scikit-learn model ────▶ sklearn/reader.py ▶ Machine      sklearn/writer.py: Machine ─▶ fitted model

`sklearn/` has one file for each family of models: svm, regression, multiclass, calibration, scalers, estimators
(dormie's own). A model that cannot be read raises an `UnreadableModelError` that says what to do instead. scikit-learn
is imported only when one of its models is read.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from dormie.errors import UnreadableModelError
from dormie.machine import Machine

__all__ = ["read"]


def read(model: Any) -> Machine:
    """
    Read a trained model as a `Machine`.

    Parameters
    ----------
    model : estimator, str, path-like or Machine
        A fitted scikit-learn model (an SVM, kernel ridge, a Gaussian process regressor, a calibrated classifier, a
        pipeline or search that ends in one, ...), the path of a LIBSVM text model, or a machine, which is returned
        unchanged.

    Returns
    -------
    Machine
        The model in normal form.

    Raises
    ------
    UnreadableModelError
        If the model is not fitted, not a kernel machine, or its file is damaged. The message says what to do instead.
    FileNotFoundError
        If the model is a path and there is no such file.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> dormie.read(SVC(gamma=0.5).fit(X, y))
    Machine(RBF(gamma=0.5), ... points of 4 features, 3 outputs, OneVsOneVote)
    """
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
        f"cannot read an object of type {type(model).__name__}: pass a fitted scikit-learn model or the path of a "
        "LIBSVM text model, or build a Machine(kernel, points, weights, bias, rule) by hand"
    )

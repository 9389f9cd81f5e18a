"""Trained models of other libraries, read as machines and written back.

    Machine ───────────────────────────────────▶ unchanged
    predictor, plan, ... ──▶ own.py ───────────▶ Machine
    LIBSVM, LIBLINEAR ─────▶ libsvm/models.py ─▶ Machine      libsvm/writer.py:  Machine ─▶ text model
    scikit-learn model ────▶ sklearn/reader.py ▶ Machine      sklearn/writer.py: Machine ─▶ fitted model

`sklearn/` has one file for each family of models: svm, regression, multiclass, calibration, scalers, estimators
(dormie's own). Every reader says in one line what it reads (`readers.py`), and `table.py` makes the table of
docs/models.md of these. A model that cannot be read raises an `UnreadableModelError` that says what to do instead.
scikit-learn is imported only when one of its models is read.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from dormie.convert import own
from dormie.convert.libsvm import memory
from dormie.errors import UnreadableModelError
from dormie.machine import Machine

__all__ = ["read"]


def read(
    model: Any,
    *,
    n_features: int | None = None,
    scale: str | PathLike[str] | None = None,
    y_scale: str | PathLike[str] | None = None,
) -> Machine:
    """
    Read a trained model as a `Machine`.

    Parameters
    ----------
    model : estimator, str, path-like, Machine, Predictor, Plan or Reduction
        A fitted scikit-learn model (an SVM, kernel ridge, a Gaussian process regressor, a calibrated classifier, a
        pipeline or search that ends in one, ...), a model of LIBSVM or LIBLINEAR (the path of its text file, or the
        object of their Python packages), what dormie gave, or a machine, which is returned unchanged. docs/models.md
        has the list.
    n_features : int, default=None
        For models of LIBSVM and LIBLINEAR: the number of columns of a row (default: as many as the model knows of).
        They do not say how many features there were, and columns that are 0 in all support vectors are not in the file.
    scale : str or path-like, default=None
        For the same models: how rows were scaled before the training, as the path of a range file of svm-scale
        (`svm-scale -s`) or of the scale file of R's `write.svm`. The machine then takes rows as they are.
    y_scale : str or path-like, default=None
        For regressors of R's `write.svm`: the path of the scale file of the targets. A range file of svm-scale has this
        in itself. The machine then gives values as they are.

    Returns
    -------
    Machine
        The model in normal form.

    Raises
    ------
    UnreadableModelError
        If the model is not fitted, not a kernel machine, or its file is damaged. The message says what to do instead.
    FileNotFoundError
        If there is no file at a path.
    TypeError
        If `n_features`, `scale` or `y_scale` is given with a model of another kind.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> dormie.read(SVC(gamma=0.5).fit(X, y))
    Machine(RBF(gamma=0.5), ... points of 4 features, 3 outputs, OneVsOneVote)
    """
    if isinstance(model, str | PathLike) or memory.is_model(model):
        from dormie.convert.libsvm import models  # here: start-up time, a loaded plan needs no reader

        return models.read_model(model, n_features, scale, y_scale)
    if any(given is not None for given in (n_features, scale, y_scale)):
        raise TypeError("n_features, scale and y_scale are for models of LIBSVM and LIBLINEAR; others know their rows")
    if isinstance(model, Machine):
        return model
    if (reader := own.reader_of(model)) is not None:
        return reader.read(model)
    if isinstance(model, type):
        raise UnreadableModelError(
            f"{model.__name__} is a class: pass a fitted model, such as {model.__name__}().fit(X, y)"
        )
    if any(ancestor.__module__.split(".")[0] == "sklearn" for ancestor in type(model).__mro__):
        from dormie.convert.sklearn.reader import read_sklearn  # here: start-up time

        return read_sklearn(model)
    raise UnreadableModelError(
        f"cannot read an object of type {type(model).__name__}: pass a fitted scikit-learn model or the path of a "
        "text model of LIBSVM or LIBLINEAR, or build a Machine(kernel, points, weights, bias, rule) by hand"
    )

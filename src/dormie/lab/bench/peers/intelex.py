"""scikit-learn-intelex: the same estimators on oneDAL.

A trained two-class SVC is copied attribute by attribute. oneDAL does not accept the arrays of an SVC of more classes,
so such a model is trained again on its support vectors alone. They have the same solution as all training rows, up to
the solver's tolerance. (This does not hold for NuSVC, whose nu depends on the number of rows.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.lab.bench.peers.base import Peer, PeerUnavailableError, Predict, require_estimator

# scikit-learn's copies with the opposite sign for two classes: setting them would invert the oneDAL model.
_MIRRORED = {"_dual_coef_", "_intercept_"}


def _twin(model: Any, **changed: Any) -> Any:
    """An unfitted estimator of sklearnex with the same name and parameters."""
    import sklearnex.svm  # optional

    kind = getattr(sklearnex.svm, type(model).__name__, None)
    if kind is None or not hasattr(model, "classes_"):
        raise PeerUnavailableError(f"has no classifier {type(model).__name__}")
    return kind(**{**model.get_params(), **changed})


def _carried_over(model: Any) -> Any:
    twin = _twin(model)
    parameters = model.get_params()
    for name, value in vars(model).items():
        if name not in parameters and name not in _MIRRORED:
            setattr(twin, name, value)
    # sklearnex would do this at the first call. Done now, it keeps single rows from falling back to scikit-learn.
    twin._create_onedal_estimator_from_fitted_attrs()
    return twin


def _trained_again(model: Any) -> Any:
    if type(model).__name__ != "SVC":
        raise PeerUnavailableError(f"cannot take over a trained {type(model).__name__} of more than two classes")
    labels = np.repeat(model.classes_, model.n_support_)
    return _twin(model, gamma=model._gamma).fit(model.support_vectors_, labels)


def on_onedal(model: Any) -> Any:
    """The model with its SVC replaced by one on oneDAL, also in a pipeline or a search."""
    if hasattr(model, "best_estimator_"):
        return on_onedal(model.best_estimator_)
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        return type(model)([*model.steps[:-1], (name, on_onedal(last))])
    _twin(model)
    return _carried_over(model) if len(model.classes_) == 2 else _trained_again(model)


class Intelex(Peer):
    """scikit-learn-intelex."""

    name = "scikit-learn-intelex"
    needs = ("sklearnex",)

    def prepare(self, model: Any) -> Predict:
        require_estimator(model)
        predict: Predict = on_onedal(model).predict
        return predict

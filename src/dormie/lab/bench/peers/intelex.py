"""scikit-learn-intelex: the same estimators on oneDAL.

A trained two-class SVC is carried over attribute by attribute. oneDAL cannot be given the arrays of a machine of
more classes, so an SVC of that kind is trained again, on its support vectors alone: they have the same solution, up
to the solver's tolerance, as all the training rows have (not so for NuSVC, whose nu counts rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.lab.bench.peers.base import Peer, PeerUnavailableError, Predict, require_estimator

# scikit-learn's turned-round copies for two classes: setting them would turn the oneDAL machine round.
_MIRRORED = {"_dual_coef_", "_intercept_"}


def _twin(model: Any, **changed: Any) -> Any:
    """An unfitted estimator of the same name and parameters from sklearnex."""
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
    # What sklearnex would do at the first call; done now, so that single rows never fall back to scikit-learn.
    twin._create_onedal_estimator_from_fitted_attrs()
    return twin


def _trained_again(model: Any) -> Any:
    if type(model).__name__ != "SVC":
        raise PeerUnavailableError(f"cannot take over a trained {type(model).__name__} of more than two classes")
    labels = np.repeat(model.classes_, model.n_support_)
    return _twin(model, gamma=model._gamma).fit(model.support_vectors_, labels)


def on_onedal(model: Any) -> Any:
    """The estimator that predicts as `model` does, on oneDAL; of a pipeline or a search, its last step."""
    if hasattr(model, "best_estimator_"):
        return on_onedal(model.best_estimator_)
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        return type(model)([*model.steps[:-1], (name, on_onedal(last))])
    _twin(model)
    return _carried_over(model) if len(model.classes_) == 2 else _trained_again(model)


class Intelex(Peer):
    name = "scikit-learn-intelex"
    needs = ("sklearnex",)

    def prepare(self, model: Any) -> Predict:
        require_estimator(model)
        predict: Predict = on_onedal(model).predict
        return predict

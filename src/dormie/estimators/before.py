"""What of a pipeline runs in scikit-learn, because no plan can hold it, before the part that is compiled."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from dormie.convert import read
from dormie.errors import UnreadableModelError


def parted(model: Any) -> tuple[Pipeline | None, Any]:
    """The steps of a fitted model that must run first, if any, and the model behind them: as much as can be read."""
    pipeline = _inside(model)
    if not isinstance(pipeline, Pipeline):
        return None, model
    try:
        read(model)
    except UnreadableModelError:
        for place in range(1, len(pipeline.steps)):
            if _is_readable(pipeline[place:]):
                return pipeline[:place], pipeline[place:]
        raise
    return None, model


def described(before: Pipeline) -> tuple[str, ...]:
    """What plans call the steps that must run before them."""
    steps = [step for _, step in before.steps if step is not None and not isinstance(step, str)]
    return tuple(" ".join(repr(step).split()) for step in steps)


def _inside(model: Any) -> Any:
    """The model inside searches, and inside what keeps it from being trained again."""
    while not isinstance(model, Pipeline):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            break
    return model


def _is_readable(model: Any) -> bool:
    try:
        read(model)
    except UnreadableModelError:
        return False
    return True

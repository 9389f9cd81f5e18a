"""scikit-learn itself, whose labels are the reference."""

from __future__ import annotations

from typing import Any

from dormie.lab.bench.peers.base import Peer, Predict, require_estimator


class ScikitLearn(Peer):
    """scikit-learn."""

    name = "scikit-learn"
    needs = ("sklearn",)

    def prepare(self, model: Any) -> Predict:
        require_estimator(model)
        predict: Predict = model.predict
        return predict

"""dormie, as a user calls it."""

from __future__ import annotations

from typing import Any

import dormie
from dormie.bench.peers.base import Peer, Predict


class Dormie(Peer):
    name = "dormie"

    def prepare(self, model: Any) -> Predict:
        predict: Predict = dormie.compile(model).predict
        return predict

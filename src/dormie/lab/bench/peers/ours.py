"""dormie, as a user calls it."""

from __future__ import annotations

from typing import Any

from dormie.lab.bench.peers.base import Peer, Predict
from dormie.planner import compile


class Dormie(Peer):
    """dormie with all methods, or with some: `methods` is that of `dormie.compile`."""

    def __init__(self, name: str, methods: list[str] | None = None) -> None:
        self.name = name
        self._methods = methods

    def prepare(self, model: Any) -> Predict:
        predict: Predict = compile(model, methods=self._methods).predict
        return predict

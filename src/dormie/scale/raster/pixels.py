"""From pixels to answers: a block of bands becomes rows of the predictor, and its answers become bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rows import check_rows
from dormie.machine.rules import Probability
from dormie.machine.typing import Booleans
from dormie.predictor import Predictor
from dormie.predictor.room import Room
from dormie.scale.raster.legend import Legend

PROBABILITY, SETTLED_BY = "probability", "settled_by"


class PixelAnswers:
    """
    Answers blocks of pixels.

    Parameters
    ----------
    predictor : Predictor
        What answers the rows.
    legend : Legend
        What the pixels of the answers stand for.
    probability : bool
        Whether a band with the probability of the most probable class, in percent, is added.
    settled_by : bool
        Whether a band with the number of the stage that settled a pixel, from 1 on, is added.
    threads : int or None
        The most threads that a block uses.
    """

    def __init__(
        self, predictor: Predictor, legend: Legend, probability: bool, settled_by: bool, threads: int | None
    ) -> None:
        if probability and not _has_probabilities(predictor):
            raise ValueError(
                "this model has no probabilities: compile a CalibratedClassifierCV around it, or leave probability out"
            )
        self._predictor, self._legend = predictor, legend
        self._probability, self._settled_by = probability, settled_by
        self._threads = predictor.threads if threads is None else threads

    @property
    def bands(self) -> list[str]:
        """The names of the bands of the answers."""
        machine, values = self._predictor.plan.machine, self._legend.values
        count = 1 if values is not None else machine.rule.n_values(machine.n_outputs)  # type: ignore[attr-defined]
        names = ["class"] if values is not None else _numbered("value", count)
        return names + [PROBABILITY] * self._probability + [SETTLED_BY] * self._settled_by

    @property
    def stages(self) -> dict[int, str]:
        """The name of the stage that each number of the band `settled_by` stands for."""
        names = [stage.name for stage in self._predictor.plan.stages]
        return dict(enumerate([*names, "source"], start=1)) if self._settled_by else {}

    def __call__(self, block: npt.NDArray[Any], valid: Booleans | None) -> npt.NDArray[Any]:
        """The answers of a block of bands (bands x ...): as many bands as there are names, of the legend's type.

        valid: which pixels have data; None if all have.
        """
        shape = (len(self.bands), *block.shape[1:])
        if valid is None:
            return self._of_rows(block.reshape(len(block), -1).T).reshape(shape)
        answers = np.full(shape, self._legend.nodata, dtype=self._legend.dtype)
        if valid.any():
            answers[:, valid] = self._of_rows(block[:, valid].T)
        return answers

    def _of_rows(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        answers = np.empty((len(self.bands), len(rows)), dtype=self._legend.dtype)
        own = len(answers) - self._probability - self._settled_by
        checked = check_rows(rows, self._predictor.plan.machine)
        if self._settled_by:
            self._trace(answers, checked, own)
        elif self._legend.values is not None:
            self._predictor._fill(Room(answers[0], self._legend.values), checked, self._threads)
        else:
            answers[:own] = self._predictor.predict(rows, threads=self._threads or None).reshape(len(rows), -1).T
        if self._probability:
            percent = np.rint(100 * self._predictor.predict_proba(rows).max(axis=1))
            answers[own] = np.maximum(percent, 1)  # 0 may stand for no data
        return answers

    def _trace(self, answers: npt.NDArray[Any], rows: Any, own: int) -> None:
        """Answers, and the stages that settled them, from one pass."""
        plan = self._predictor.plan
        found = self._predictor._found(rows, self._threads)
        answers[-1] = np.add(found.settled_by, 1)
        answers[-1, found.by_source] = len(plan.stages) + 1
        if self._legend.values is not None:
            answers[0] = self._legend.values[found.answers]
        else:
            answers[:own] = plan.machine.rule.labels(found.answers).reshape(len(answers[0]), -1).T


def _has_probabilities(predictor: Predictor) -> bool:
    values = predictor.plan.values
    return values is not None and isinstance(values.machine.rule, Probability)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{number}" for number in range(1, count + 1)]

"""Models of LIBSVM and LIBLINEAR, in text files or in memory, with the scaling of their rows and targets.

The first line of a text model tells whose it is.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from dormie.convert.libsvm.liblinear import liblinear_machine
from dormie.convert.libsvm.memory import is_model, lines_of
from dormie.convert.libsvm.reader import libsvm_machine
from dormie.convert.libsvm.scaling import Line, Scaling, read_scaling, read_target_scaling
from dormie.convert.libsvm.text import Text
from dormie.convert.readers import Reader
from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import ClassRule, OneClassSign

Path = str | PathLike[str]

READERS: dict[str, Reader] = {
    "LIBSVM": Reader(
        libsvm_machine,
        "text models, of R's `write.svm` too, and `svm_model` of libsvm-official in memory: every type, every kernel "
        "but precomputed, the probabilities of `-b 1`",
    ),
    "LIBLINEAR": Reader(
        liblinear_machine,
        "text models, and `model` of liblinear-official in memory: every solver, the probabilities of logistic "
        "regression",
    ),
}


def read_model(
    model: Any, n_features: int | None = None, scale: Path | None = None, y_scale: Path | None = None
) -> Machine:
    """Read the path of a model, or a model in memory."""
    text = Text(f"this {type(model).__name__}", lines_of(model)) if is_model(model) else Text.of_file(model)
    scaling = None if scale is None else read_scaling(scale)
    reader = READERS["LIBLINEAR" if text.first_word == "solver_type" else "LIBSVM"]
    machine = reader.read(text, n_features, 0 if scaling is None else scaling.width)
    if scaling is not None:
        machine = _with_scaled_rows(machine, scaling)
        if scaling.targets is not None and not isinstance(machine.rule, OneClassSign):
            machine = _with_scaled_targets(machine, scaling.targets, scaling.text)
    if y_scale is None:
        return machine
    if scaling is not None and scaling.targets is not None:
        raise scaling.text.error("it has a line y, and so scales targets: leave y_scale out")
    return _with_scaled_targets(machine, read_target_scaling(y_scale), Text(y_scale, []))


def _with_scaled_rows(machine: Machine, scaling: Scaling) -> Machine:
    d, named = machine.n_features, scaling.features
    if scaling.width > d:
        raise scaling.text.error(f"it scales feature {scaling.width}, which lies beyond n_features={d}")
    if not scaling.others_are_zero and len(named) not in (0, d):
        raise scaling.text.error(
            f"it has {len(named)} lines, and the model {d} features: e1071 leaves out features that it did not scale, "
            "and does not say which. Pass the scaling by hand: dormie.read(path).changed(input_map=dormie.Affine("
            "center, scale)), with a center of 0 and a scale of 1 for those"
        )
    if scaling.others_are_zero and len(named) < d and isinstance(machine.kernel, RBF):
        missing = int(np.setdiff1d(np.arange(d), named)[0]) + 1
        raise scaling.text.error(f"it has no range for feature {missing}: train without it")
    center, scale = np.zeros(d), np.ones(d)
    center[named], scale[named] = scaling.center, scaling.scale
    try:
        return machine.changed(input_map=Affine(center, scale)) if len(named) else machine
    except ValueError as error:
        raise scaling.text.error(f"{error}") from error


def _with_scaled_targets(machine: Machine, line: Line, text: Text) -> Machine:
    """The machine whose values are scaled back."""
    if isinstance(machine.rule, ClassRule):
        raise text.error("it scales targets, and the model is a classifier: leave y_scale out, or -y of svm-scale")
    return replace(machine, weights=machine.weights * line.slope, bias=machine.bias * line.slope + line.offset)

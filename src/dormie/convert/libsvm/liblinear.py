"""The reader of LIBLINEAR text models, for every solver that `predict` serves.

After the headers comes a line for each feature with its weight in each output, and one more where the model has a
bias: the weight of a feature that is always `bias`. With two classes there is one output, and above 0 it means the
label that the file names first, any other value the second; Crammer and Singer's solver has two, of which `predict`
asks the first. With more classes the first of the largest outputs wins. The logistic solvers give probabilities: the
logistic function of each output, normalised over the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.libsvm.text import Headers, Text, number, read_headers
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Linear
from dormie.machine.rules import Argmax, ClassRule, Probability, Rule, Sign, Value, one_class_sign
from dormie.machine.rules.probability import Calibrated, Platt

_LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
_REGRESSION = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL")
_CRAMMER_SINGER, _ONE_CLASS = "MCSVM_CS", "ONECLASS_SVM"
_SUPPORT_VECTORS = ("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC")
_SOLVERS = (*_LOGISTIC, *_SUPPORT_VECTORS, _CRAMMER_SINGER, *_REGRESSION, _ONE_CLASS)
_HEADERS = frozenset({"solver_type", "nr_class", "label", "nr_feature", "bias", "rho"})


def liblinear_machine(text: Text, n_features: int | None = None, least: int = 0) -> Machine:
    """The machine of a LIBLINEAR text model; features of rows that the model does not know do not count."""
    headers = read_headers(text, _HEADERS, "w", "LIBLINEAR")
    solver, n_classes = _solver(headers), headers.n_classes()
    rule = _rule(headers, solver, n_classes)
    weights, bias = _weights(headers, n_classes if n_classes > 2 or solver == _CRAMMER_SINGER else 1)
    if solver == _ONE_CLASS:
        bias = bias - headers.number("rho")
    if isinstance(rule, Sign):
        weights, bias = weights[:, :1], bias[:1]
    points = np.zeros((weights.shape[1], _width(headers, len(weights), n_features, least)))
    points[:, : len(weights)] = weights.T
    machine = Machine(Linear(), points, np.eye(len(points)), bias, rule)
    return machine.with_probability(_probability(rule)) if solver in _LOGISTIC else machine


def _solver(headers: Headers) -> str:
    solver = headers.word("solver_type")
    with headers.text.at(headers.line("solver_type")):
        if solver not in _SOLVERS:
            raise ValueError(f"solver_type {solver!r} is none of {', '.join(_SOLVERS)}")
    return solver


def _weights(headers: Headers, n_outputs: int) -> tuple[Floats, Floats]:
    """The weights (features x outputs), and what the feature that is always `bias` adds to each output."""
    always, n_features = headers.number("bias"), headers.whole("nr_feature")
    lines = headers.text.lines[headers.length :]
    with headers.text.at(headers.line("nr_feature")):
        expected = n_features + (always >= 0)
        if n_features < 1 or expected != len(lines):
            with_bias = ", one of them for the bias" if always >= 0 else ""
            raise ValueError(f"nr_feature is {n_features}, but {len(lines)} lines follow the w line{with_bias}")
    found = np.array([_fields(headers, at, line, n_outputs) for at, line in enumerate(lines, headers.length + 1)])
    return found[:n_features], found[n_features] * always if always >= 0 else np.zeros(n_outputs)


def _fields(headers: Headers, at: int, line: bytes, n_outputs: int) -> list[float]:
    with headers.text.at(at):
        fields = line.split()
        if len(fields) != n_outputs:
            raise ValueError(f"expected {n_outputs} weights, found {len(fields)} fields")
        return [number(field) for field in fields]


def _rule(headers: Headers, solver: str, n_classes: int) -> Rule:
    if solver in (*_REGRESSION, _ONE_CLASS):
        with headers.text.at(headers.line("nr_class")):
            if n_classes != 2:
                raise ValueError(f"{solver} has one output, which LIBLINEAR writes as nr_class 2, not {n_classes}")
        return one_class_sign() if solver == _ONE_CLASS else Value()
    labels: Any = np.array(headers.wholes("label", n_classes))
    with headers.text.at(headers.line("label")):
        if len(np.unique(labels)) < n_classes:
            raise ValueError("a label appears twice")
    return Sign(labels[::-1], zero=0) if n_classes == 2 else Argmax(labels)


def _probability(rule: Rule) -> Probability:
    assert isinstance(rule, ClassRule)
    n_scores = 1 if isinstance(rule, Sign) else len(rule.classes)
    return Probability(Calibrated(rule, (Platt(-1.0, 0.0),) * n_scores))


def _width(headers: Headers, known: int, n_features: int | None, least: int) -> int:
    if n_features is None:
        return max(known, least)
    with headers.text.at(headers.line("nr_feature")):
        if n_features < known:
            raise ValueError(f"nr_feature is {known}, more than n_features={n_features}")
    return n_features

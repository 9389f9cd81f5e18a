"""The reader of LIBSVM text models: every line is checked, and every error names the line.

A file has headers, a line `SV`, and one line for each support vector: its coefficients, then `index:value` pairs with
ascending indices from 1. Counts in headers are compared with the lines that follow, and never used to allocate memory.
An output above 0 means the first label, any other the second. Ties of a vote go to the label that the file names first.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from dormie.convert.libsvm.text import Headers, Text, number, read_headers, shown, whole
from dormie.convert.one_vs_one import expand
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from dormie.machine.rules import ClassRule, OneVsOneVote, Probability, Rule, Sign, Value, one_class_sign
from dormie.machine.rules.probability import Coupled
from dormie.machine.sparse_points import from_parts, sparse_is_best
from dormie.machine.typing import Integers, Positions

_HEADERS = {"svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv", "degree", "gamma", "coef0"}
_HEADERS |= {"probA", "probB", "prob_density_marks"}


def read_libsvm(path: str | PathLike[str], n_features: int | None = None) -> Machine:
    """Read a LIBSVM text model; `n_features` is needed where rows have more columns than the highest index."""
    return libsvm_machine(Text.of_file(path), n_features)


def libsvm_machine(text: Text, n_features: int | None = None, least: int = 0) -> Machine:
    """The machine of a LIBSVM text model, with as many features as asked for, or its highest index, or `least`."""
    headers = read_headers(text, frozenset(_HEADERS), "SV", "LIBSVM")
    n_classes, kernel = headers.n_classes(), _kernel(headers)
    bias = -headers.numbers("rho", n_classes * (n_classes - 1) // 2)
    vectors = _read_vectors(text, headers, n_classes - 1)
    weights, rule = _weights_and_rule(headers, vectors.coefficients, n_classes)
    machine = Machine(kernel, _points(text, vectors, n_features, least), weights, bias, rule)
    return machine.with_probability(_probability(headers, n_classes)) if isinstance(rule, ClassRule) else machine


def _probability(headers: Headers, n_classes: int) -> Probability | None:
    """The probabilities of a model that was trained with -b 1."""
    if not {"probA", "probB"} & headers.fields.keys() or headers.word("svm_type") == "one_class":
        return None
    pairs = n_classes * (n_classes - 1) // 2
    slopes, intercepts = headers.numbers("probA", pairs), headers.numbers("probB", pairs)
    # The rule of two classes has the second label of the file first.
    order = range(n_classes) if n_classes > 2 else (1, 0)
    return Probability(Coupled(slopes, intercepts, tuple(order)))


def _kernel(headers: Headers) -> Kernel:
    kernel = headers.word("kernel_type")
    with headers.text.at(headers.line("kernel_type")):
        match kernel:
            case "linear":
                return Linear()
            case "polynomial":
                return Polynomial(headers.number("gamma"), headers.number("coef0"), headers.whole("degree"))
            case "rbf":
                return RBF(headers.number("gamma"))
            case "sigmoid":
                return Sigmoid(headers.number("gamma"), headers.number("coef0"))
            case "precomputed":
                raise ValueError(
                    "a precomputed kernel holds no support vectors. Train with one of LIBSVM's own kernels, or build "
                    "a dormie.Machine(kernel, points, weights, bias, rule) by hand with dormie.kernels.Custom(function)"
                )
            case _:
                raise ValueError(f"kernel_type {kernel!r} is none of linear, polynomial, rbf, sigmoid")


@dataclass(frozen=True)
class _Vectors:
    """Coefficients, one row for each vector, and all `index:value` entries with the number of their vector."""

    coefficients: Floats
    row: Positions
    index: Integers
    value: Floats
    first_line: int


def _read_vectors(text: Text, headers: Headers, n_coefficients: int) -> _Vectors:
    body = text.lines[headers.length :]
    with text.at(headers.line("total_sv")):
        total = headers.whole("total_sv")
        if total != len(body):
            raise ValueError(f"total_sv is {total}, but {len(body)} lines follow the SV line")
    coefficients, sizes = [], []
    indices: list[int] = []
    values: list[float] = []
    for line, content in enumerate(body, headers.length + 1):
        with text.at(line):
            fields = content.split()
            if len(fields) < n_coefficients:
                raise ValueError(f"expected {n_coefficients} coefficients, found {len(fields)} fields")
            coefficients.append([number(field) for field in fields[:n_coefficients]])
            entries = _entries(fields[n_coefficients:])
            sizes.append(len(entries))
            indices.extend(index for index, _ in entries)
            values.extend(value for _, value in entries)
    return _Vectors(
        np.reshape(np.array(coefficients, dtype=np.float64), (total, n_coefficients)),
        np.repeat(np.arange(total), sizes),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
        headers.length + 1,
    )


def _entries(fields: list[bytes]) -> list[tuple[int, float]]:
    entries, last = [], 0
    for field in fields:
        name, colon, amount = field.partition(b":")
        if not colon:
            raise ValueError(f"expected index:value, found {shown(field)}")
        index = whole(name)
        if index <= last:
            raise ValueError(f"index {index} after {last}: indices start at 1 and ascend")
        entries.append((index, number(amount)))
        last = index
    return entries


def _points(text: Text, vectors: _Vectors, n_features: int | None, least: int) -> Any:
    """The points, dense or sparse: a short file with one enormous index does not fill the memory."""
    highest = int(vectors.index.max(initial=0))
    width = max(highest, least) if n_features is None else n_features
    where = vectors.first_line + int(vectors.row[vectors.index.argmax()]) if highest else vectors.first_line
    with text.at(where):
        if width < 1:
            raise ValueError("no support vector has a feature: pass n_features, the width of your rows")
        if width < highest:
            raise ValueError(f"index {highest} lies beyond n_features={n_features}")
    count = len(vectors.coefficients)
    if sparse_is_best(count, width, len(vectors.index)):
        starts = np.searchsorted(vectors.row, np.arange(count + 1))
        return from_parts(vectors.value, vectors.index - 1, starts, width)
    points = np.zeros((count, width))
    points[vectors.row, vectors.index - 1] = vectors.value
    return points


def _weights_and_rule(headers: Headers, coefficients: Floats, n_classes: int) -> tuple[Floats, Rule]:
    svm_type = headers.word("svm_type")
    if svm_type in ("c_svc", "nu_svc"):
        return _classifier(headers, coefficients, n_classes)
    with headers.text.at(headers.line("svm_type")):
        if svm_type not in ("one_class", "epsilon_svr", "nu_svr"):
            raise ValueError(f"svm_type {svm_type!r} is none of c_svc, nu_svc, one_class, epsilon_svr, nu_svr")
    with headers.text.at(headers.line("nr_class")):
        if n_classes != 2:
            raise ValueError(f"{svm_type} has one output, which LIBSVM writes as nr_class 2, not {n_classes}")
    return coefficients, one_class_sign() if svm_type == "one_class" else Value()


def _classifier(headers: Headers, coefficients: Floats, n_classes: int) -> tuple[Floats, Rule]:
    labels = np.array(headers.wholes("label", n_classes))
    n_support = headers.wholes("nr_sv", n_classes)
    with headers.text.at(headers.line("label")):
        if len(np.unique(labels)) < n_classes:
            raise ValueError("a label appears twice")
    with headers.text.at(headers.line("nr_sv")):
        if min(n_support) < 0 or sum(n_support) != len(coefficients):
            raise ValueError(f"the counts must add up to total_sv = {len(coefficients)}, got {n_support}")
    if n_classes == 2:
        return coefficients, Sign(labels[::-1], zero=0)
    return expand(coefficients.T, n_support), OneVsOneVote(labels, shape="ovo")

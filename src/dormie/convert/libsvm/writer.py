"""The writer of LIBSVM text models, for machines that LIBSVM can express.

Numbers have 17 significant digits, so that reading the file restores them exactly. Support vectors are grouped by
class, as LIBSVM requires, and otherwise keep their order. A vector with weights for pairs that share no class, as in a
reduced set of several classes, is written once for each class, and LIBSVM evaluates every copy.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.one_vs_one import pack
from dormie.machine import Floats, Machine
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import RBF, Linear, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneClassSign, OneVsOneVote, Rule, Sign, Value
from dormie.machine.typing import Positions


def write_libsvm(machine: Machine, path: str | PathLike[str]) -> None:
    """Write a machine as a LIBSVM text model; ValueError where LIBSVM cannot express it."""
    if machine.input_map is not None:
        raise ValueError(
            "a LIBSVM file has no place for scaled input: reduce the final step itself on scaled rows, or write its "
            "machine as it is, and scale rows yourself"
        )
    kernel = _kernel_headers(machine)
    model_headers, coefficients, source = _model(machine)
    headers = [*model_headers[:1], *kernel, *model_headers[1:], "SV"]
    vectors = (_vector(column, _entries(machine.points, i)) for column, i in zip(coefficients.T, source, strict=True))
    Path(path).write_text("".join(f"{line}\n" for line in [*headers, *vectors]), encoding="ascii")


def is_one_class(machine: Machine) -> bool:
    """Whether this is a one-class machine that LIBSVM could have trained: one whose weights are not negative."""
    return isinstance(machine.rule, OneClassSign) and bool((machine.weights >= 0).all())


def _digits(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in values)


def _vector(coefficients: Floats, entries: list[str]) -> str:
    return " ".join([_digits(coefficients), *entries]) + " "  # LIBSVM's parser needs the blank after the last field


def _entries(points: Any, i: int) -> list[str]:
    """The non-zeros of a point."""
    if is_sparse(points):
        here = slice(points.indptr[i], points.indptr[i + 1])
        columns, values = points.indices[here], points.data[here]
    else:
        columns = np.flatnonzero(points[i])
        values = points[i][columns]
    return [f"{column + 1}:{value:.17g}" for column, value in zip(columns, values, strict=True)]


def _kernel_headers(machine: Machine) -> list[str]:
    match machine.kernel:
        case Linear():
            return ["kernel_type linear"]
        case Polynomial(gamma, coef0, degree):
            return ["kernel_type polynomial", f"degree {degree}", f"gamma {gamma:.17g}", f"coef0 {coef0:.17g}"]
        case RBF(gamma):
            return ["kernel_type rbf", f"gamma {gamma:.17g}"]
        case Sigmoid(gamma, coef0):
            return ["kernel_type sigmoid", f"gamma {gamma:.17g}", f"coef0 {coef0:.17g}"]
    raise ValueError(
        f"LIBSVM knows linear, polynomial, rbf and sigmoid kernels, not {machine.kernel}: save a compiled plan instead"
    )


_Model = tuple[list[str], Floats, Positions]


def _model(machine: Machine) -> _Model:
    """The headers that describe the model, the packed coefficients, and the point of each vector in the file."""
    match machine.rule:
        case Value(flat=True):
            return _one_output(machine, "epsilon_svr")
        case _ if is_one_class(machine):
            return _one_output(machine, "one_class")
        case Sign(classes, zero=0):
            return _classifier(classes[::-1], machine.weights, machine.bias)
        case Sign(classes):
            # LIBSVM gives an output of 0 to the second label, so that label comes second here and signs are negated.
            return _classifier(classes, -machine.weights, -machine.bias)
        case OneVsOneVote(classes, break_ties=False):
            return _classifier(classes, machine.weights, machine.bias)
    raise ValueError(
        f"LIBSVM answers by one value, a sign or a one-vs-one vote, not by {_in_words(machine.rule)}: "
        "save a compiled plan instead"
    )


def _in_words(rule: Rule) -> str:
    match rule:
        case Value():
            return "several values"
        case Argmax(classes):
            return f"the largest of {len(classes)} outputs"
        case OneVsOneVote():
            return "a vote whose ties are broken by confidence (break_ties=True)"
    return f"a rule of the kind {type(rule).__name__}"


def _one_output(machine: Machine, svm_type: str) -> _Model:
    headers = [f"svm_type {svm_type}", "nr_class 2", f"total_sv {machine.n_points}", f"rho {_digits(-machine.bias)}"]
    return headers, machine.weights.T, np.arange(machine.n_points)


def _classifier(classes: npt.NDArray[Any], weights: Floats, bias: Floats) -> _Model:
    packed = pack(weights, len(classes))
    headers = [
        "svm_type c_svc",
        f"nr_class {len(classes)}",
        f"total_sv {len(packed.source)}",
        f"rho {_digits(-bias)}",
        f"label {' '.join(map(str, _whole_labels(classes)))}",
        f"nr_sv {' '.join(map(str, packed.n_support))}",
    ]
    return headers, packed.coefficients, packed.source


def _whole_labels(classes: npt.NDArray[Any]) -> list[int]:
    wrong = [label for label in classes.tolist() if not _fits(label)]
    if wrong:
        raise ValueError(
            f"LIBSVM labels are whole numbers of 32 bits, not {wrong[0]!r}: number the classes, and keep the list"
        )
    return [int(label) for label in classes]


def _fits(label: Any) -> bool:
    return isinstance(label, int | float) and float(label).is_integer() and -(2**31) <= label < 2**31

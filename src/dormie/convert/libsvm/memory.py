"""Models in memory, of the packages libsvm-official and liblinear-official: ctypes structures around C's pointers.

Each becomes the lines of the text model that the library would write, in full precision, so that one reader serves
both. The structures are told by their names, and nothing of the packages is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
_KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_SOLVERS = {
    0: "L2R_LR",
    1: "L2R_L2LOSS_SVC_DUAL",
    2: "L2R_L2LOSS_SVC",
    3: "L2R_L1LOSS_SVC_DUAL",
    4: "MCSVM_CS",
    5: "L1R_L2LOSS_SVC",
    6: "L1R_LR",
    7: "L2R_LR_DUAL",
    11: "L2R_L2LOSS_SVR",
    12: "L2R_L2LOSS_SVR_DUAL",
    13: "L2R_L1LOSS_SVR_DUAL",
    21: "ONECLASS_SVM",
}


def is_model(model: Any) -> bool:
    """Whether this is a model in memory."""
    return _name(type(model)) in _WRITERS


def lines_of(model: Any) -> list[bytes]:
    """The lines of the text model of a model in memory."""
    return [line.encode() for line in _WRITERS[_name(type(model))](model)]


def _name(kind: type) -> str:
    """The last part of the module's name, and the class: both packages may also lie in a folder of the user's."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}"


def _libsvm_lines(model: Any) -> Iterator[str]:
    kind, k = _TYPES[model.param.svm_type], model.nr_class
    pairs = k * (k - 1) // 2
    yield f"svm_type {kind}"
    yield from _libsvm_kernel(model.param)
    yield f"nr_class {k}"
    yield f"total_sv {model.l}"
    yield f"rho {_numbers(model.rho[:pairs])}"
    if kind in ("c_svc", "nu_svc"):
        yield f"label {_numbers(model.label[:k])}"
        yield f"nr_sv {_numbers(model.nSV[:k])}"
        if model.probA and model.probB:
            yield f"probA {_numbers(model.probA[:pairs])}"
            yield f"probB {_numbers(model.probB[:pairs])}"
    yield "SV"
    coefficients = [model.sv_coef[row][: model.l] for row in range(k - 1)]
    for vector, nodes in zip(zip(*coefficients, strict=True), model.SV[: model.l], strict=True):
        yield f"{_numbers(vector)} {' '.join(f'{index}:{value!r}' for index, value in _nodes(nodes))}"


def _libsvm_kernel(param: Any) -> Iterator[str]:
    """Every parameter, as the reader takes those that the kernel has."""
    yield f"kernel_type {_KERNELS[param.kernel_type]}"
    yield f"degree {param.degree}"
    yield f"gamma {param.gamma!r}"
    yield f"coef0 {param.coef0!r}"


def _nodes(nodes: Any) -> Iterator[tuple[int, float]]:
    """The entries of a vector, which ends with the index -1."""
    place = 0
    while (index := nodes[place].index) != -1:
        yield index, nodes[place].value
        place += 1


def _liblinear_lines(model: Any) -> Iterator[str]:
    solver, k = _SOLVERS[model.param.solver_type], model.nr_class
    n_outputs = 1 if k == 2 and solver != "MCSVM_CS" else k
    yield f"solver_type {solver}"
    yield f"nr_class {k}"
    if model.label:
        yield f"label {_numbers(model.label[:k])}"
    yield f"nr_feature {model.nr_feature}"
    yield f"bias {model.bias!r}"
    yield f"rho {model.rho!r}"
    yield "w"
    for feature in range(model.nr_feature + (model.bias >= 0)):
        yield _numbers(model.w[feature * n_outputs : (feature + 1) * n_outputs])


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(repr, values))


_WRITERS = {"svm.svm_model": _libsvm_lines, "liblinear.model": _liblinear_lines}

"""Builds a plan from an audited `Document`. Values that conform to the protocol but contradict each other fail here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from dormie.errors import PlanFileError
from dormie.machine import Affine, Machine, Origin
from dormie.machine.kernels import Kernel
from dormie.machine.margin import Margin
from dormie.machine.rules import Rule
from dormie.methods.base import Stage
from dormie.numerics.rounding import source_margin
from dormie.plan.cascade import Cascade
from dormie.plan.file import npy
from dormie.plan.file.document import Document
from dormie.plan.file.points import points_of
from dormie.plan.file.vocabulary import GUARANTEES, KERNELS, RULES, Form, stage_type
from dormie.plan.guarantee import Count, Evidence, Guarantee
from dormie.plan.plan import Plan, Source, Trial
from dormie.plan.text import printable


def construct(document: Document) -> Plan:
    """The plan that an audited document describes."""
    schema = document.schema
    try:
        machine = _machine(document)
        stages = tuple(_stage(stage, machine, document) for stage in schema["stages"])
        cascade = Cascade(stages, tuple(stage["caution"] for stage in schema["stages"]))
        guarantee = _guarantee(schema["guarantee"])
        source, rewrites = Source(**schema["source"]), tuple(schema["rewrites"])
        trials = tuple(Trial(**trial) for trial in schema["trials"])
        guess = _stage(schema["guess"], machine, document) if "guess" in schema else None
        return Plan(machine, cascade, guarantee, source, rewrites, trials, schema.get("note", ""), guess)
    except MemoryError:
        raise
    except Exception as error:  # whatever it is, the file is at fault, and callers expect one type of error for that
        raise PlanFileError(f"the parts of the plan do not fit together: {printable(str(error))}") from error


def _array(name: str, document: Document) -> npt.NDArray[Any]:
    entry = document.schema["arrays"][name]
    return npy.unpack(document.arrays[name], entry["dtype"], tuple(entry["shape"]))


def _build(described: dict[str, Any], forms: dict[str, Form], **built: Any) -> Any:
    """The object that a name and parameters describe; `built` holds the parameters that are objects themselves."""
    parameters = {name: value for name, value in described.items() if name != "name"}
    return forms[described["name"]].build(**(parameters | built))


def _machine(document: Document) -> Machine:
    described, origin = document.schema["machine"], document.schema["origin"]
    names = described["feature_names"]
    machine = Machine(
        kernel=_kernel(described["kernel"]),
        points=points_of(described["points"], document),
        weights=_array(described["weights"], document),
        bias=_array(described["bias"], document),
        rule=_rule(described["rule"], document),
        input_map=_input_map(described["input_map"], document),
        feature_names=None if names is None else tuple(names),
        blas_products=described["blas_products"],
    )
    if origin is None:
        return machine
    machine = machine.with_origin(_origin(origin, machine, document))
    source_margin(machine)  # a deviation that does not add up with the source's rounding is refused here, not on use
    return machine


def _origin(described: dict[str, Any], machine: Machine, document: Document) -> Origin:
    constant, slope = _array(described["constant"], document), _array(described["slope"], document)
    source = replace(
        machine,
        points=points_of(described["points"], document),
        weights=_array(described["weights"], document),
        bias=_array(described["bias"], document),
        input_map=_input_map(described["input_map"], document),
    )
    return Origin(source, Margin(constant, slope, described["gain"], described["start"], described["degree"]))


def _kernel(described: dict[str, Any]) -> Kernel:
    inner = {"kernel": _kernel(described["kernel"])} if "kernel" in described else {}
    kernel: Kernel = _build(described, KERNELS, **inner)
    return kernel


def _rule(described: dict[str, Any], document: Document) -> Rule:
    built = {}
    if "classes" in described:
        labels = _array(described["classes"]["array"], document)
        built["classes"] = labels.astype(object) if described["classes"]["objects"] else labels
    rule: Rule = _build(described, RULES, **built)
    return rule


def _input_map(described: dict[str, Any] | None, document: Document) -> Affine | None:
    if described is None:
        return None
    steps = tuple((step["name"], _array(step["values"], document)) for step in described["steps"])
    return Affine(_array(described["center"], document), _array(described["scale"], document), steps)


def _stage(described: dict[str, Any], machine: Machine, document: Document) -> Stage:
    arrays = {name: _array(reference, document) for name, reference in described["arrays"].items()}
    return stage_type(described).restore(machine, described["numbers"], arrays)


def _guarantee(described: dict[str, Any]) -> Guarantee:
    built = {}
    if "evidence" in described:
        classes = tuple(Count(**count) for count in described["evidence"]["classes"])
        built["evidence"] = Evidence(**(described["evidence"] | {"classes": classes}))
    guarantee: Guarantee = _build(described, GUARANTEES, **built)
    return guarantee

"""Builds a plan from an audited `Document`. Values that conform to the protocol but contradict each other fail here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from dormie.errors import PlanFileError
from dormie.machine import Affine, Machine, MachineSum, Origin
from dormie.machine.kernels import Kernel
from dormie.machine.margin import Margin
from dormie.machine.rules import Rule, Value
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.numerics.rounding import source_margin
from dormie.plan.cascade import Cascade
from dormie.plan.file import npy
from dormie.plan.file.document import Document
from dormie.plan.file.points import points_of
from dormie.plan.file.preparation import construct_preparation
from dormie.plan.file.probability import construct_map
from dormie.plan.file.vocabulary import GUARANTEES, KERNELS, RULES, Form, stage_type
from dormie.plan.guarantee import Count, Evidence, Guarantee
from dormie.plan.plan import Plan, Source, Trial, dense_beside
from dormie.plan.text import printable


def construct(document: Document) -> Plan:
    """The plan that an audited document describes."""
    schema = document.schema
    try:
        machine = _machine(document)
        cascade = _cascade(schema["stages"], machine, document)
        guarantee = _guarantee(schema["guarantee"])
        before = tuple(schema["source"].get("before", ()))
        source, rewrites = Source(**(schema["source"] | {"before": before})), tuple(schema["rewrites"])
        trials = tuple(Trial(**trial) for trial in schema["trials"])
        guess = _stage(schema["guess"], machine, document) if "guess" in schema else None
        plan = Plan(machine, cascade, guarantee, source, rewrites, trials, schema.get("note", ""), guess)
        return replace(plan, values=_values(schema["values"], plan, document)) if "values" in schema else plan
    except MemoryError:
        raise
    except Exception as error:  # whatever it is, the file is at fault, and callers expect one type of error for that
        raise PlanFileError(f"the parts of the plan do not fit together: {printable(str(error))}") from error


def _cascade(described: list[dict[str, Any]], machine: Machine, document: Document) -> Cascade:
    stages = tuple(_stage(stage, machine, document) for stage in described)
    return Cascade(stages, tuple(stage["caution"] for stage in described))


def _values(described: dict[str, Any], labels: Plan, document: Document) -> Plan:
    """The plan for probabilities, with the full sum of the plan for classes."""
    machine = labels.machine.changed(rule=_rule(described["rule"], document))
    cascade = _cascade(described["stages"], machine, document)
    if cascade.stages[-1].name == Dense.name and cascade.stages[-1].certified:
        cascade = Cascade((*cascade.stages[:-1], dense_beside(labels, machine)), cascade.cautions)
    trials = tuple(Trial(**trial) for trial in described["trials"])
    return Plan(machine, cascade, _guarantee(described["guarantee"]), labels.source, labels.rewrites, trials)


def _array(name: str, document: Document) -> npt.NDArray[Any]:
    entry = document.schema["arrays"][name]
    return npy.unpack(document.arrays[name], entry["dtype"], tuple(entry["shape"]))


def _build(described: dict[str, Any], forms: dict[str, Form], **built: Any) -> Any:
    """The object that a name and parameters describe; `built` holds the parameters that are objects themselves."""
    parameters = {name: value for name, value in described.items() if name != "name"}
    return forms[described["name"]].build(**(parameters | built))


def _machine(document: Document) -> Machine:
    described = document.schema["machine"]
    rule = _rule(described["rule"], document)
    names = None if described["feature_names"] is None else tuple(described["feature_names"])
    if "members" not in described:
        return _function(described, document.schema["origin"], rule, names, document)
    outputs = Value(flat=False)
    members = [_function(member, member["origin"], outputs, None, document) for member in described["members"]]
    return MachineSum(members, rule, names, described.get("factors"))


def _function(
    described: dict[str, Any],
    origin: dict[str, Any] | None,
    rule: Rule,
    names: tuple[str, ...] | None,
    document: Document,
) -> Machine:
    """A machine, or a member of a sum."""
    machine = Machine(
        kernel=_kernel(described["kernel"]),
        points=points_of(described["points"], document),
        weights=_array(described["weights"], document),
        bias=_array(described["bias"], document),
        rule=rule,
        input_map=_input_map(described["input_map"], document),
        feature_names=names,
        blas_products=described["blas_products"],
        preparation=construct_preparation(described.get("preparation"), lambda name: _array(name, document)),
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
    built: dict[str, Any] = {}
    if "classes" in described:
        labels = _array(described["classes"]["array"], document)
        built["classes"] = labels.astype(object) if described["classes"]["objects"] else labels
    if "scores" in described:
        built["scores"] = _rule(described["scores"], document)
    if "of" in described:
        built["of"] = _rule(described["of"], document)
    if "rules" in described:
        built["rules"] = [_rule(each, document) for each in described["rules"]]
    if "map" in described:
        built["map"] = construct_map(
            described["map"], lambda name: _array(name, document), lambda scores: _rule(scores, document)
        )
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

"""Turns a plan into a `Document`: names and numbers as JSON, arrays as members of the archive."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie._version import __version__
from dormie.machine import Affine, Machine, MachineSum
from dormie.machine.kernels import Kernel, Normalized
from dormie.machine.rules import (
    ClassRule,
    DecisionValue,
    MostProbable,
    OneClassSign,
    Probability,
    Rule,
    SeveralLabels,
    Threshold,
)
from dormie.methods.base import Stage
from dormie.plan.file import npy
from dormie.plan.file.document import PROTOCOL, Document, Raw
from dormie.plan.file.points import describe_points
from dormie.plan.file.preparation import describe_preparation
from dormie.plan.file.probability import describe_map
from dormie.plan.file.vocabulary import COUNT, EVIDENCE, GUARANTEES, KERNELS, RULES, TRIAL, Form, name_of
from dormie.plan.guarantee import Evidence, Guarantee, Risk
from dormie.plan.plan import Plan, Source


def describe(plan: Plan) -> Document:
    """The document of a plan; raises ValueError if the protocol cannot express the plan."""
    members = _Arrays()
    schema = {
        "protocol": PROTOCOL,
        "dormie": __version__,
        "machine": _machine(plan.machine, members),
        "origin": _origin(plan.machine, members, "origin"),
        "stages": [_stage(*entry, str(number), members) for number, entry in enumerate(plan.cascade)],
        "guarantee": _guarantee(plan.guarantee),
        "source": _source(plan.source),
        "rewrites": [str(name) for name in plan.rewrites],
        "trials": [_fields(trial, TRIAL) for trial in plan.trials],
        "arrays": members.entries,
        **({"note": str(plan.note)} if plan.note else {}),
        **({"guess": _stage(plan.guess, 1.0, "guess", members)} if plan.guess is not None else {}),
        **({"values": _values(plan.values, members)} if plan.values is not None else {}),
    }
    return Document(schema, dict(sorted(members.raw.items())))


def _values(plan: Plan, members: _Arrays) -> dict[str, Any]:
    """The plan for probabilities without what it shares with the plan for classes: the machine but for its rule."""
    return {
        "rule": _rule(plan.machine.rule, members, "values"),
        "stages": [_stage(*entry, f"values/{number}", members) for number, entry in enumerate(plan.cascade)],
        "guarantee": _guarantee(plan.guarantee),
        "trials": [_fields(trial, TRIAL) for trial in plan.trials],
    }


class _Arrays:
    """Collects the arrays of a plan, and the schema's entry for each."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.raw: dict[str, Raw] = {}

    def add(self, name: str, array: npt.NDArray[Any]) -> str:
        """Add an array, and return the name by which the schema refers to it."""
        member = f"{name}.npy"
        dtype, raw = npy.pack(array)
        checksum = hashlib.sha256(raw).hexdigest()
        self.entries[member] = {"dtype": dtype, "shape": list(array.shape), "bytes": len(raw), "sha256": checksum}
        self.raw[member] = raw
        return member


def _machine(machine: Machine, members: _Arrays) -> dict[str, Any]:
    names = machine.feature_names
    described: dict[str, Any] = {
        "rule": _rule(machine.rule, members, "machine"),
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if isinstance(machine, MachineSum):
        added = {} if machine.factors is None else {"factors": list(machine.factors)}
        parts = [_member(each, number, members) for number, each in enumerate(machine.members)]
        return described | added | {"members": parts}
    return described | _function(machine, members, "machine")


def _member(machine: Machine, number: int, members: _Arrays) -> dict[str, Any]:
    """A member of a sum of machines, with an origin of its own."""
    folder = f"members/{number}"
    return _function(machine, members, folder) | {"origin": _origin(machine, members, f"{folder}/origin")}


def _function(machine: Machine, members: _Arrays, folder: str) -> dict[str, Any]:
    """What gives the outputs of a machine."""
    input_map, preparation = machine.input_map, machine.preparation
    prepared = {} if preparation is None else {"preparation": describe_preparation(preparation, members.add, folder)}
    return {
        "kernel": _kernel(machine.kernel),
        "input_map": None if input_map is None else _input_map(input_map, members, folder),
        "blas_products": bool(machine.blas_products),
        **_sum(machine, members, folder),
        **prepared,
    }


def _sum(machine: Machine, members: _Arrays, folder: str) -> dict[str, Any]:
    """Points, weights and bias."""
    named = {name: members.add(f"{folder}/{name}", getattr(machine, name)) for name in ("weights", "bias")}
    return {"points": describe_points(machine.points, members.add, folder), **named}


def _input_map(affine: Affine, members: _Arrays, folder: str) -> dict[str, Any]:
    steps = [
        {"name": name, "values": members.add(f"{folder}/steps/{number}", values)}
        for number, (name, values) in enumerate(affine.steps)
    ]
    return {
        "center": members.add(f"{folder}/center", affine.center),
        "scale": members.add(f"{folder}/scale", affine.scale),
        "steps": steps,
    }


def _origin(machine: Machine, members: _Arrays, folder: str) -> dict[str, Any] | None:
    """The origin without what it shares with the machine: kernel, rule and feature names."""
    if (origin := machine.origin) is None:
        return None
    source, deviation = origin.machine, origin.deviation.without_infinity()
    return {
        **_sum(source, members, folder),
        "input_map": None if source.input_map is None else _input_map(source.input_map, members, folder),
        "constant": members.add(f"{folder}/constant", deviation.constant),
        "slope": members.add(f"{folder}/slope", deviation.slope),
        "gain": float(deviation.gain),
        "start": float(deviation.start),
        "degree": int(deviation.degree),
    }


def _form(value: object, forms: dict[str, Form], **described: Any) -> dict[str, Any]:
    """The name and the parameters of a value; `described` holds the parameters that are objects themselves."""
    name = name_of(value, forms)
    if name is None:
        raise ValueError(f"plan files have no word for {type(value).__name__}; they know {', '.join(forms)}")
    form = forms[name]
    given = {p: kind for p, kind in form.optional.items() if getattr(value, p) is not None}
    kinds = form.parameters | given
    return {"name": name} | {p: described.get(p) or kind(getattr(value, p)) for p, kind in kinds.items()}


def _fields(value: object, kinds: dict[str, type]) -> dict[str, Any]:
    return {name: kind(getattr(value, name)) for name, kind in kinds.items()}


def _versions(versions: dict[str, str]) -> dict[str, str]:
    return {str(name): str(version) for name, version in versions.items()}


def _source(source: Source) -> dict[str, Any]:
    described = {
        "description": str(source.description),
        "points": int(source.points),
        "versions": _versions(source.versions),
    }
    described |= {} if source.seconds is None else {"seconds": float(source.seconds)}
    described |= {"before": [str(step) for step in source.before]} if source.before else {}
    described |= {} if source.fast_at == Source.fast_at else {"fast_at": str(source.fast_at)}
    return described | ({"estimated": True} if source.estimated else {})


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    if not isinstance(guarantee, Risk):
        return _form(guarantee, GUARANTEES)
    return _form(guarantee, GUARANTEES, evidence=_evidence(guarantee.evidence))


def _evidence(evidence: Evidence) -> dict[str, Any]:
    classes = [_fields(count, COUNT) for count in evidence.classes]
    return _fields(evidence, EVIDENCE) | {"versions": _versions(evidence.versions), "classes": classes}


def _kernel(kernel: Kernel) -> dict[str, Any]:
    if kernel.is_python:
        raise ValueError(
            "a machine with a Custom kernel cannot be saved: its kernel is a Python function, and plan files hold "
            "nothing that runs. Save the model itself, and compile it again where it is needed"
        )
    if isinstance(kernel, Normalized):
        return _form(kernel, KERNELS, kernel=_kernel(kernel.kernel))
    return _form(kernel, KERNELS)


def _rule(rule: Rule, members: _Arrays, folder: str) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if isinstance(rule, ClassRule) and not isinstance(rule, OneClassSign):
        labels = _plain_labels(rule.classes)
        array = members.add(f"{folder}/classes", labels)
        described["classes"] = {"array": array, "objects": rule.classes.dtype == object}
    if isinstance(rule, DecisionValue):
        described["scores"] = _rule(rule.scores, members, f"{folder}/scores")
    if isinstance(rule, SeveralLabels):
        parts = enumerate(rule.rules)
        described["rules"] = [_rule(each, members, f"{folder}/{number}") for number, each in parts]
    if isinstance(rule, Threshold):
        described["of"] = _rule(rule.of, members, f"{folder}/of")
    if isinstance(rule, MostProbable | Probability):
        described["map"] = describe_map(
            rule.map, f"{folder}/map", members.add, lambda scores, inner: _rule(scores, members, inner)
        )
    return _form(rule, RULES, **described)


def _plain_labels(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Class labels as an array of text or numbers; text in an object array is converted where that loses nothing."""
    labels = classes
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        labels = classes.astype(np.str_)
    if not npy.is_plain(labels.dtype.newbyteorder("<").str) or labels.tolist() != classes.tolist():
        raise ValueError(
            f"class labels {classes.tolist()[:5]} of type {classes.dtype} cannot be saved: train the model with "
            "str or int labels"
        )
    return labels


def _stage(stage: Stage, caution: float, place: str, members: _Arrays) -> dict[str, Any]:
    numbers, arrays = stage.state()
    return {
        "name": stage.name,
        "certified": bool(stage.certified),
        "caution": float(caution),
        "numbers": {name: value.item() if isinstance(value, np.generic) else value for name, value in numbers.items()},
        "arrays": {name: members.add(f"stages/{place}/{name}", array) for name, array in arrays.items()},
    }

"""Maps from outputs to probabilities in plan files: described, audited and constructed.

A map is a name and its parameters, as rules are. The thresholds of all isotonic regressions of a map lie in one array:
their scores, and below them their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dormie.errors import PlanFileError
from dormie.machine.rules import Rule
from dormie.machine.rules.probability import (
    Among,
    Calibrated,
    Coupled,
    Isotonic,
    Mean,
    Platt,
    ProbabilityMap,
    Temperature,
    Votes,
)
from dormie.machine.rules.probability.calibrators import Calibrator
from dormie.plan.file.require import require_kind
from dormie.plan.file.vocabulary import CALIBRATORS, MAPS, MEMBER_MAPS, PLAIN_MAPS, SCORES, Form, name_of

Described = dict[str, Any]
Shape = tuple[int, ...]
_MOST_MEMBERS = 256


class Adder(Protocol):
    def __call__(self, name: str, array: npt.NDArray[Any], /) -> str: ...


def describe_map(found: ProbabilityMap, folder: str, add: Adder, rule: Callable[[Rule, str], Described]) -> Described:
    """The map as JSON values.

    folder: where its arrays go; add: adds one; rule: describes the rule of scores
    """
    name = name_of(found, MAPS)
    match found:
        case Mean(members):
            parts = [describe_map(each, f"{folder}/{number}", add, rule) for number, each in enumerate(members)]
            return {"name": name, "members": parts} | ({"weights": [*found.weights]} if found.weights else {})
        case Votes(members, count, weights):
            rules = [rule(each, f"{folder}/{number}") for number, each in enumerate(members)]
            return {"name": name, "members": rules, "count": int(count), "weights": [*weights]}
        case Among(inner, places, count):
            inside = describe_map(inner, folder, add, rule)
            return {"name": name, "map": inside, "places": [*places], "count": int(count)}
        case Calibrated(scores, maps):
            thresholds = [np.array([each.scores, each.numbers]) for each in maps if isinstance(each, Isotonic)]
            joined = add(f"{folder}/thresholds", np.hstack([np.empty((2, 0)), *thresholds]))
            described = [_calibrator(each) for each in maps]
            return {"name": name, "scores": rule(scores, folder), "maps": described, "thresholds": joined}
        case Temperature(scores, inverse):
            return {"name": name, "scores": rule(scores, folder), "inverse": float(inverse)}
        case Coupled():
            return {
                "name": name,
                "slopes": add(f"{folder}/slopes", found.slopes),
                "intercepts": add(f"{folder}/intercepts", found.intercepts),
                "order": [int(position) for position in found.order],
                "flipped": bool(found.flipped),
                "two_by_iteration": bool(found.two_by_iteration),
            }
    raise ValueError(f"plan files have no word for {type(found).__name__}; they know {', '.join(MAPS)}")


def _calibrator(found: Calibrator) -> Described:
    if isinstance(found, Platt):
        return {"name": "platt", "slope": float(found.slope), "intercept": float(found.intercept)}
    return {"name": "isotonic", "thresholds": len(found.scores)}


def audit_map(
    described: Any,
    where: str,
    form: Callable[[Any, str, dict[str, Form]], None],
    rule: Callable[[Any, str, dict[str, Form]], list[str]],
    shape_of: Callable[[str, str], Shape],
    forms: dict[str, Form] = MAPS,
) -> Iterator[tuple[str, Shape | None]]:
    """Check a map; yields the names of its arrays, with the shape that those of numbers must have.

    form: checks a name and its parameters; rule: checks a rule, and returns the names of its arrays
    """
    form(described, where, forms)
    name = described["name"]
    if "scores" in described:
        yield from ((reference, None) for reference in rule(described["scores"], f"{where}.scores", SCORES))
    if name == "calibrated":
        total = sum(_thresholds(each, f"{where}.maps[{i}]", form) for i, each in enumerate(described["maps"]))
        yield described["thresholds"], (2, total)
    elif name == "coupled":
        for number, position in enumerate(described["order"]):
            require_kind(position, f"{where}.order[{number}]", int)
        length = shape_of(described["slopes"], f"{where}.slopes")[:1]
        yield from ((described[array], length) for array in ("slopes", "intercepts"))
    elif name == "among":
        _require_numbers(described, where, "places", int)
        yield from audit_map(described["map"], f"{where}.map", form, rule, shape_of, PLAIN_MAPS)
    elif name in ("mean", "votes"):
        if len(described["members"]) > _MOST_MEMBERS:
            raise PlanFileError(f"{where} has more than {_MOST_MEMBERS} members")
        _require_numbers(described, where, "weights", float)
        for number, member in enumerate(described["members"]):
            place = f"{where}.members[{number}]"
            require_kind(member, place, dict)
            if name == "votes":
                yield from ((reference, None) for reference in rule(member, place, SCORES))
            else:
                yield from audit_map(member, place, form, rule, shape_of, MEMBER_MAPS)


def _require_numbers(described: Described, where: str, name: str, kind: type) -> None:
    for number, value in enumerate(described.get(name, [])):
        require_kind(value, f"{where}.{name}[{number}]", kind)


def _thresholds(described: Any, where: str, form: Callable[[Any, str, dict[str, Form]], None]) -> int:
    """Check the map of one score, and return how many thresholds it has."""
    require_kind(described, where, dict)
    form(described, where, CALIBRATORS)
    count: int = described.get("thresholds", 0)
    if count < 0:
        raise PlanFileError(f"{where}.thresholds must not be negative, found {count}")
    return count


def construct_map(
    described: Described, array: Callable[[str], npt.NDArray[Any]], rule: Callable[[Described], Rule]
) -> ProbabilityMap:
    """The map that audited JSON values describe."""
    match described["name"]:
        case "mean":
            members = tuple(construct_map(member, array, rule) for member in described["members"])
            return Mean(members, tuple(described.get("weights", ())))
        case "votes":
            rules = tuple(map(rule, described["members"]))
            return Votes(rules, described["count"], tuple(described["weights"]))  # type: ignore[arg-type]
        case "among":
            inner = construct_map(described["map"], array, rule)
            return Among(inner, tuple(described["places"]), described["count"])
        case "calibrated":
            thresholds = array(described["thresholds"])
            counts = [each.get("thresholds", 0) for each in described["maps"]]
            parts = np.split(thresholds, np.cumsum(counts)[:-1], axis=1) if counts else []
            maps = tuple(_built(each, part) for each, part in zip(described["maps"], parts, strict=True))
            return Calibrated(rule(described["scores"]), maps)
        case "temperature":
            return Temperature(rule(described["scores"]), described["inverse"])
    slopes, intercepts, order = array(described["slopes"]), array(described["intercepts"]), tuple(described["order"])
    return Coupled(slopes, intercepts, order, described["flipped"], described["two_by_iteration"])


def _built(described: Described, thresholds: npt.NDArray[Any]) -> Calibrator:
    if described["name"] == "platt":
        return Platt(described["slope"], described["intercept"])
    return Isotonic(*thresholds)

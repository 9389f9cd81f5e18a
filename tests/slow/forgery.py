"""Plan files that nobody saved: genuine plans of every kind, changed on purpose, and made good again around the change.

A forged file has right checksums and a valid archive, so that it is refused for what it says or not at all. Changes are
to the schema (numbers at the ends of their range, lists repeated, names swapped, fields dropped, odd texts), to arrays
(other values, shapes, types, contents), to both at once so that they still fit, and now and then to single bytes.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from dormie.machine import Affine, Machine, MachineSum, Origin
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.kernels import Kernel
from dormie.machine.preparation import (
    NORMS,
    Arithmetic,
    Binarize,
    Clip,
    Columns,
    Impute,
    Normalize,
    Preparation,
    Projection,
    Step,
)
from dormie.machine.rules import (
    Argmax,
    ClassRule,
    DecisionValue,
    LogDensity,
    MostProbable,
    OneClassSign,
    OneVsOneConfidence,
    OneVsOneVote,
    Probability,
    Rule,
    Score,
    SeveralLabels,
    Sign,
    Threshold,
    Transformed,
    Value,
    ValueRule,
    decision_values,
)
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
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense, Float32Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.parts import CalibratedParts, Parts
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.refinement import Refinement
from dormie.methods.regions import Regions
from dormie.methods.scores.stage import ScoreMachine, Scores, needs_classes
from dormie.methods.tree import greedy
from dormie.methods.tree.stage import TreeWalk
from dormie.numerics import backend
from dormie.numerics.rounding import kernel_sum_margin
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive, npy
from dormie.plan.file.describe import describe
from dormie.plan.file.document import SCHEMA, Document
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Count, Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source, Trial
from tests.properties.strategies import BY_DIFFERENCES, KERNELS, Generator, takes_shares

POINTS, FEATURES = 40, 4
RULES: tuple[Callable[[], Rule], ...] = (
    OneClassSign,
    lambda: Sign(np.array(["ash", "ülm"], dtype=object)),
    lambda: OneVsOneVote(np.array(["a", "b", "c"])),
    lambda: OneVsOneVote(np.arange(4), break_ties=True, shape="ovo"),
    lambda: Argmax(np.array([0.5, 1.5, 2.5]), last_of_equal=True),
    lambda: Value(),
    lambda: Value(0.05, flat=False),
    lambda: MostProbable(np.array(["no", "yes"]), _map_of_two()),
    lambda: MostProbable(np.arange(3), _map_of_three()),
    lambda: Probability(_map_of_two(), 0.05),
    lambda: OneVsOneVote(np.arange(3), break_ties=True),
    lambda: DecisionValue(OneVsOneVote(np.arange(3)), 0.1),
    lambda: Score(0.5, 0.1),
    lambda: Threshold(np.array(["no", "yes"]), Value(), 0.3),
    lambda: Threshold(np.array([-1, 1]), Score(-0.5), 0.2, equal=0),
    lambda: Threshold(np.array([False, True]), Probability(_map_of_two()), 0.7, column=1),
    lambda: OneVsOneConfidence(np.array(["a", "b", "c"]), zero=1),
    lambda: Transformed("exp", 0.05),
    lambda: MostProbable(np.arange(3), _map_of_votes()),
    lambda: MostProbable(np.arange(3), _map_of_some()),
    lambda: SeveralLabels([Sign(np.array([3, 5])), MostProbable(np.array(["a", "b", "c"]), _map_of_votes())], [1, 4]),
    lambda: LogDensity(-0.5, 0.1),
)
_OUTPUTS = (1, 1, 3, 6, 3, 1, 2, 2, 3, 2, 3, 3, 1, 1, 1, 2, 3, 1, 4, 2, 5, 1)
_ALL_KERNELS = (*KERNELS, *(kernel for kernel in BY_DIFFERENCES if not takes_shares(kernel)))

Array = npt.NDArray[Any]


def _map_of_two() -> ProbabilityMap:
    isotonic = Isotonic(np.array([-1.0, 0.5, 2.0]), np.array([0.0, 0.5, 1.0]))
    scores = Sign(np.array(["no", "yes"], dtype=object))
    return Mean((Calibrated(scores, (isotonic,)), Temperature(scores, 2.0)))


def _map_of_three() -> ProbabilityMap:
    return Calibrated(OneVsOneVote(np.arange(3)), (Platt(-2.0, 0.5),) * 3)


def _map_of_votes() -> ProbabilityMap:
    return Votes((Sign(np.array([0, 2])), Argmax(np.arange(3))), 3, (0.5, 1.0))


def _map_of_some() -> ProbabilityMap:
    parts = [Temperature(Sign(np.arange(2)), 2.0), Calibrated(Sign(np.arange(2)), (Platt(-2.0, 0.5),))]
    return Mean((Among(parts[0], (0, 2), 3), Among(parts[1], (2, 1), 3)), (1.0, 0.5))


def forged(rng: Generator) -> bytes:
    """A plan file with a few changes."""
    document = _genuine_one(rng)
    arrays = {name: _unpacked(document, name) for name in document.arrays}
    forgery = _Forgery(rng, copy.deepcopy(document.schema), arrays)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        forgery.change()
    data = forgery.encoded()
    return data if rng.random() < 0.95 else _with_other_bytes(rng, data)


def _genuine_one(rng: Generator) -> Document:
    kernel, rule = int(rng.integers(len(_ALL_KERNELS))), int(rng.integers(len(RULES)))
    return genuine(kernel, rule, bool(rng.random() < 0.5), sparse=bool(rng.random() < 0.2))


@cache
def genuine(kernel: int, rule: int, bold: bool, sparse: bool = False) -> Document:
    """A plan with all stages there are for the kernel and the rule, certified ones or bold ones, as it is saved."""
    machine = _machine(_ALL_KERNELS[kernel], RULES[rule](), _OUTPUTS[rule], seed=10 * kernel + rule)
    if isinstance(machine.rule, MostProbable) and isinstance(machine.rule.map, Mean):
        machine = _sum_of(machine, _ALL_KERNELS[(kernel + 2) % len(_ALL_KERNELS)])
    if sparse and backend.decides(machine) and machine.kernel.of_inner_products:
        machine = _sparse(machine)
    bold = bold and _may_be_bold(machine)
    stages = [] if machine.has_sparse_points else _bold_stages(machine) if bold else _certified_stages(machine)
    last = Float32Dense(machine) if bold and not isinstance(machine, MachineSum) else Dense(machine)
    cascade = Cascade.of(*stages, last).scaled(1.5)
    guarantee = _risk(machine) if bold else _certified(machine)
    source = Source("SVC(C=1.0)", 44, {"numpy": "2.0", "scikit-learn": "1.5"}, 0.25)
    trials = (Trial("dense", 0.0, 12.5), Trial("geometry(8) -> dense", 0.75, 3.5))
    rewrites, note = ("center", "quadratic"), "a note" if bold else ""
    values = _values(machine, source, rewrites)
    return describe(Plan(machine, cascade, guarantee, source, rewrites, trials, note, values=values))


def _values(machine: Machine, source: Source, rewrites: tuple[str, ...]) -> Plan | None:
    """A plan for probabilities, of a vote or a most probable class, or for the decision values of a vote."""
    rule: ValueRule
    if isinstance(machine.rule, OneVsOneVote) and machine.rule.break_ties:
        rule = decision_values(machine.rule, machine.n_outputs, 0.1)
    elif isinstance(machine.rule, OneVsOneVote):
        k, pairs = len(machine.rule.classes), np.linspace(-2.0, -1.0, machine.n_outputs)
        rule = Probability(Coupled(pairs, pairs / 3, tuple(range(k))))
    elif isinstance(machine.rule, MostProbable):
        rule = Probability(machine.rule.map, 0.1 if machine.rule.map.certifiable else 0.0)
    else:
        return None
    machine = machine.changed(rule=rule)
    stages: list[Stage] = [Geometry.build(machine, machine.points[:9])] if _bounded(machine) else []
    stages += [Parts(machine)] if isinstance(machine, MachineSum) else []
    return Plan(machine, Cascade.of(*stages, Dense(machine)), _certified(machine), source, rewrites)


def _bounded(machine: Machine) -> bool:
    with_tolerance = isinstance(machine.rule, ValueRule) and machine.rule.tolerance > 0
    return machine.kernel.positive_semidefinite and with_tolerance and not machine.has_sparse_points


def _machine(kernel: Kernel, rule: Rule, outputs: int, seed: int) -> Machine:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(POINTS, FEATURES)), rng.normal(size=(POINTS, outputs))
    input_map = _scaler(rng) if seed % 2 else None
    names = tuple(f"feature {number}" for number in range(FEATURES)) if seed % 3 == 0 else None
    bias, blas_products = rng.normal(size=outputs), bool(rng.random() < 0.5)
    preparation = _preparation(rng) if seed % 5 == 1 and names is None else None
    machine = Machine(kernel, points, weights, bias, rule, input_map, names, blas_products, preparation)
    return machine.with_origin(_origin(rng, machine)) if rng.random() < 0.7 else machine


def _sum_of(machine: Machine, kernel: Kernel) -> Machine:
    """One member for each output, the second with another kernel, and perhaps an origin and a scaling of its own."""
    other = _machine(kernel, Value(), 1, seed=machine.n_outputs)
    rule = Value(flat=False)
    first = replace(machine, weights=machine.weights[:, 0], bias=machine.bias[:1], rule=rule, feature_names=None)
    return MachineSum([first, other.changed(feature_names=None)], machine.rule, machine.feature_names)


def _sparse(machine: Machine) -> Machine:
    """The same with most coordinates 0, its origin too, and scaled at most."""
    rng = np.random.default_rng(machine.n_points)

    def sparse(each: Machine) -> Machine:
        points = csr_array(np.where(rng.random(each.points.shape) < 0.3, each.points, 0.0))
        input_map = None if each.input_map is None else Affine(np.zeros(FEATURES), each.input_map.scale)
        return replace(each, points=points, input_map=input_map, blas_products=False, preparation=None)

    origin = machine.origin
    return sparse(machine).with_origin(origin and Origin(sparse(origin.machine), origin.deviation))


def _preparation(rng: Generator) -> Preparation:
    """Every step there is, from as many columns as there are features to as many."""
    numbers = rng.uniform(1, 2, size=FEATURES)
    steps: list[Step] = [Impute(numbers), *(Arithmetic(name, numbers) for name in MAP_STEPS)]
    steps += [
        Columns(rng.permutation(FEATURES), FEATURES),
        Clip(-9.0, 9.0, 1),
        Projection(rng.normal(size=(FEATURES, FEATURES))),
        Impute(numbers[:1], missing=0.5),
        Normalize(str(rng.choice(NORMS)), FEATURES),
        Binarize(0.1, 1),
    ]
    return Preparation(FEATURES, steps)


def _scaler(rng: Generator) -> Affine:
    """One that says how it scales, in either of two ways, or does not."""
    center, scale = rng.normal(size=FEATURES), rng.uniform(1, 2, size=FEATURES)
    steps = (
        (),
        (("subtract", center), ("divide", scale)),
        (("multiply", 1 / scale), ("add", -center / scale)),
    )[int(rng.integers(3))]
    return Affine(center, scale, steps)


def _origin(rng: Generator, machine: Machine) -> Origin:
    """More points than are left, at times with an input map of its own, and a deviation as of merging points."""
    points, weights = rng.normal(size=(POINTS + 9, FEATURES)), rng.normal(size=(POINTS + 9, machine.n_outputs))
    input_map = _scaler(rng) if rng.random() < 0.5 else machine.input_map
    source = replace(machine, points=points, weights=weights, input_map=input_map)
    return Origin(source, kernel_sum_margin(source, 1e-15 * np.abs(weights)))


def _certified_stages(machine: Machine) -> list[Stage]:
    if isinstance(machine, MachineSum):
        kinds = (_landmarks, _set, FastStopping) if _may_be_bold(machine) else ()
        return [*(Parts(machine, list(map(kind, machine.members))) for kind in kinds), Parts(machine)]
    if not machine.kernel.positive_semidefinite:
        return []
    stages: list[Stage] = [_landmarks(machine), FastStopping(machine)]
    if machine.kernel.has_derivative:
        stages.insert(1, _set(machine))
    if backend.decides(machine) and not isinstance(machine.rule, Value):
        parts = [Geometry.build(machine, machine.points[first : first + 9]) for first in (0, 12)]
        stages.append(Regions(machine, machine.points[:2].copy(), parts))
    if isinstance(machine.rule, OneVsOneVote) and len(machine.rule.classes) > 2 and machine.kernel.has_derivative:
        guess = ReducedSet.project(machine, machine.points[:5], [5])
        stages.append(Champion(machine, guess.levels))
    return stages


def _landmarks(machine: Machine) -> Stage:
    return Geometry.build(machine, machine.points[:20])


def _set(machine: Machine) -> Stage:
    return ReducedSet.project(machine, machine.points[:5], [2, 5])


def _may_be_bold(machine: Machine) -> bool:
    """Whether there are calibrated stages for the machine; values need a tolerance for them."""
    if isinstance(machine, MachineSum):
        return all(member.kernel.positive_semidefinite and member.kernel.has_derivative for member in machine.members)
    if isinstance(machine.rule, Value | DecisionValue | Score):
        settles_values = machine.rule.tolerance > 0 and machine.kernel.positive_semidefinite
        settles_values &= machine.kernel.has_derivative
        return settles_values and not machine.has_sparse_points
    return backend.decides(machine)


def _bold_stages(machine: Machine) -> list[Stage]:
    if isinstance(machine, MachineSum):
        return [CalibratedParts(machine, list(map(_bold_set, machine.members)))]
    if isinstance(machine.rule, ValueRule):
        together = np.vstack([np.zeros((4, machine.n_outputs)), machine.weights[4:10]])
        levels = Levels.of(machine.points[:10], [machine.weights[:4], together], machine.n_outputs)
        return [Refinement(machine, levels, 0.5, 0.01)]
    rows = np.random.default_rng(0).normal(size=(60, FEATURES))
    stages: list[Stage] = [LinearFilter.fit(machine, rows)]
    if machine.kernel.of_inner_products:
        stages += [Nearest.fit(machine, rows, form=form, budget=20, cells=cells) for form, cells in _FORMS]
    tree = greedy(machine, rows, height=4)
    stages.append(TreeWalk.calibrated(machine, tree, rows))
    if machine.kernel.positive_semidefinite and machine.kernel.has_derivative:
        stages.append(_bold_set(machine))
        if isinstance(machine.rule, OneVsOneVote) and len(machine.rule.classes) > 2:
            guess = ReducedSet.project(machine, machine.points[:5], [5])
            stages.append(OpenPairs(machine, guess.levels, guess.half_widths))
    if needs_classes(Scores.name, machine):
        classes = len(cast(ClassRule, machine.rule).classes)
        made = ScoreMachine(machine.points[:4].copy(), rows[:4, :1] * np.arange(classes), np.zeros(classes))
        stages.append(Scores(machine, made, 0.5))
    return stages


def _bold_set(machine: Machine) -> Stage:
    levels = Levels.of(machine.points[:4], [machine.weights[:4]], machine.n_outputs)
    return CalibratedReducedSet(machine, levels, np.ones((1, machine.n_outputs)))


_FORMS: tuple[tuple[str, int | None], ...] = (("query", None), ("cells", 3))


def _certified(machine: Machine) -> Guarantee:
    tolerance = machine.rule.tolerance if isinstance(machine.rule, ValueRule) else 0.0
    return Tolerance(tolerance) if tolerance else Exact()


def _risk(machine: Machine) -> Risk:
    of_values = isinstance(machine.rule, ValueRule)
    classes = (Count("a", 4000, 0), Count("b", 1000, 1)) if machine.n_outputs > 1 and not of_values else ()
    evidence = Evidence(5000, 1 if classes else 0, 0.01, 2, 3, "2024-12-31", 5, {"dormie": "0.1"}, classes)
    return Risk(0.01, 0.95, evidence, machine.rule.tolerance if isinstance(machine.rule, ValueRule) else None)


def _unpacked(document: Document, name: str) -> Array:
    entry = document.schema["arrays"][name]
    return npy.unpack(document.arrays[name], entry["dtype"], tuple(entry["shape"]))


def _with_other_bytes(rng: Generator, data: bytes) -> bytes:
    """A byte changed, a piece cut out, repeated, or put in."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 100))
    match rng.integers(4):
        case 0:
            return data[:start] + bytes([data[start] ^ int(rng.integers(1, 256))]) + data[start + 1 :]
        case 1:
            return data[:start] + data[start + length :]
        case 2:
            return data[: start + length] + data[start:]
    return data[:start] + rng.bytes(length) + data[start:]


INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    16,
    1000,
    1001,
    10**6,
    10**6 + 1,
    2**31 - 1,
    2**31,
    -(2**31),
    2**40,
    2**63 - 1,
    -(2**63),
    2**63,
)
FLOATS = (0.0, -0.0, 5e-324, 1e-300, 1e-16, 0.5, 1.0, -1.0, 1.5, 50.0, 1e16, 1e300, -1e300, 1.7976931348623157e308)
TEXTS = (
    "",
    "\x00",
    "\x1b[31mred",
    "\ud800",
    "\u202eabc",
    "a\r\nb",
    "ﷺ" * 50,
    "x" * 50_000,
    "../../etc",
    "ovo",
    "dense",
)
_MOST_NUMBERS = 1 << 20  # in an array
_OTHER_TYPES = ("<f4", "<f2", "<i8", "<i4", "|u1", "|b1", "<U3", "<U40")


class _Forgery:
    """A schema and its arrays, open to changes."""

    def __init__(self, rng: Generator, schema: dict[str, Any], arrays: dict[str, Array]) -> None:
        self.rng, self.schema, self.arrays = rng, schema, arrays

    def change(self) -> None:
        changes = [
            *[self._change_value] * 4,
            *[self._change_array] * 6,
            self._swap_values,
            self._swap_arrays,
            self._change_list,
            self._change_fields,
            self._other_name,
            self._other_stages,
            self._repeat_stages,
            self._other_guarantee,
            self._other_points,
            self._other_machine,
            self._more_cells,
            self._other_origin,
            self._other_deviation,
            self._other_steps,
            self._other_input_map,
            self._other_preparation,
        ]
        self._one_of(changes)()

    def encoded(self) -> bytes:
        """The file, with the entries of its arrays as they should be: nearly always, and where there is one."""
        raw: dict[str, bytes] = {}
        for name in sorted(self.arrays):
            dtype, packed = npy.pack(self.arrays[name])
            raw[name] = packed
            entry = {"dtype": dtype, "shape": list(self.arrays[name].shape), "bytes": len(packed)}
            entry["sha256"] = hashlib.sha256(packed).hexdigest()
            if self.rng.random() < 0.998 and isinstance(self.schema.get("arrays"), dict):
                self.schema["arrays"][name] = entry
        try:
            return b"".join(archive.encode(unparse(Document(self.schema, dict(raw)))))
        except ValueError:  # too large a schema, or keys that cannot be told apart: any other will do
            return b"".join(archive.encode({SCHEMA: b"{}", **raw}))

    def _one_of(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def _places(self, kinds: tuple[type, ...]) -> list[tuple[Any, Any]]:
        """Every spot of the schema, but for the arrays' entries, that holds such a value: its holder and its key."""
        return [
            place
            for key in self.schema
            if key != "arrays"
            for place in [(self.schema, key), *_places(self.schema[key])]
            if type(place[0][place[1]]) in kinds
        ]

    def _place(self, *kinds: type) -> tuple[Any, Any]:
        places = self._places(kinds)
        return self._one_of(places) if places else ({"nothing": kinds[0]()}, "nothing")

    def _change_value(self) -> None:
        holder, key = self._place(int, float, bool, str)
        others: dict[type, Any] = {int: INTEGERS, float: FLOATS, bool: (True, False), str: TEXTS}
        kind = type(holder[key]) if self.rng.random() < 0.9 else self._one_of([int, float, bool, str])
        holder[key] = self._one_of(others[kind])

    def _swap_values(self) -> None:
        one, other = self._place(int, float, str, dict, list), self._place(int, float, str, dict, list)
        mine, theirs = copy.deepcopy(one[0][one[1]]), copy.deepcopy(other[0][other[1]])
        one[0][one[1]], other[0][other[1]] = theirs, mine

    def _change_list(self) -> None:
        holder, key = self._place(list)
        items: list[Any] = holder[key]
        repeated = items * int(self._one_of([2, 3, 17, 1000]))
        holder[key] = self._one_of([[], items[::-1], items[1:], items[:-1], repeated, [*items, None], [[]] * 1000])

    def _change_fields(self) -> None:
        holder, key = self._place(dict)
        fields: dict[str, Any] = holder[key]
        if fields and self.rng.random() < 0.5:
            del fields[self._one_of(list(fields))]
        else:
            fields[self._one_of(["extra", "tolerance", "classes", "", "\x1b"])] = self._one_of(
                [0, 1.0, "x", {}, [], None]
            )

    def _other_name(self) -> None:
        """Another stage, kernel, rule or guarantee by the name of this one."""
        names = (
            *METHODS,
            "linear",
            "polynomial",
            "rbf",
            "sigmoid",
            "sign",
            "argmax",
            "value",
            "score",
            "decision_value",
            "threshold",
            "exact",
            "mean",
            "platt",
            "votes",
            "among",
            "transformed",
            "several_labels",
        )
        named = [place for place in self._places((str,)) if place[1] == "name"]
        if named:
            holder, key = self._one_of(named)
            holder[key] = self._one_of(names)

    def _other_stages(self) -> None:
        """The stages of another plan, arrays and all, before those there are."""
        other = _genuine_one(self.rng)
        number = int(self.rng.integers(100, 999))
        moved = copy.deepcopy(other.schema["stages"][:-1])
        for stage in moved:
            for name, reference in stage["arrays"].items():
                member = f"other/{number}/{reference}"
                self.arrays[member], stage["arrays"][name] = _unpacked(other, reference), member
        if isinstance(self.schema.get("stages"), list):
            self.schema["stages"] = moved + self.schema["stages"]

    def _repeat_stages(self) -> None:
        if isinstance(self.schema.get("stages"), list):
            plain = _plain_stage(self._one_of(["fast_stopping", "dense"]))
            self.schema["stages"][:0] = [plain] * int(self._one_of([1, 5, 14, 20, 2000]))

    def _other_guarantee(self) -> None:
        self.schema["guarantee"] = copy.deepcopy(_genuine_one(self.rng).schema["guarantee"])

    def _array(self) -> str:
        name: str = self._one_of(sorted(self.arrays))
        return name

    def _swap_arrays(self) -> None:
        one, other = self._array(), self._array()
        self.arrays[one], self.arrays[other] = self.arrays[other], self.arrays[one]

    def _change_array(self) -> None:
        name = self._array()
        change = self._one_of(
            [self._values, self._values, self._values, self._order, self._shape, self._shape, self._type]
        )
        self.arrays[name] = change(self.arrays[name].copy())

    def _values(self, array: Array) -> Array:
        """Extreme values in some places, or in all; all of them larger or smaller."""
        if not array.size:
            return array
        if array.dtype.kind == "f" and self.rng.random() < 0.3:
            with np.errstate(all="ignore"):
                return np.asarray(array * 10.0 ** float(self.rng.integers(-320, 309))).astype(array.dtype)
        count = int(self._one_of([1, 1, 1, 3, array.size]))
        places = self.rng.integers(0, array.size, size=count)
        array.reshape(-1)[places] = self._extreme(array.dtype)
        return array

    def _extreme(self, dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "U":
            return self._one_of(TEXTS)
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.asarray(self._one_of((*FLOATS, *FLOATS, np.nan, np.inf))).astype(dtype)
        return np.asarray(self._one_of(INTEGERS[:-1])).astype(dtype)

    def _order(self, array: Array) -> Array:
        flat = array.reshape(-1)
        return np.asarray(self._one_of([np.sort(flat), flat[::-1], self.rng.permutation(flat)])).reshape(array.shape)

    def _shape(self, array: Array) -> Array:
        """Transposed, flat, with an axis more, or fewer or more of it along an axis."""
        plain = [array.T, array.reshape(-1), array[None], array.reshape(-1, 1), array.reshape(1, -1)]
        if not array.ndim or self.rng.random() < 0.3:
            return np.asarray(self._one_of(plain))
        axis = int(self.rng.integers(array.ndim))
        if self.rng.random() < 0.5:
            return np.asarray(array.take(range(int(self.rng.integers(array.shape[axis] + 1))), axis=axis))
        return _repeated(array, int(self._one_of([2, 3, 50])), axis)

    def _type(self, array: Array) -> Array:
        with np.errstate(all="ignore"):
            try:
                return array.astype(self._one_of(_OTHER_TYPES))
            except (ValueError, OverflowError):  # text that is no number
                return array

    def _along(self, names: dict[str, int], times: int | None) -> None:
        """Arrays repeated along an axis each, or, without a number, cut to one."""
        for name, axis in names.items():
            if name in self.arrays and self.arrays[name].ndim > axis:
                array = self.arrays[name]
                one = array.take(range(min(1, array.shape[axis])), axis)
                self.arrays[name] = one if times is None else _repeated(array, times, axis)

    def _other_points(self) -> None:
        """None, one, or many more points, with weights that fit."""
        self._along({"machine/points.npy": 0, "machine/weights.npy": 0}, self._one_of([None, 0, 2, 10, 300]))

    def _other_machine(self) -> None:
        """Many more outputs or features of one point or all, and stages that fit any machine."""
        machine = self.schema.get("machine")
        if not isinstance(machine, dict) or "machine/points.npy" not in self.arrays:  # a sum has members
            return
        if self.rng.random() < 0.7:
            self._along({"machine/points.npy": 0, "machine/weights.npy": 0}, None)
        axes = self._one_of([_OUTPUT_AXES, _FEATURE_AXES])
        self._along(
            axes, self._one_of([0, 2, 50, 1000] if len(self.arrays.get("machine/points.npy", "")) > 1 else [50, 20_000])
        )
        if self.rng.random() < 0.5:
            self._drop_origin()
        self.arrays = {name: array for name, array in self.arrays.items() if name in _KEPT}
        machine |= {"rule": {"name": "value", "tolerance": 0.0, "flat": False}, "feature_names": None}
        stages = self._one_of([["dense"], ["fast_stopping", "dense"]])
        self.schema["stages"] = [_plain_stage(name) for name in stages]
        self.schema |= {"guarantee": {"name": "exact"}, "arrays": {}}

    def _more_cells(self) -> None:
        """More cells of a nearest stage, or none."""
        folders = sorted(name.removesuffix("/centers.npy") for name in self.arrays if name.endswith("/centers.npy"))
        if folders:
            folder = self._one_of(folders)
            axes = {f"{folder}/{name}.npy": axis for name, axis in _CELLS.items()}
            self._along(axes, self._one_of([None, 0, 7, 2000]))

    def _drop_origin(self) -> None:
        """No origin, or that of another plan, arrays and all."""
        self._drop("origin/")
        self.schema["origin"] = None
        other = _genuine_one(self.rng)
        if other.schema["origin"] is not None and self.rng.random() < 0.5:
            self.schema["origin"] = copy.deepcopy(other.schema["origin"])
            self.arrays |= {name: _unpacked(other, name) for name in other.arrays if name.startswith("origin/")}

    def _drop(self, folder: str) -> None:
        self.arrays = {name: array for name, array in self.arrays.items() if not name.startswith(folder)}

    def _other_origin(self) -> None:
        """None, that of another plan, or one of no point, of one, or of many more than the machine's."""
        if self.rng.random() < 0.3:
            self._drop_origin()
        self._along({"origin/points.npy": 0, "origin/weights.npy": 0}, self._one_of([None, 0, 2, 300, 5000]))

    def _other_deviation(self) -> None:
        """An origin that may be farther off, or nearer, or in terms of another power."""
        origin = self.schema.get("origin")
        if not isinstance(origin, dict):
            return
        for _ in range(int(self.rng.integers(1, 4))):
            name = self._one_of(["gain", "start", "degree", "degree", "constant", "slope"])
            if name in ("gain", "start"):
                origin[name] = self._one_of(FLOATS)
            elif name == "degree":
                origin[name] = self._one_of(INTEGERS)
            elif (member := f"origin/{name}.npy") in self.arrays:
                self.arrays[member] = np.full_like(self.arrays[member], self._one_of(FLOATS))

    def _input_maps(self) -> list[tuple[dict[str, Any], str]]:
        """What may have an input map, and the folder of its arrays."""
        parts = [(self.schema.get(name), name) for name in ("machine", "origin")]
        return [(part, name) for part, name in parts if isinstance(part, dict)]

    def _other_steps(self) -> None:
        """Another way of scaling, of a few steps or of hundreds, by numbers that need not be the map's."""
        part, folder = self._one_of(self._input_maps() or [({}, "")])
        input_map, scale = part.get("input_map"), self.arrays.get(f"{folder}/scale.npy")
        if not isinstance(input_map, dict) or scale is None or scale.dtype != np.float64:
            return
        self._drop(f"{folder}/steps/")
        names = (*MAP_STEPS, *MAP_STEPS, *MAP_STEPS, self._one_of(TEXTS))
        input_map["steps"] = []
        for number in range(int(self._one_of([0, 1, 2, 4, 4, 300, 990]))):
            member = f"{folder}/steps/{number}.npy"
            input_map["steps"].append({"name": self._one_of(names if number < 4 else MAP_STEPS), "values": member})
            with np.errstate(all="ignore"):
                self.arrays[member] = scale * self._one_of([1.0, 1.0, 1e-308, 0.0, -1e300])

    def _other_input_map(self) -> None:
        """No input map of the machine, or of its origin, or that of the one for the other."""
        part, folder = self._one_of(self._input_maps() or [({}, "")])
        for name in ("center", "scale", "steps"):
            self._drop(f"{folder}/{name}")
        part["input_map"] = None
        if self.rng.random() < 0.5 and "machine/points.npy" in self.arrays and self.arrays["machine/points.npy"].ndim:
            d = self.arrays["machine/points.npy"].shape[-1]
            for name in ("center", "scale"):
                self.arrays[f"{folder}/{name}.npy"] = np.full(d, self._one_of(FLOATS))
            center, scale = f"{folder}/center.npy", f"{folder}/scale.npy"
            part["input_map"] = {"center": center, "scale": scale, "steps": []}

    def _other_preparation(self) -> None:
        """Steps dropped, repeated, in another order or elsewhere; rows of other widths; matrices of other shapes."""
        machine = self.schema.get("machine")
        described = machine.get("preparation") if isinstance(machine, dict) else None
        if not isinstance(described, dict) or not isinstance(described.get("steps"), list):
            return
        steps = described["steps"]
        match int(self.rng.integers(6)):
            case 0:
                described["columns"] = self._one_of([*INTEGERS, FEATURES, 1, 1 << 24])
            case 1 if steps:
                steps.pop(int(self.rng.integers(len(steps))))
            case 2 if steps:
                steps[self.rng.integers(len(steps))]["at"] = self._one_of([*INTEGERS, 1, 2])
            case 3:
                steps += [{"name": "clip", "at": 0, "low": 0.0, "high": 1.0, "width": 1}] * self._one_of([1, 99, 2000])
            case 4:
                self.rng.shuffle(steps)
            case _:
                width = self._one_of([1, 1 << 10, 1 << 20, 1 << 24])
                step = {"name": "columns", "at": 0, "width": width, "which": "machine/preparation/which.npy"}
                described |= {"columns": width, "steps": [step]}
                self._drop("machine/preparation/")
                self.arrays["machine/preparation/which.npy"] = np.arange(FEATURES, dtype=np.int64) % width


_OUTPUT_AXES = {
    "machine/weights.npy": 1,
    "machine/bias.npy": 0,
    "origin/weights.npy": 1,
    "origin/bias.npy": 0,
    "origin/constant.npy": 0,
    "origin/slope.npy": 0,
}
_FEATURE_AXES = {
    "machine/points.npy": 1,
    "origin/points.npy": 1,
    **{f"{part}/{name}.npy": 0 for part in ("machine", "origin") for name in ("center", "scale", "steps/0", "steps/1")},
}
_KEPT = _OUTPUT_AXES.keys() | _FEATURE_AXES.keys()
_CELLS = {"centers": 0, "orders": 0, "middle": 1, "half": 1}


def _plain_stage(name: str) -> dict[str, Any]:
    """A certified stage without data of its own, as the schema has it."""
    return {"name": name, "certified": True, "caution": 1.0, "numbers": {}, "arrays": {}}


def _repeated(array: Array, times: int, axis: int) -> Array:
    """Along an axis, unless that makes a file too large to try many of."""
    return np.repeat(array, times, axis) if array.size * times <= _MOST_NUMBERS else array


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every spot in a JSON value: what holds it, and its key there; of long lists the beginning."""
    keys = list(value) if isinstance(value, dict) else range(min(len(value), 50)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]

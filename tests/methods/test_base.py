"""The protocol that every stage keeps, with every rule, natively and in NumPy."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest

from dormie.machine import Affine, Floats, Machine, MachineSum
from dormie.machine.kernels import RBF
from dormie.machine.rules import Argmax, MostProbable, OneVsOneVote, Probability, Rule, Sign, Value, ValueRule
from dormie.machine.rules.probability import Calibrated, Mean, Platt
from dormie.methods import METHODS
from dormie.methods.base import CalibratedStage, CertifiedStage, Stage, middle_of
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense, Float32Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.parts import CalibratedParts, Parts
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.refinement import Refinement
from dormie.methods.regions import Regions
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from dormie.methods.tree import greedy
from dormie.methods.tree.stage import TreeWalk
from dormie.numerics import backend
from dormie.numerics.evaluate import full_sum_of
from tests.methods.toy import FarAway
from tests.oracles import full_sum as naive
from tests.properties import checks

POINTS, FEATURES = 600, 3
_MAP = Calibrated(OneVsOneVote(np.arange(3)), (Platt(-2.0, 0.5), Platt(-1.0, 0.0), Platt(-3.0, 1.0)))
RULES: dict[str, Rule] = {
    "sign": Sign(np.array([-1, 1])),
    "vote": OneVsOneVote(np.arange(3)),
    "argmax": Argmax(np.arange(3)),
    "value": Value(0.5, flat=False),
    "most probable": MostProbable(np.arange(3), _MAP),
    "probability": Probability(_MAP, 0.2),
}
SUMS: dict[str, Rule] = {
    "most probable of a sum": MostProbable(np.arange(3), Mean((_MAP, _MAP))),
    "probability of a sum": Probability(Mean((_MAP, _MAP)), 0.2),
    "added values": Value(0.5, flat=False),
}


def _rows(count: int) -> Floats:
    """Ordinary rows, and one each that is zero, far off, and as far off as float64 goes."""
    rows = np.random.default_rng(4).normal(size=(count, FEATURES)) * 1.5
    rows[1], rows[2], rows[3] = 0, 1e4, 1e300
    return np.asarray(rows)


ROWS, FITTING = _rows(14), _rows(200)[4:]


@cache
def _machine(rule: str) -> Machine:
    if rule in SUMS:
        return _sum(SUMS[rule])
    rng = np.random.default_rng(3)
    outputs = 1 if rule == "sign" else 3
    input_map = Affine(rng.normal(size=FEATURES), rng.uniform(1, 2, size=FEATURES))
    points, weights = rng.normal(size=(POINTS, FEATURES)), rng.normal(size=(POINTS, outputs))
    return Machine(RBF(0.1), points, weights, rng.normal(size=outputs), RULES[rule], input_map)


def _sum(rule: Rule) -> MachineSum:
    """Two machines with half of the points each; values are added."""
    whole = _machine("vote")
    members = [
        Machine(RBF(gamma), whole.points[half], whole.weights[half] / 4, whole.bias, Value(flat=False), whole.input_map)
        for gamma, half in ((0.1, slice(0, POINTS // 2)), (0.05, slice(POINTS // 2, POINTS)))
    ]
    return MachineSum(members, rule, factors=(1.5, -0.5) if isinstance(rule, Value) else None)


@cache
def _exact(machine: Machine) -> list[list[Any]]:
    """The real outputs."""
    if not isinstance(machine, MachineSum):
        return naive.exact_outputs(machine, ROWS)
    first, second = (_exact(member) for member in machine.members)
    if machine.factors is None:
        return [[*one, *other] for one, other in zip(first, second, strict=True)]
    a, b = machine.factors
    return [[a * u + b * v for u, v in zip(*row, strict=True)] for row in zip(first, second, strict=True)]


def _calibrated(machine: Machine, sizes: list[int]) -> CalibratedReducedSet:
    fitted = ReducedSet.project(machine, machine.points[:40], sizes)
    return CalibratedReducedSet(machine, fitted.levels, fitted.half_widths / 10)


def _regions(machine: Machine) -> Regions:
    stages = [Geometry.build(machine, machine.points[first : first + 37]) for first in (0, 5, 17)]
    return Regions(machine, machine.points[:3].copy(), stages)


def _champion(machine: Machine) -> Champion:
    return Champion(machine, ReducedSet.project(machine, machine.points[:40], [40]).levels)


def _open_pairs(machine: Machine) -> OpenPairs:
    guess = ReducedSet.project(machine, machine.points[:40], [40])
    return OpenPairs(machine, guess.levels, guess.half_widths / 10)


def _scores(machine: Machine) -> Scores:
    classes = len(machine.rule.classes)  # type: ignore[attr-defined]
    weights = np.random.default_rng(0).normal(size=(40, classes))
    return Scores(machine, ScoreMachine(machine.points[:40].copy(), weights, np.zeros(classes)), 0.5)


def _refinement(machine: Machine) -> Refinement:
    return Refinement(machine, ReducedSet.project(machine, machine.points[:40], [10, 40]).levels, 0.5, 0.01)


def _members(machine: Machine) -> tuple[Machine, ...]:
    assert isinstance(machine, MachineSum)
    return machine.members


def _parts(make: Callable[[Machine], Stage]) -> Callable[[Machine], Parts]:
    """The stage with one such stage for each member."""
    return lambda machine: Parts(machine, [make(member) for member in _members(machine)])


def _tree(machine: Machine) -> TreeWalk:
    return TreeWalk.calibrated(machine, greedy(machine, FITTING, height=4), FITTING)


CLASSES = ("sign", "vote", "argmax")
# What makes each stage, the protocol it keeps, and the rules it serves.
STAGES: dict[str, tuple[Callable[[Machine], Stage], type[Stage], tuple[str, ...]]] = {
    "champion": (_champion, CertifiedStage, ("vote",)),
    "dense": (Dense, CertifiedStage, (*RULES, *SUMS)),
    "dense in float32": (Float32Dense, Stage, CLASSES),
    "fast_stopping": (FastStopping, CertifiedStage, tuple(RULES)),
    "geometry": (lambda made: Geometry.build(made, made.points[:37]), CertifiedStage, tuple(RULES)),
    "regions": (_regions, CertifiedStage, CLASSES),
    "reduced_set": (
        lambda made: ReducedSet.project(made, made.points[:40], [10, 25, 40]),
        CertifiedStage,
        tuple(RULES),
    ),
    "calibrated reduced_set": (lambda made: _calibrated(made, [10, 40]), CalibratedStage, tuple(RULES)),
    "calibrated reduced_set of one level": (lambda made: _calibrated(made, [40]), CalibratedStage, tuple(RULES)),
    "linear_filter": (lambda made: LinearFilter.fit(made, FITTING), CalibratedStage, CLASSES),
    "nearest by query": (lambda made: Nearest.fit(made, FITTING), CalibratedStage, CLASSES),
    "nearest by cell": (lambda made: Nearest.fit(made, FITTING, form="cells", cells=3), CalibratedStage, CLASSES),
    "open_pairs": (_open_pairs, CalibratedStage, ("vote",)),
    "parts, full sums": (Parts, CertifiedStage, tuple(SUMS)),
    "parts, fast_stopping": (_parts(FastStopping), CertifiedStage, tuple(SUMS)),
    "parts, geometry": (
        _parts(lambda made: Geometry.build(made, made.points[:40])),
        CertifiedStage,
        tuple(SUMS),
    ),
    "parts, reduced_set": (
        _parts(lambda made: ReducedSet.project(made, made.points[:40], [10, 40])),
        CertifiedStage,
        tuple(SUMS),
    ),
    "calibrated parts": (
        lambda made: CalibratedParts(made, [_calibrated(member, [40]) for member in _members(made)]),
        CalibratedStage,
        tuple(SUMS),
    ),
    "refinement": (_refinement, CalibratedStage, ("value",)),
    "scores": (_scores, CalibratedStage, ("vote", "argmax")),
    "tree": (_tree, CalibratedStage, (*CLASSES, "value")),
    "far_away": (FarAway.fit, CertifiedStage, (*CLASSES, "value")),
}


@cache
def _made(name: str, rule: str, native: bool) -> Stage:
    del native  # only tells the two apart
    return STAGES[name][0](_machine(rule))


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A stage; what the test makes is made natively, or in NumPy, as the stage is."""
    native = request.param[-1]
    overflow = np.errstate(over="ignore", invalid="ignore")  # NumPy tells of it
    with nullcontext() if native else backend.numpy_only(), overflow:
        yield _made(*request.param)


def _every(protocol: Any, among: tuple[str, ...] = (*RULES, *SUMS)) -> pytest.MarkDecorator:
    """Runs a test with all stages of a protocol, with all rules they serve among these, natively and in NumPy."""
    cases = [
        pytest.param((name, rule, native), id=f"{name}, {rule}, {'native' if native else 'numpy'}")
        for name, (_, kept, rules) in STAGES.items()
        for rule in rules
        for native in (True, False)
        if issubclass(kept, protocol) and rule in among
    ]
    return pytest.mark.parametrize("stage", cases, indirect=True)


def _assert_same(one: Any, other: Any) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_every_stage_of_every_method_is_here() -> None:
    made = {type(_made(name, rules[0], True)) for name, (_, _, rules) in STAGES.items()}
    assert {stage for method in METHODS.values() for stage in method.stages} <= made


@_every(Stage)
def test_decisions_and_estimates_have_one_shape(stage: Stage) -> None:
    outputs, rule = stage.machine.n_outputs, stage.machine.rule
    is_value = isinstance(rule, ValueRule)
    columns = rule.n_values(outputs) if isinstance(rule, ValueRule) else 0
    for rows in (ROWS, ROWS[:1], ROWS[:0], np.clip(ROWS, -1e30, 1e30).astype(np.float32), checks.csr(ROWS)):
        n, found, estimate = rows.shape[0], stage.decide(rows), stage.estimate(rows)
        assert found.answers.shape == ((n, columns) if is_value else (n,))
        assert found.answers.dtype == (np.float64 if is_value else np.int64)
        if found.settled is not None:
            assert (found.settled.shape, found.settled.dtype.name) == ((n,), "bool")
        if not isinstance(found.evaluations, int):
            assert (found.evaluations.shape, found.evaluations.dtype.name) == ((n,), "int64")
        assert np.min(found.evaluations, initial=0) >= 0
        assert (estimate.shape, estimate.dtype.name) == ((n, outputs), "float64")
        assert np.isfinite(estimate).all()


@_every(Stage)
def test_a_row_that_is_not_finite_is_named_by_every_call(stage: Stage) -> None:
    rows = ROWS.copy()
    rows[5, 1] = np.nan
    calls: list[Callable[[Any], Any]] = [stage.decide, stage.estimate]
    if isinstance(stage, CertifiedStage):
        calls += [lambda rows: stage.interval(rows, 0), lambda rows: stage.interval(rows, POINTS)]
    for call in calls:
        with pytest.raises(ValueError, match="row 5, column 1 is NaN"):
            call(rows)


@_every(Stage)
def test_a_stage_comes_back_from_its_state_and_from_a_pickle(stage: Stage) -> None:
    for again in (type(stage).restore(stage.machine, *stage.state()), pickle.loads(pickle.dumps(stage))):
        assert (type(again), str(again)) == (type(stage), str(stage))
        _assert_same(again.decide(ROWS), stage.decide(ROWS))
        np.testing.assert_array_equal(again.estimate(ROWS), stage.estimate(ROWS))


@_every(CertifiedStage)
def test_intervals_contain_the_real_outputs_and_estimates_lie_inside(stage: CertifiedStage) -> None:
    for budget in {*stage.budgets[::6], *stage.budgets[-1:], POINTS, 10**9}:
        low, high = stage.interval(ROWS, budget)
        assert low.shape == high.shape == (len(ROWS), stage.machine.n_outputs)
        assert low.dtype == high.dtype == np.float64
        assert (low <= high).all()
        assert np.isfinite(low[:3]).all() == bool(stage.budgets)
        assert np.isfinite(high[:3]).all() == bool(stage.budgets)
        assert naive.between(low, high, _exact(stage.machine)).all()
    estimate = stage.estimate(ROWS)
    assert ((low <= estimate) & (estimate <= high)).all()


@_every(CertifiedStage)
def test_intervals_change_at_budgets_alone(stage: CertifiedStage) -> None:
    first = stage.budgets[0] if stage.budgets else POINTS + 9
    for budget in (-1, 0, first - 1):
        low, high = stage.interval(ROWS, budget)
        assert (low == -np.inf).all()
        assert (high == np.inf).all()
    # At the number of points, fast stopping has the full sum: the dense stage's, so none of its own budgets.
    for budget in range(first, POINTS if isinstance(stage, FastStopping) else POINTS + 9, 7):
        largest = max(each for each in stage.budgets if each <= budget)
        _assert_same(stage.interval(ROWS, budget), stage.interval(ROWS, largest))


@_every(CertifiedStage)
def test_steps_are_the_intervals_of_one_row(stage: CertifiedStage) -> None:
    """But for the last bits: one at a time, terms may be multiplied and added in one rounding or in two."""
    intervals = np.array([stage.interval(ROWS, budget) for budget in stage.budgets])
    intervals = intervals.reshape(len(stage.budgets), 2, len(ROWS), stage.machine.n_outputs)
    for i, row in enumerate(ROWS):
        steps = [*stage.steps(row[None])]
        places = [stage.budgets.index(budget) for budget, _, _ in steps]
        assert places == sorted(set(places))
        assert not stage.budgets or places[-1] >= 0.85 * (len(stage.budgets) - 1)
        ends = np.array([step[1:] for step in steps]).reshape(intervals[places, :, i].shape)
        np.testing.assert_allclose(ends, intervals[places, :, i], rtol=1e-6, atol=1e-9)


@_every(Stage)
def test_a_caution_changes_only_stages_that_have_one(stage: Stage) -> None:
    assert ("caution 3" in stage.described(3.0)) == stage.has_caution == isinstance(stage, CalibratedStage)
    if not stage.has_caution:
        _assert_same(stage.decide(ROWS, 3.0), stage.decide(ROWS))
        return
    found = [stage.decide(FITTING, caution) for caution in (0.0, 0.5, 1.0, 2.0, 1e9)]
    shares = [np.mean(np.asarray(each.settled)) for each in found]
    spent = [np.mean(each.evaluations) for each in found]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1] or spent[0] < spent[-1]  # what is in doubt is left open, or summed in full
    _assert_same(stage.decide(FITTING, 1.0), stage.decide(FITTING))


@_every(CalibratedStage)
def test_cautions_pack_nothing_again(stage: CalibratedStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "choose", lambda *_: pytest.fail("another core is made"))
    for caution in np.linspace(0.1, 3, 10):
        assert len(stage.decide(ROWS, caution).answers) == len(ROWS)


@_every(CalibratedStage)
@pytest.mark.parametrize("caution", [-1, np.nan, np.inf, "2", None])
def test_a_caution_that_half_widths_cannot_be_scaled_by_is_refused(stage: CalibratedStage, caution: Any) -> None:
    with pytest.raises(ValueError, match="caution must be a finite number of at least 0"):
        stage.decide(ROWS, caution)


@_every(CalibratedStage)
def test_settled_answers_are_those_of_the_estimate_where_a_stage_says_so(stage: CalibratedStage) -> None:
    found, by_estimate = stage.decide(FITTING, 0.0), stage.machine.rule.answer(stage.estimate(FITTING))
    settled = np.asarray(found.settled)
    assert settled.any()
    if stage.answers_by_estimate:
        np.testing.assert_array_equal(found.answers[settled], by_estimate[settled])


def test_the_middle_of_what_is_not_known_is_zero() -> None:
    low, high = np.array([[-np.inf, 1.0, -1e308, -np.inf]]), np.array([[np.inf, 2.0, 1.5e308, 3.0]])
    assert middle_of(low, high).tolist() == [[0.0, 1.5, 2.5e307, 0.0]]


@_every(CertifiedStage, among=("most probable", "probability", "most probable of a sum", "probability of a sum"))
def test_probabilities_are_settled_within_their_tolerance_and_labels_for_good(stage: Stage) -> None:
    """By rules that the native core does not know."""
    rule, rows = stage.machine.rule, FITTING[:100]
    assert isinstance(rule, MostProbable | Probability)
    found, outputs = stage.decide(rows), full_sum_of(stage.machine).outputs(rows)
    settled = np.broadcast_to(True if found.settled is None else found.settled, len(rows))
    assert settled.any()
    if isinstance(rule, MostProbable):
        np.testing.assert_array_equal(found.answers[settled], rule.answer(outputs)[settled])
    else:
        assert np.abs(found.answers - rule.values(outputs))[settled].max() <= rule.tolerance + 1e-9
        np.testing.assert_allclose(found.answers[settled].sum(axis=1), 1.0, rtol=1e-12)

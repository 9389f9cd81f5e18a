"""Files of every protocol that was ever released still load, and give what they gave."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dormie
from dormie.machine.rules import OneVsOneVote, Probability
from dormie.methods import METHODS
from dormie.numerics import reference
from dormie.plan.file import archive, load, save
from dormie.plan.file.document import PROTOCOL
from dormie.plan.file.parse import parse
from tests import ROOT

GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(params=range(1, PROTOCOL + 1))
def name(request: pytest.FixtureRequest) -> str:
    return f"protocol-{request.param}"


def test_every_field_is_as_it_was(name: str) -> None:
    plan, expected = load(GOLDEN / f"{name}.dormie"), json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    machine, rule, source = plan.machine, plan.machine.rule, plan.source
    assert repr(machine.kernel) == expected["kernel"]
    for array in ("points", "weights", "bias"):
        assert getattr(machine, array).tolist() == expected[array]
    assert np.signbit(machine.points[4, 0])
    assert isinstance(rule, OneVsOneVote)
    assert [type(rule).__name__, rule.break_ties, rule.shape] == expected["rule"]
    assert rule.classes.tolist() == expected["classes"]
    assert rule.classes.dtype.kind == "U"
    assert machine.input_map is not None
    assert machine.input_map.center.tolist() == expected["center"]
    assert machine.input_map.scale.tolist() == expected["scale"]
    assert machine.feature_names == tuple(expected["feature_names"])
    assert [stage.name for stage in plan.stages] == expected["stages"]
    assert [stage.certified for stage in plan.stages] == expected.get("certified", [True])
    assert list(plan.cascade.cautions) == expected.get("cautions", [1.0])
    # Risks had no tolerance then.
    assert repr(plan.guarantee).replace(", tolerance=None", "") == expected["guarantee"]
    assert [source.description, source.points, source.versions] == expected["source"]
    assert plan.rewrites == tuple(expected["rewrites"])


def test_what_decides_at_the_decision_boundary_is_as_it_was(name: str) -> None:
    """Protocol 1 knew nothing of it: the machine is its own source."""
    plan, expected = load(GOLDEN / f"{name}.dormie"), json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    assert plan.machine.blas_products == expected.get("blas_products", False)
    if expected.get("origin") is None:
        assert plan.machine.origin is None
        return
    assert plan.machine.origin is not None
    source, deviation, wanted = plan.machine.origin.machine, plan.machine.origin.deviation, expected["origin"]
    assert (source.points.tolist(), source.weights.tolist()) == (wanted["points"], wanted["weights"])
    assert source.blas_products == plan.machine.blas_products
    assert source.input_map is not None
    assert [[step, values.tolist()] for step, values in source.input_map.steps] == wanted["steps"]
    assert [deviation.constant.tolist(), deviation.slope.tolist()] == wanted["deviation"]
    assert [deviation.gain, deviation.start, deviation.degree] == wanted["base"]


def test_outputs_and_labels_are_as_they_were(name: str) -> None:
    machine = load(GOLDEN / f"{name}.dormie").machine
    expected = json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    outputs = reference.outputs(machine, np.array(expected["rows"]))
    np.testing.assert_allclose(outputs, expected["outputs"], rtol=1e-13, atol=1e-14)
    assert machine.rule.labels(machine.rule.answer(outputs)).tolist() == expected["labels"]
    assert len(set(expected["labels"])) == 3


def test_probabilities_are_as_they_were(name: str) -> None:
    """Protocols before the fourth knew none."""
    plan, expected = load(GOLDEN / f"{name}.dormie"), json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    if "probabilities" not in expected:
        assert plan.values is None
        return
    assert plan.values is not None
    rule = plan.values.machine.rule
    assert isinstance(rule, Probability)
    assert (repr(rule.map), repr(plan.values.guarantee)) == (expected["map"], expected["guarantee of probabilities"])
    found = rule.values(reference.outputs(plan.machine, np.array(expected["rows"])))
    np.testing.assert_allclose(found, expected["probabilities"], rtol=1e-13, atol=1e-14)


def test_the_bytes_of_this_protocol_have_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = GOLDEN / f"protocol-{PROTOCOL}.dormie"
    version = parse(archive.read(golden)).schema["dormie"]
    monkeypatch.setattr(import_module("dormie.plan.file.describe"), "__version__", version)
    save(load(golden), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == golden.read_bytes()


@pytest.mark.parametrize("name", ["protocol-2-stages", "protocol-3-stages", "protocol-4-stages"])
def test_a_plan_with_every_stage_answers_as_it_did(name: str) -> None:
    """The first was written by dormie 0.1.0 before its source was moved; it has trials in the words of then."""
    predictor = dormie.load(GOLDEN / f"{name}.dormie")
    expected = json.loads((GOLDEN / f"{name}.json").read_text("ascii"))
    rows = np.array(expected["rows"])
    assert [stage.name for stage in predictor.plan.stages] == expected["stages"]
    came_later = {"fake", "champion", "open_pairs", "parts", "refinement", "regions", "scores"}
    assert set(expected["stages"]) == METHODS.keys() - came_later
    assert predictor.predict(rows).tolist() == expected["labels"]
    trace = predictor.trace(rows)
    assert trace.stage.tolist() == expected["stage"]
    assert trace.evaluations.tolist() == expected["evaluations"]
    np.testing.assert_allclose(predictor.decision_function(rows), expected["outputs"], rtol=1e-12, atol=1e-13)
    [chosen] = [line for line in predictor.explain().splitlines() if line.endswith("<- chosen")]
    assert chosen.strip().startswith("linear_filter -> tree")

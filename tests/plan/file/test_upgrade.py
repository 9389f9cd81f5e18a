"""Documents of earlier protocols: upgraded where they keep to theirs, refused where they do not."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from dormie.errors import PlanFileError
from dormie.plan.file import archive
from dormie.plan.file.audit import audit
from dormie.plan.file.construct import construct
from dormie.plan.file.document import Document
from dormie.plan.file.parse import parse
from dormie.plan.file.upgrade import upgrade
from tests import ROOT

_GOLDEN = parse(archive.read(ROOT / "tests" / "golden" / "protocol-2-stages.dormie"))  # every stage, and a risk
_PLACE = {stage["name"]: number for number, stage in enumerate(_GOLDEN.schema["stages"])}  # the last of each name


def _changed(change: Callable[[dict[str, Any]], object]) -> Document:
    schema = copy.deepcopy(_GOLDEN.schema)
    change(schema)
    return Document(schema, _GOLDEN.arrays)


def _numbers(stage: str, **numbers: Any) -> Callable[[dict[str, Any]], object]:
    return lambda schema: schema["stages"][_PLACE[stage]]["numbers"].update(numbers)


def test_cautions_and_ranks_come_through() -> None:
    document = upgrade(_GOLDEN)
    assert document.schema["protocol"] == 4
    assert document.schema["guarantee"]["evidence"]["rank"] == 17
    cautions = {stage["name"]: stage["caution"] for stage in document.schema["stages"]}
    assert (cautions["linear_filter"], cautions["tree"], cautions["reduced_set"], cautions["dense"]) == (
        3.0,
        6.0,
        1.0,
        1.0,
    )


@pytest.mark.parametrize(("caution", "rank"), [(0.0, 1), (0.35, 1), (2.5, 3), (1e300, 2**63 - 1)], ids=str)
def test_a_rank_is_a_whole_number_now(caution: float, rank: int) -> None:
    document = _changed(lambda schema: schema["guarantee"]["evidence"].update(caution=caution))
    assert upgrade(document).schema["guarantee"]["evidence"]["rank"] == rank


def test_a_whole_number_was_a_caution_too() -> None:
    document = upgrade(_changed(_numbers("linear_filter", caution=3)))
    audit(document)
    assert construct(document).cascade.cautions[0] == 3.0


OFF = {
    "a caution of 0": (_numbers("reduced_set", caution=0.0), "caution must be positive"),
    "a negative caution": (_numbers("reduced_set", caution=-1.0), "caution must be positive"),
    "a caution of another type": (_numbers("tree", caution="1"), "lacks caution, or has one of another type"),
    "no word on the certificate": (
        lambda schema: schema["stages"][_PLACE["reduced_set"]]["numbers"].pop("certified"),
        "lacks certified",
    ),
    "a dense stage said to be certified": (_numbers("dense", certified=True), "certified must be false, or left out"),
    "half_widths": (
        lambda schema: schema["stages"][_PLACE["reduced_set"]]["arrays"].update(half_widths="stages/0/bias.npy"),
        "'half_widths', which protocol 2 does not know",
    ),
    "a caution beside the numbers": (
        lambda schema: schema["stages"][0].update(caution=1.0),
        "'caution', which protocol 2",
    ),
    "a guess": (lambda schema: schema.update(guess=schema["stages"][0]), "'guess', which protocol 2 does not know"),
    "a rank": (lambda schema: schema["guarantee"]["evidence"].update(rank=1), "'rank', which protocol 2 does not know"),
    "evidence without a rank": (
        lambda schema: schema["guarantee"]["evidence"].pop("caution"),
        "caution must be a number of at least 0",
    ),
}


@pytest.mark.parametrize("name", OFF)
def test_what_protocol_2_does_not_know_is_refused(name: str) -> None:
    change, reason = OFF[name]
    with pytest.raises(PlanFileError, match=re.escape(reason)):
        upgrade(_changed(change))

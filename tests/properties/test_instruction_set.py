"""Every instruction set that the native core was compiled for gives right answers, whatever the method."""

from __future__ import annotations

import pytest

from dormie.methods import METHODS
from dormie.numerics import backend as native
from tests import fresh_process


@pytest.mark.parametrize("isa", native.info().get("instruction_sets", []))
def test_every_instruction_set_passes_the_checks_of_every_method(isa: str) -> None:
    """Methods provide them: `check_instruction_set` in tests/methods/*/test_stage.py."""
    found = fresh_process.printed(
        "from tests.properties.instruction_set import check_all; check_all()", DORMIE_ISA=isa, DORMIE_THREADS="1"
    )
    assert found.split() == [isa, *METHODS]


def test_an_unknown_instruction_set_is_named() -> None:
    done = fresh_process.run("import dormie; dormie.build_info()", DORMIE_ISA="v9")
    assert done.returncode != 0
    assert "DORMIE_ISA=v9 is not an instruction set of this build that this processor has" in done.stderr

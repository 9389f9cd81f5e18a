from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from dormie.methods import METHODS
from tests.plan.file.plans import FakeMethod

# A busy computer is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True, scope="package")
def _fake_stage() -> Iterator[None]:
    """Plan files may speak of the fake stage throughout these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "fake", FakeMethod())
        yield

"""The way into the native core: which threads it takes, and which instruction set."""

from __future__ import annotations

import pytest

from dormie.numerics.backend import threads_for
from tests.fresh_process import printed


@pytest.mark.parametrize("wish", ["", "1", "3", " 2 ", "8"])
def test_as_many_threads_as_wished_for_up_to_two_a_core(wish: str) -> None:
    assert threads_for(wish, 4) == int(wish or 4)


@pytest.mark.parametrize("wish", ["9", "1000", "2147483648", "9" * 40])
def test_too_many_threads_are_warned_of_and_cut(wish: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"DORMIE_THREADS={wish} is more than 2 for each of 4 cores; using 8"):
        assert threads_for(wish, 4) == 8


@pytest.mark.parametrize("wish", ["0", "-1", "two", "1.5", "²", "9" * 5000])
def test_a_wish_for_threads_that_is_no_number_is_warned_of(wish: str) -> None:
    with pytest.warns(
        RuntimeWarning, match="DORMIE_THREADS must be a whole number of at least 1, got .*; using 4, one"
    ):
        assert threads_for(wish, 4) == 4


def test_a_wish_for_threads_is_read_and_warned_of_at_import() -> None:
    code = "import warnings; warnings.simplefilter('ignore'); import dormie; print(dormie.build_info()['threads'])"
    assert printed(code, DORMIE_THREADS="1").strip() == "1"
    assert int(printed(code, DORMIE_THREADS="two")) >= 1
    warned = (
        "import warnings; warnings.simplefilter('error')\ntry:\n import dormie\nexcept RuntimeWarning as w: print(w)"
    )
    assert "got 'two'" in printed(warned, DORMIE_THREADS="two")

"""Memory that runs out is an error, never an abort, whatever has threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT


@pytest.mark.clean_process
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit a process's memory so")
@pytest.mark.parametrize("arguments", [("1024", "3"), pytest.param((), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_call_that_runs_out_of_memory_is_an_error_or_right(arguments: tuple[str, ...]) -> None:
    """Under a few limits for each stage, or under many."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.slow.out_of_memory", *arguments],
        cwd=ROOT,
        env=os.environ | {"DORMIE_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out of memory" in done.stdout  # some limits were low enough
    assert "answered" in done.stdout

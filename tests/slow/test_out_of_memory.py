"""Memory that runs out is an error, never an abort, whatever has threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT


@pytest.mark.clean_process
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit a process's memory so")
def test_a_call_that_runs_out_of_memory_is_an_error_or_right() -> None:
    """A few limits for each stage; `python -m tests.slow.out_of_memory` tries many more."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.slow.out_of_memory", "512", "3"],
        cwd=ROOT,
        env=os.environ | {"DORMIE_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out of memory" in done.stdout  # some limits were low enough
    assert "answered" in done.stdout

"""Python code in a process of its own: for what is decided at import, and for what must not be imported."""

from __future__ import annotations

import os
import subprocess
import sys

from tests import ROOT


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The process, ended; its exit status may tell of a failure."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def printed(code: str, **environment: str) -> str:
    """What the code prints; it must not fail."""
    done = run(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout

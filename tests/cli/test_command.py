"""The command as a process: an interrupt, a terminal, a pipe, and the shell's completion."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import files

COMMAND = str(Path(sys.executable).with_name("dormie"))

pytestmark = [
    pytest.mark.clean_process,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals are others there"),
]


def _process(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen([COMMAND, *arguments], cwd=folder, text=True, **pipes)


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "big.csv").write_text("left,right\n" + "0.5,0.25\n" * 8_000_000)
    (tmp_path / "out.csv").write_text("older")
    before = sorted(tmp_path.iterdir())
    process = _process(tmp_path, "predict", "svm.dormie", "big.csv", "-o", "out.csv")
    while sorted(tmp_path.iterdir()) == before and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "dormie: interrupted\n")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "out.csv").read_text() == "older"


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    import pty  # here: Windows has none

    files(tmp_path)
    arguments = ("predict", "svm.dormie", "rows.csv", "-o", "out.csv")
    assert _process(tmp_path, *arguments).communicate() == ("", "")
    ours, theirs = pty.openpty()
    process = _process(tmp_path, *arguments, stderr=theirs)
    os.close(theirs)
    assert process.communicate()[0] == ""
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "dormie: 600 rows" in shown
    assert shown.endswith("\r\x1b[2K")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("dormie ins", "inspect"), ("dormie predict --pr", "--proba"), ("dormie compile --effort q", "quick")],
)
def test_the_shell_completes(tmp_path: Path, typed: str, completed: str) -> None:
    asked = {"_DORMIE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    out, _ = _process(tmp_path, env={**os.environ, **asked}).communicate()
    assert out.split() == [completed]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_standard_output_that_is_full_is_one_line(tmp_path: Path) -> None:
    files(tmp_path)
    with open("/dev/full", "w") as full:
        process = _process(tmp_path, "inspect", "svm.dormie", stdout=full)
        _, err = process.communicate()
    assert process.returncode == 5
    assert err.startswith("dormie: ")
    assert "Traceback" not in err

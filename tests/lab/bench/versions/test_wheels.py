"""What is built is what git has of a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dormie.lab.bench.versions import installed
from dormie.lab.bench.versions.wheels import extracted

_GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One file, in two commits, and a change of it that was not committed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run([*_GIT, "init", "--quiet"], cwd=folder, check=True)
    for text in ("first", "second"):
        (folder / "file").write_text(text)
        subprocess.run([*_GIT, "add", "file"], cwd=folder, check=True)
        subprocess.run([*_GIT, "commit", "--quiet", "--message", text], cwd=folder, check=True)
    (folder / "file").write_text("not committed")
    return folder


@pytest.mark.parametrize(("ref", "text"), [("HEAD", "second"), ("HEAD~1", "first")])
def test_the_files_are_those_of_the_commit(repository: Path, tmp_path: Path, ref: str, text: str) -> None:
    assert (extracted(ref, repository, tmp_path / ref / "source") / "file").read_text() == text


def test_what_was_built_before_is_taken_as_it_is(repository: Path, tmp_path: Path) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=repository, capture_output=True, text=True)
    place = tmp_path / "builds" / commit.stdout.strip()
    place.mkdir(parents=True)
    (place / "ready").touch()
    assert installed("HEAD", repository, tmp_path / "builds").python == place / "bin" / "python"


def test_a_commit_that_does_not_exist_is_an_error(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="git rev-parse --short none"):
        installed("none", repository, tmp_path)

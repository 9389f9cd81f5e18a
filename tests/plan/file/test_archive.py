"""Archives made on purpose, and things that are no archives at all."""

from __future__ import annotations

import io
import os
import pickle
import stat
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.errors import PlanFileError
from dormie.plan.file import archive, load
from dormie.plan.file.describe import describe
from dormie.plan.file.document import SCHEMA
from dormie.plan.file.parse import unparse
from tests.plan.file.plans import plan_of, written

_POINTS = "machine/points.npy"


def _assert_refused(folder: Path, data: bytes, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        load(written(folder, data))


def _with_schema(text: str) -> bytes:
    return b"".join(archive.encode({SCHEMA: text.encode()}))


def _members() -> dict[str, bytes]:
    members = unparse(describe(plan_of()))
    return {name: bytes(raw) for name, raw in members.items()}


def _zipped(
    members: list[tuple[str | zipfile.ZipInfo, bytes]], compression: int = zipfile.ZIP_STORED, comment: bytes = b""
) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as file:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, raw in members:
            file.writestr(name, raw)
        file.comment = comment
    return buffer.getvalue()


def _link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def test_archives_that_other_programs_made_are_refused(tmp_path: Path) -> None:
    members: list[tuple[str | zipfile.ZipInfo, bytes]] = list(_members().items())
    _assert_refused(tmp_path, _zipped(members), "not as dormie lays it out")
    _assert_refused(tmp_path, _zipped(members, zipfile.ZIP_DEFLATED), "compressed")
    _assert_refused(tmp_path, _zipped(members, comment=b"hello"), "not as dormie lays it out")


def test_compressed_bombs_are_refused_unopened(tmp_path: Path) -> None:
    bomb = _zipped([("schema.json", bytes(50_000_000))], zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    _assert_refused(tmp_path, bomb, "ends early|compressed")


def test_a_declared_size_beyond_the_file_is_refused(tmp_path: Path) -> None:
    data = bytearray(_with_schema("{}"))
    data[18:26] = b"\xff\xff\xff\xff" * 2
    _assert_refused(tmp_path, bytes(data), "ends early")


@pytest.mark.parametrize(
    "name", ["/etc/passwd.npy", "../x.npy", "a/../../x.npy", "C:\\x.npy", "x.pkl", "ü.npy", "", "a//b.npy"]
)
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    _assert_refused(tmp_path, _zipped([("schema.json", b"{}"), (info, b"")]), "a member is called")


def test_links_are_refused(tmp_path: Path) -> None:
    _assert_refused(tmp_path, _zipped([("schema.json", b"{}"), (_link("x.npy"), b"/etc/passwd")]), "lays it out")


def test_a_link_in_an_otherwise_faithful_archive_is_refused(tmp_path: Path) -> None:
    data = _with_schema("{}")
    plain, link = ((kind << 16).to_bytes(4, "little") for kind in (stat.S_IFREG | 0o644, stat.S_IFLNK | 0o644))
    assert data.count(plain) == 1
    _assert_refused(tmp_path, data.replace(plain, link), "lays it out")


def test_a_member_that_comes_twice_is_refused(tmp_path: Path) -> None:
    _assert_refused(tmp_path, _zipped([("schema.json", b"{}"), ("schema.json", b"{}")]), "comes twice")


def test_more_members_than_any_plan_has_are_refused(tmp_path: Path) -> None:
    members = {SCHEMA: b"{}"} | {f"x{number}.npy": b"" for number in range(1000)}
    _assert_refused(tmp_path, b"".join(archive.encode(dict(members))), "more than 1000 members")


def test_an_archive_without_schema_is_refused(tmp_path: Path) -> None:
    _assert_refused(tmp_path, b"".join(archive.encode({"x.npy": b""})), "first member is not schema.json")
    _assert_refused(tmp_path, b"".join(archive.encode({"x.npy": b"", SCHEMA: b"{}"})), "first member")
    _assert_refused(tmp_path, _zipped([]), r"not a zip archive\. .*dormie\.compile")


class _Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("it-ran",)


def test_pickles_are_not_even_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _assert_refused(tmp_path, pickle.dumps(_Runs()), "not a zip archive")
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Runs()], dtype=object), allow_pickle=True)
    document = describe(plan_of())
    document.arrays[_POINTS] = buffer.getvalue()
    document.schema["arrays"][_POINTS] |= {"dtype": "|O", "shape": [1], "bytes": len(buffer.getvalue())}
    _assert_refused(tmp_path, b"".join(archive.encode(unparse(document))), "plan files do not hold")
    assert not (tmp_path / "it-ran").exists()


def test_things_that_are_no_files_are_refused_without_waiting(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match="not a regular file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlanFileError, match="not a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing here")


def test_a_file_larger_than_any_plan_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(2**31)  # a hole: takes no space
    with pytest.raises(PlanFileError, match=r"2,147,483,648 bytes are more than"):
        load(path)

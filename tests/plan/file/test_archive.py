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
from dormie.plan.file import archive, from_bytes, load, save, to_bytes
from dormie.plan.file.describe import describe
from dormie.plan.file.document import SCHEMA
from dormie.plan.file.parse import unparse
from tests.plan.file.plans import assert_same_plan, plan_of, written

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


class TestOpenFiles:
    def test_they_hold_the_same_bytes_as_files_named_by_a_path(self, tmp_path: Path) -> None:
        plan, buffer = plan_of(), io.BytesIO()
        save(plan, buffer)
        save(plan, tmp_path / "a.dormie")
        with open(tmp_path / "b.dormie", "wb") as file:
            save(plan, file)
        with open(tmp_path / "c.dormie", "wb", buffering=0) as raw:
            save(plan, raw)
        assert {(tmp_path / f"{name}.dormie").read_bytes() for name in "abc"} == {buffer.getvalue()} == {to_bytes(plan)}
        with open(tmp_path / "a.dormie", "rb") as file:
            assert_same_plan(plan, load(file))
        assert_same_plan(plan, from_bytes(to_bytes(plan)))

    def test_they_are_read_from_where_they_stand(self) -> None:
        buffer = io.BytesIO()
        buffer.write(b"before")
        save(plan_of(), buffer)
        buffer.seek(6)
        assert_same_plan(plan_of(), load(buffer))

    def test_what_is_read_in_pieces_is_put_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "_PIECE", 100)
        assert_same_plan(plan_of(), from_bytes(to_bytes(plan_of())))

    def test_one_that_does_not_end_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "MOST_BYTES", 1000)
        monkeypatch.setattr(archive, "_PIECE", 100)
        with (
            open("/dev/zero", "rb") as endless,
            pytest.raises(PlanFileError, match="/dev/zero: it goes on after 1,100 bytes; a plan file has at most"),
        ):
            load(endless)

    def test_damage_is_told_with_the_name_if_there_is_one(self, tmp_path: Path) -> None:
        with pytest.raises(PlanFileError, match="the open file: not a plan file"):
            load(io.BytesIO(b"nothing"))
        (tmp_path / "x.dormie").write_bytes(b"nothing")
        with open(tmp_path / "x.dormie", "rb") as file, pytest.raises(PlanFileError, match=r"x\.dormie: not a plan"):
            load(file)

    def test_text_is_refused(self, tmp_path: Path) -> None:
        with open(tmp_path / "x.dormie", "w") as file, pytest.raises(TypeError, match="open it in binary mode"):
            save(plan_of(), file)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="open it in binary mode"):
            load(io.StringIO("PK"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("other", [None, 3, [b"PK"]])
    def test_what_is_no_file_is_refused(self, other: Any) -> None:
        with pytest.raises(TypeError, match="pass the path of a plan file, or a file that is open in binary mode"):
            load(other)
        with pytest.raises(TypeError, match="pass the path of a plan file, or a file that is open in binary mode"):
            save(plan_of(), other)

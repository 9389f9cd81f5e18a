"""The outer layer of a plan file: a zip archive, with exactly one valid encoding for any list of members.

Members are stored uncompressed, with fixed times and permissions, without comments or extra fields. So saving is
deterministic, and reading can be strict: the members found are encoded again, and a file that differs from the result
in any bit is refused. That excludes damage, compression, links, gaps, and bytes before or after the archive. Any zip
program can open the files.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from dormie.errors import PlanFileError
from dormie.plan.file.document import Raw

Members = dict[str, Raw]
Location = str | os.PathLike[str] | IO[bytes]

MOST_BYTES = 2**31 - 1  # so that sizes and offsets fit the plain zip format
MOST_MEMBERS = 1000
_PIECE = 1 << 24  # bytes of an open file that are read at once

_NAME = re.compile(rb"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*\.(json|npy)")
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_SIGNATURE, _CENTRAL_SIGNATURE, _END_SIGNATURE = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_VERSION_NEEDED = 20  # zip 2.0
_MADE_BY = 3 << 8 | _VERSION_NEEDED  # Unix, so that the permissions below apply
_FIRST_OF_JANUARY_1980 = 1 << 5 | 1  # the zero of zip dates
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16


def encode(members: Members) -> Iterator[Raw]:
    """The bytes of the archive in pieces: members, directory, end record."""
    directory, offset = b"", 0
    for name, payload in members.items():
        size, label = len(payload), name.encode("ascii")
        entry = (_VERSION_NEEDED, 0, 0, 0, _FIRST_OF_JANUARY_1980, zlib.crc32(payload), size, size, len(label))
        yield _LOCAL.pack(_LOCAL_SIGNATURE, *entry, 0) + label
        yield payload
        directory += _CENTRAL.pack(_CENTRAL_SIGNATURE, _MADE_BY, *entry, 0, 0, 0, 0, _PLAIN_FILE, offset) + label
        offset += _LOCAL.size + len(label) + size
    yield directory
    yield _END.pack(_END_SIGNATURE, 0, 0, len(members), len(members), len(directory), offset, 0)


def decode(data: bytes) -> Members:
    """The members of an archive, as views into its bytes."""
    if not data.startswith(_LOCAL_SIGNATURE):
        raise PlanFileError(
            "not a plan file: it is not a zip archive. Predictor.save writes plan files, dormie.compile reads models"
        )
    view, members, position = memoryview(data), Members(), 0
    while view[position : position + 4] == _LOCAL_SIGNATURE:
        name, payload, position = _member(view, position)
        if name in members or len(members) == MOST_MEMBERS:
            raise PlanFileError(f"member {name!r} comes twice, or there are more than {MOST_MEMBERS} members")
        members[name] = payload
    _require_same_bytes(view, encode(members))
    return members


def _member(view: memoryview, start: int) -> tuple[str, memoryview, int]:
    """The name and contents of the member at `start`, and the position of the next one."""
    if start + _LOCAL.size > len(view):
        raise _truncated(view)
    _, _, flags, method, _, _, _, _, size, name_length, extra = _LOCAL.unpack_from(view, start)
    first = start + _LOCAL.size + name_length
    name = bytes(view[start + _LOCAL.size : first])
    if first + size > len(view):
        raise _truncated(view)
    if not _NAME.fullmatch(name):
        raise PlanFileError(f"a member is called {name[:100]!r}, which no member of a plan file is")
    if flags or method or extra:
        raise PlanFileError(f"member {name.decode()} is compressed, encrypted or has extra fields. {_ADVICE}")
    return name.decode(), view[first : first + size], first + size


_ADVICE = "Plan files cannot be packed again by other programs: use the file as dormie saved it"


def _truncated(view: memoryview) -> PlanFileError:
    return PlanFileError(f"the file ends early, after {len(view):,} bytes, or is damaged: copy it again")


def _require_same_bytes(view: memoryview, pieces: Iterable[Raw]) -> None:
    position = 0
    for piece in pieces:
        if view[position : position + len(piece)] != piece:
            raise PlanFileError(
                f"the archive is damaged near byte {position:,}, or not as dormie lays it out. {_ADVICE}"
            )
        position += len(piece)
    if position != len(view):
        raise PlanFileError(f"{len(view) - position:,} bytes too many after the end of the archive. {_ADVICE}")


def read(source: Location) -> Members:
    """The members of a file, whose size is checked before it is read, or of what is left of an open one."""
    if not isinstance(source, str | os.PathLike):
        return decode(_rest_of(_binary(source, "read")))
    status = os.stat(source)  # before opening, because opening a pipe would block
    if not stat.S_ISREG(status.st_mode):
        raise PlanFileError("not a plan file: not a regular file")
    if status.st_size > MOST_BYTES:
        raise PlanFileError(f"{status.st_size:,} bytes are more than a plan file has; at most {MOST_BYTES:,}")
    with open(source, "rb") as file:
        data = file.read(status.st_size + 1)
    return decode(data)


def _rest_of(file: IO[bytes]) -> bytes:
    """What is left of an open file, read piece by piece: how long it is may not be known."""
    pieces, size = [], 0
    while piece := file.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise PlanFileError(f"it goes on after {size:,} bytes; a plan file has at most {MOST_BYTES:,}")
    return b"".join(pieces)


def _binary(file: IO[bytes], method: str) -> IO[bytes]:
    """The open file; raises TypeError if it is none, or is open as text."""
    if not hasattr(file, method):
        raise TypeError(f"pass the path of a plan file, or a file that is open in binary mode, got {file!r}")
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{file!r} is open as text, and plan files are bytes: open it in binary mode, 'rb' or 'wb'")
    return file


def write(target: Location, members: Members) -> None:
    """Write the archive to a path or to an open file; raises PlanFileError if it would be too large to be read."""
    size = sum(len(payload) for payload in members.values())
    if size > MOST_BYTES - (1 << 20):  # leaves space for the directory
        raise PlanFileError(f"the plan takes {size:,} bytes; a plan file has at most {MOST_BYTES:,}")
    if isinstance(target, str | os.PathLike):
        replace_file(Path(os.path.realpath(target)), encode(members))
        return
    file = _binary(target, "write")
    for piece in encode(members):
        file.write(piece)


def replace_file(target: Path, pieces: Iterable[Raw]) -> None:
    """Write a temporary file beside the target, then rename it, so that no half-written file is ever seen."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save {target.name} in")
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)

"""A lock that ends with its process: whatever kills a run, the next one can go on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from dormie.errors import OutputError

if sys.platform == "win32":
    import msvcrt  # here: of this system alone

    _Taken = PermissionError

    def _take(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl  # here: of the other systems

    _Taken = BlockingIOError

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path) -> IO[bytes]:
    """Lock a file, which is made where there is none, until it is closed; raises OSError if another run has it."""
    file = path.open("ab")
    try:
        _take(file)
    except _Taken:
        taken = True
    except OSError:  # some file systems of networks have no locks
        taken = False
    else:
        taken = not (path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())))  # removed meanwhile
    if taken:
        file.close()
        raise OutputError(f"{path.parent}: another run is at work here; wait for it, or choose another name")
    return file

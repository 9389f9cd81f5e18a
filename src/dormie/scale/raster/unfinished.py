"""Answers of a scene while it is worked on: a folder beside the target, which a run that is repeated goes on with.

Answers lie in one plain file, band after band, so that any window can be written at any time. A window is listed in
the journal after its answers are on disk. Nothing has the target's name before it is whole. The folder is locked
while a run works in it: two runs in one folder would take each other's windows for their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from rasterio.errors import RasterioError
from rasterio.windows import Window

from dormie.errors import OutputError
from dormie.scale.raster.lock import lock


class Unfinished:
    """
    The folder of a map that is not finished.

    Parameters
    ----------
    target : path
        Where the finished map will be. The folder has its name, with ".unfinished" behind it.
    run : dict
        What the answers depend on. A folder that was left behind by a run with the same is gone on with; any other is
        emptied first.
    shape : tuple of int
        The bands, rows and columns of the answers.
    dtype : dtype
        The type of the answers.
    """

    def __init__(self, target: Path, run: dict[str, Any], shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
        self._target = target
        self.folder = target.with_name(f"{target.name}.unfinished")
        self.answers, self._journal = self.folder / "answers", self.folder / "journal"
        self._shape, self._dtype = shape, dtype
        self._run = json.dumps(run, sort_keys=True)
        self.done: set[int] = set()

    def _read_journal(self) -> set[int]:
        """The numbers of the windows that an earlier run has finished."""
        try:
            first, *lines = self._journal.read_text("utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return set()
        whole = lines[:-1]  # every line ends in a newline, so the last is what was cut off
        return {int(line) for line in whole if line.isdigit()} if first == self._run else set()

    def __enter__(self) -> Unfinished:
        with disk_errors(self._target):
            self.folder.mkdir(exist_ok=True)
            self._locked = lock(self.folder / "lock")
        try:
            with disk_errors(self._target):
                self._open()
        except BaseException:
            self._locked.close()
            raise
        return self

    def _open(self) -> None:
        """Go on with the answers there are, if they are of this run, and begin anew if not."""
        self.done = self._read_journal() if self.answers.exists() else set()
        if not self.done:
            self.answers.write_bytes(b"")
            self._journal.write_text(f"{self._run}\n", "utf-8")
        self._file: IO[bytes] = self.answers.open("r+b", buffering=0)
        self._file.truncate(self._size)

    @property
    def _size(self) -> int:
        return int(np.prod(self._shape)) * self._dtype.itemsize

    def write(self, number: int, window: Window, answers: npt.NDArray[Any]) -> None:
        """Write the answers of a window (bands x rows x columns), and then its number in the journal."""
        with disk_errors(self._target):
            self._write(number, window, answers)
        self.done.add(number)

    def _write(self, number: int, window: Window, answers: npt.NDArray[Any]) -> None:
        _, height, width = self._shape
        whole_rows = window.width == width
        for band, of_band in enumerate(answers):
            parts = [of_band] if whole_rows else of_band
            for row, part in enumerate(parts, start=window.row_off):
                place = (band * height + row) * width + window.col_off
                self._file.seek(place * self._dtype.itemsize)
                _write_all(self._file, np.ascontiguousarray(part))
        os.fsync(self._file.fileno())
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(f"{number}\n")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self.done:
            self.discard()
        self._file.close()
        self._locked.close()

    def discard(self) -> None:
        """Remove the folder: the map is finished, or there is nothing to go on with."""
        self._file.close()
        if sys.platform == "win32":  # where open files cannot be removed
            self._locked.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Errors of writing, such as those for a full disk, as one that names the target."""
    try:
        yield
    except OutputError:
        raise
    except (OSError, RasterioError) as error:
        raise OutputError(
            f"{target}: the map could not be written ({error}); see to that, and repeat the call"
        ) from error


def _write_all(file: IO[bytes], data: npt.NDArray[Any]) -> None:
    """Write all of it: one call of an unbuffered file may write less, when the disk is nearly full."""
    left = data.data.cast("B")
    while left:
        left = left[file.write(left) :]

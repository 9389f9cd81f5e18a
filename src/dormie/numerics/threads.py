"""How many threads a call of the native core uses, and who may say so.

By default one for each core that the process may use: cores that it is bound to, and no more than the CPU quota of its
container pays for. `DORMIE_THREADS`, read when dormie is imported, changes that. Later on `threadpoolctl` can, as it
limits the threads of BLAS: `threadpool_limits(2, user_api="dormie")`. A `Predictor` and a call may have a number of
their own.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dormie.numerics import backend

THREADS_PER_CORE = 2  # the most that DORMIE_THREADS may request


def default_threads() -> int:
    """The number of threads of calls that do not say how many."""
    return _WITHOUT_CORE if backend.extension is None else backend.extension.default_threads()


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Calls of the native core from this thread use so many threads meanwhile, if they do not say how many; 0: any."""
    if not threads or backend.extension is None:
        yield
        return
    before = backend.extension.set_own_threads(threads)
    try:
        yield
    finally:
        backend.extension.set_own_threads(before)


def threads_for(wish: str, cores: int) -> int:
    """The number of threads to use where DORMIE_THREADS is `wish`; warns of a value that cannot be used.

    More threads than cores gain nothing, so their number is limited.
    """
    if not wish:
        return cores
    try:
        wanted = int(wish)
    except ValueError:
        wanted = 0
    if wanted < 1:
        _warn(
            f"DORMIE_THREADS must be a whole number of at least 1, got {wish[:40]!r}; using {cores}, one for each core"
        )
        return cores
    most = THREADS_PER_CORE * cores
    if wanted > most:
        _warn(f"DORMIE_THREADS={wish[:40]} is more than {THREADS_PER_CORE} for each of {cores} cores; using {most}")
    return min(wanted, most)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def cores(root: Path = Path("/")) -> int:
    """The cores that this process may use, a share of one counted as one; `root` is for tests."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(bound, cpu_quota(root))))


def cpu_quota(root: Path = Path("/")) -> float:
    """The cores' worth of time that control groups of Linux leave this process; infinite without a limit."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return math.inf
    quota = math.inf
    for line in groups:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:  # the second version: one tree for all controllers
            quota = min(quota, _least(root / "sys/fs/cgroup", path, _quota_of_second_version))
        elif "cpu" in controllers.split(","):
            quota = min(quota, _least(root / "sys/fs/cgroup/cpu", path, _quota_of_first_version))
    return quota


def _least(top: Path, path: str, quota: Callable[[Path], float]) -> float:
    """The least quota of a group and those above it. A container may show the path of its host: then it is the top."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return min(quota(top.joinpath(*parts[:depth])) for depth in range(len(parts) + 1))


def _quota_of_second_version(group: Path) -> float:
    words = _words(group / "cpu.max")
    return _ratio(*words) if len(words) == 2 else math.inf


def _quota_of_first_version(group: Path) -> float:
    words = _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
    return _ratio(*words) if len(words) == 2 else math.inf


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except (OSError, ValueError):
        return []


def _ratio(quota: str, period: str) -> float:
    """Microseconds in every period, or no limit: "max" or -1."""
    if not (quota.isdigit() and period.isdigit()) or int(quota) < 1 or int(period) < 1:
        return math.inf
    return int(quota) / int(period)


def _register_controller() -> None:
    """Let threadpoolctl, where it is installed, see and change the default number of threads."""
    try:
        import threadpoolctl  # optional
    except ImportError:
        return

    class DormieController(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = internal_api = "dormie"
        filename_prefixes = ("_native",)
        check_symbols = ("dormie_get_num_threads", "dormie_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.dormie_get_num_threads())

        def set_num_threads(self, num_threads: int) -> None:
            self.dynlib.dormie_set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(DormieController)


# Read at import, so that an unusable value is warned of before the first prediction.
_WITHOUT_CORE = threads_for(os.environ.get("DORMIE_THREADS", ""), cores())
if backend.extension is not None:
    backend.extension.set_default_threads(_WITHOUT_CORE)
    _register_controller()

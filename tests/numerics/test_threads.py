"""How many threads are used: what is wished for, what the computer and its container have, what others ask for."""

from __future__ import annotations

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl

import dormie
from dormie.machine import Floats
from dormie.machine.kernels import RBF
from dormie.numerics import backend
from dormie.numerics.threads import at_most, cores, cpu_quota, default_threads, threads_for
from tests.fresh_process import printed
from tests.properties.strategies import machine


@pytest.mark.parametrize("wish", ["", "1", "3", " 2 ", "8"])
def test_as_many_threads_as_wished_for_up_to_two_a_core(wish: str) -> None:
    assert threads_for(wish, 4) == int(wish or 4)


@pytest.mark.parametrize("wish", ["9", "1000", "2147483648", "9" * 40])
def test_too_many_threads_are_warned_of_and_cut(wish: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"DORMIE_THREADS={wish} is more than 2 for each of 4 cores; using 8"):
        assert threads_for(wish, 4) == 8


@pytest.mark.parametrize("wish", ["0", "-1", "two", "1.5", "²", "9" * 5000])
def test_a_wish_for_threads_that_is_no_number_is_warned_of(wish: str) -> None:
    with pytest.warns(
        RuntimeWarning, match="DORMIE_THREADS must be a whole number of at least 1, got .*; using 4, one"
    ):
        assert threads_for(wish, 4) == 4


def test_a_wish_for_threads_is_read_and_warned_of_at_import() -> None:
    code = "import warnings; warnings.simplefilter('ignore'); import dormie; print(dormie.build_info()['threads'])"
    assert printed(code, DORMIE_THREADS="1").strip() == "1"
    assert int(printed(code, DORMIE_THREADS="two")) >= 1
    warned = (
        "import warnings; warnings.simplefilter('error')\ntry:\n import dormie\nexcept RuntimeWarning as w: print(w)"
    )
    assert "got 'two'" in printed(warned, DORMIE_THREADS="two")


def _group(root: Path, path: str, **files: str) -> None:
    folder = root / "sys/fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def _member_of(root: Path, *groups: str) -> Path:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/cgroup").write_text("\n".join(groups) + "\n")
    return root


@pytest.mark.parametrize(("text", "quota"), [("max 100000", math.inf), ("150000 100000", 1.5), ("50000 100000", 0.5)])
def test_a_quota_of_the_second_version_of_control_groups_counts(tmp_path: Path, text: str, quota: float) -> None:
    _group(tmp_path, "", cpu__max=text)
    root = _member_of(tmp_path, "0::/")
    assert cpu_quota(root) == quota
    bound = len(os.sched_getaffinity(0))
    assert cores(root) == min(bound, max(1, math.ceil(quota))) if quota < math.inf else bound


def test_the_least_quota_of_all_groups_above_counts(tmp_path: Path) -> None:
    _group(tmp_path, "slice", cpu__max="200000 100000")
    _group(tmp_path, "slice/unit", cpu__max="max 100000")
    _group(tmp_path, "slice/unit/inner", cpu__max="300000 100000")
    assert cpu_quota(_member_of(tmp_path, "0::/slice/unit/inner")) == 2


def test_a_quota_of_the_first_version_counts(tmp_path: Path) -> None:
    _group(tmp_path, "cpu/docker/abc", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="100000\n")
    _group(tmp_path, "cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    root = _member_of(tmp_path, "5:memory:/docker/abc", "4:cpu,cpuacct:/docker/abc", "0::/")
    assert cpu_quota(root) == 2.5


def test_a_container_that_shows_the_path_of_its_host_has_the_quota_at_the_top(tmp_path: Path) -> None:
    _group(tmp_path, "cpu", cpu__cfs_quota_us="100000", cpu__cfs_period_us="100000")
    assert cpu_quota(_member_of(tmp_path, "4:cpu:/docker/on/the/host")) == 1
    _group(tmp_path, "", cpu__max="400000 100000")
    assert cpu_quota(_member_of(tmp_path, "0::/../../elsewhere")) == 4


@pytest.mark.parametrize("text", ["", "max", "0 100000", "100000 0", "many few", "-5 100000", "1 2 3"])
def test_what_is_no_quota_is_no_limit(tmp_path: Path, text: str) -> None:
    _group(tmp_path, "", cpu__max=text)
    assert cpu_quota(_member_of(tmp_path, "0::/", "nonsense", "::")) == math.inf
    assert cpu_quota(tmp_path / "nowhere") == math.inf


def _threads_seen() -> int:
    [found] = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "dormie"]
    assert found["num_threads"] == default_threads() == dormie.build_info()["threads"]
    return int(found["num_threads"])


def test_threadpoolctl_sees_and_limits_the_threads() -> None:
    before = _threads_seen()
    with threadpoolctl.threadpool_limits(3, user_api="dormie"):
        assert _threads_seen() == 3
        with threadpoolctl.threadpool_limits(1):
            assert _threads_seen() == 1
        assert _threads_seen() == 3
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert _threads_seen() == before
    assert _threads_seen() == before


def _predictor() -> tuple[dormie.Predictor, Floats, Any]:
    """A machine and rows enough for several threads."""
    made, rows = machine(RBF(0.1), 3000, 30)
    fast = dormie.compile(made, methods=[])
    rows = np.resize(rows, (4000, 30)) * np.linspace(0.5, 1.5, 4000)[:, None]
    return fast, rows, fast.predict(rows, threads=1)


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
def test_any_number_of_threads_gives_the_same_answers(threads: int) -> None:
    fast, rows, labels = _predictor()
    np.testing.assert_array_equal(fast.predict(rows, threads=threads), labels)
    np.testing.assert_array_equal(dormie.Predictor(fast.plan, threads=threads).predict(rows), labels)


@pytest.mark.parametrize(
    ("threads", "error", "message"),
    [(0, ValueError, "at least 1, got 0"), (-3, ValueError, "at least 1"), (1.5, TypeError, "whole number"),
     ("2", TypeError, "whole number")],
)  # fmt: skip
def test_a_number_of_threads_that_is_none_is_refused(threads: Any, error: type[Exception], message: str) -> None:
    fast, rows, _ = _predictor()
    with pytest.raises(error, match=f"threads must be .*{message}"):
        fast.predict(rows, threads=threads)
    with pytest.raises(error, match=f"threads must be .*{message}"):
        dormie.Predictor(fast.plan, threads=threads)


def test_calls_from_many_threads_at_once_give_the_same_answers() -> None:
    fast, rows, labels = _predictor()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda threads: fast.predict(rows, threads=threads), [1, 2, 3, 4] * 8):
            np.testing.assert_array_equal(found, labels)


@pytest.mark.clean_process
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_process_has_threads_of_its_own() -> None:
    """The parent's threads are gone after a fork, and calls may have been under way in the parent."""
    fast, rows, labels = _predictor()
    with ThreadPoolExecutor(2) as busy:
        others = [busy.submit(fast.predict, rows, threads=2) for _ in range(20)]
        for _ in range(5):
            child = os.fork()
            if child == 0:
                same = all((fast.predict(rows, threads=3) == labels).all() for _ in range(3))
                os._exit(0 if same else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert all((each.result() == labels).all() for each in others)
    with get_context("fork").Pool(2) as pool:
        for found in pool.map(fast.predict, [rows[:2000], rows[2000:]]):
            assert len(found) == 2000


_COUNTING = """
import json, os
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.svm import SVC, OneClassSVM
import dormie
from dormie.numerics import backend

X, y = make_classification(3000, n_features=20, n_informative=8, random_state=0)
rows = np.tile(X, (3, 1))
models = SVC().fit(X[:900], y[:900]), OneClassSVM().fit(X[:500]), CalibratedClassifierCV(SVC(), cv=2).fit(X, y)
plans = [dormie.compile(model, effort="quick").plan for model in models]
backend.extension.set_default_threads(2)  # with one, no other has been started so far
one, odd, likely = (dormie.Predictor(plan, threads=1) for plan in plans)
calls = {
    "predict": lambda: one.predict(rows),
    "in an array": lambda: one.predict(rows, out=np.empty(len(rows), dtype=y.dtype)),
    "of lists": lambda: one.predict(rows.tolist()),
    "deadline": lambda: one.predict(rows, deadline=60.0),
    "trace": lambda: one.trace(rows),
    "interval": lambda: one.interval(rows),
    "decision_function": lambda: one.decision_function(rows),
    "predict_with_decision": lambda: one.predict_with_decision(rows),
    "score_samples": lambda: odd.score_samples(rows),
    "most_anomalous": lambda: odd.most_anomalous(rows, 10),
    "labels of probabilities": lambda: likely.predict(rows),
    "predict_proba": lambda: likely.predict_proba(rows),
    "no limit": lambda: dormie.Predictor(plans[0]).predict(rows),
}
started = {}
for name, call in calls.items():
    before = len(os.listdir("/proc/self/task"))
    call()
    started[name] = len(os.listdir("/proc/self/task")) - before
print(json.dumps(started))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.skipif(backend.extension is None, reason="threads are those of the native core")
def test_a_predictor_of_one_thread_starts_no_other_in_any_of_its_methods() -> None:
    started = json.loads(printed(_COUNTING, DORMIE_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"))
    assert started.pop("no limit") == 1
    assert not any(started.values()), started


def test_a_number_of_ones_own_is_the_threads_own_and_ends() -> None:
    """Other threads are not told, and calls inside may have another number."""
    fast, rows, labels = _predictor()
    with at_most(1), at_most(2), ThreadPoolExecutor(1) as pool:
        assert backend.extension.set_own_threads(2) == 2
        assert pool.submit(backend.extension.set_own_threads, 0).result() == 0
        np.testing.assert_array_equal(fast.predict(rows), labels)
    assert backend.extension.set_own_threads(0) == 0

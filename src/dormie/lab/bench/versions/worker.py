"""One version of dormie, asked to predict and timed: a script, run by the Python that has that version.

It knows dormie by its public names alone, since the version may be an old one. It reads a request a line and answers
with JSON: `{"batch": 3}` predicts all rows three times, `{"single": 3}` each of the first rows, three times.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dormie import __version__
from dormie import compile as compiled

_SINGLE_ROWS = 100


def timed(task: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a task returns, and the seconds that it took: by the clock on the wall, and of this process."""
    wall, processor = time.perf_counter(), time.process_time()
    result = task()
    return result, {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


def serve(case: Path) -> None:
    """Compile the model of a case, and answer requests until there are no more."""
    with case.open("rb") as file:
        model, rows = pickle.load(file)
    fast, spent = timed(lambda: compiled(model))
    labels = hashlib.sha256("\n".join(map(str, fast.predict(rows))).encode()).hexdigest()
    single = [rows[i : i + 1] for i in range(min(rows.shape[0], _SINGLE_ROWS))]
    counts = {"batch": rows.shape[0], "single": len(single)}
    say({"compile": spent, "labels": labels, "rows": counts, "version": __version__})
    parts = {"batch": [rows], "single": single}
    for line in sys.stdin:
        ((name, times),) = json.loads(line).items()
        say(timed(lambda: [fast.predict(part) for _ in range(times) for part in parts[name]])[1])  # noqa: B023


def say(answer: dict[str, Any]) -> None:
    """One line to the process that asked."""
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

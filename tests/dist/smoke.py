"""A small test of an installed dormie, for every wheel: python tests/dist/smoke.py README.md

It needs scikit-learn, no pytest and no network. The README's first block runs as it stands, every label is
scikit-learn's, a saved plan answers the same, and so does a predictor that many threads share.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import dormie


def first_block(readme: Path) -> str:
    """The first block of Python in a document."""
    found = re.search(r"^```python\n(.*?)^```$", readme.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{readme} has no block of Python")
    return found[1]


def installed() -> dict[str, Any]:
    """How the dormie of this environment was built. One that was found elsewhere is an error, and so is NumPy alone."""
    place = Path(dormie.__file__)
    if not place.is_relative_to(sys.prefix):
        raise RuntimeError(f"dormie was imported from {place.parent}, not from this environment; run it elsewhere")
    info = dormie.build_info()
    if not info["native"]:
        raise RuntimeError(f"this dormie has no native core: {info}")
    return info


def answers_are_scikit_learns(names: dict[str, Any], folder: Path) -> None:
    """Rows at once, one by one, through a saved plan, and from eight threads at a time."""
    fast, rows = names["fast"], names["X"]
    expected = names["svc"].predict(rows)
    np.testing.assert_array_equal(fast.predict(rows), expected)
    np.testing.assert_array_equal([fast.predict(row)[0] for row in rows[:50, None]], expected[:50])
    np.testing.assert_array_equal(dormie.load(folder / "svc.dormie").predict(rows), expected)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: fast.predict(rows), range(64)):
            np.testing.assert_array_equal(answers, expected)


def main(readme: Path) -> None:
    """Run all of it; what goes wrong is an exception."""
    info = installed()
    block = compile(first_block(readme), str(readme), "exec")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(block, names)
        answers_are_scikit_learns(names, Path(folder))
    lock = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    print(f"dormie works: Python {sys.version.split()[0]} {lock} its lock; {info}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

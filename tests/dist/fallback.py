"""A source install without a compiler, and then one with it, as a user would, with one cache of pip's for both.

The first serves with NumPy and says so. The second has the native core: pip does not take the first from its cache.
"""

from __future__ import annotations

from pathlib import Path

from tests import ROOT
from tests.dist.environments import Environment, Interpreter, requirements
from tests.dist.smoke import first_block

_HAS_CORE = "import dormie; print('native:', dormie.build_info()['native'])"
_NO_COMPILER = {"CC": "no-such-compiler", "CXX": "no-such-compiler"}


def check(python: Interpreter, sdist: Path, folder: Path, wheelhouse: Path) -> str:
    """Install from source without a compiler, and again with one."""
    environment = Environment.of(python, folder / "fallback")
    source, cache = folder / "source", folder / "pip-cache"
    source.mkdir()
    (source / sdist.name).hardlink_to(sdist)
    links = [source, wheelhouse]
    environment.pip("install", *requirements("cli"), links=links)
    install = ["install", "--cache-dir", cache, "--no-deps", "--pre", "--verbose", "--force-reinstall", "dormie"]

    told = environment.pip(*install, links=links, **_NO_COMPILER)
    _require("dormie was built without its native core" in told, f"pip did not warn: {told}")
    told = environment.run("python", "-c", _HAS_CORE)
    _require("RuntimeWarning: dormie is installed without its native core" in told, f"no warning at import: {told}")
    _require("native: False" in told, f"there was a compiler after all: {told}")
    environment.run("python", "-W", "ignore", "-c", first_block(ROOT / "README.md"))

    environment.pip(*install, links=links)
    told = environment.run("python", "-W", "error", "-c", _HAS_CORE)
    _require("native: True" in told, f"with a compiler there is still no native core: {told}")
    return "without a compiler the source install serves with NumPy; with one, the next install has the native core"


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)

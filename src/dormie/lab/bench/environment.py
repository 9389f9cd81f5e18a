"""Describes the computer and the software that a measurement was made with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dormie._version import __version__
from dormie.numerics import backend
from dormie.numerics.threads import default_threads

_PACKAGES = ("dormie", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "onnxruntime", "skl2onnx")


def _processor() -> str:
    """The processor's name; on Linux it is in /proc/cpuinfo, which `platform` does not read."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def environment() -> dict[str, Any]:
    """Processor, cores, system, versions, and how dormie was built."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": _versions(),
        "dormie_build": {"version": __version__, **backend.info(), "threads": default_threads()},
    }

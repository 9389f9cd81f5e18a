"""Stages by the name a plan file knows them by: one paper, one stage, one file."""

from __future__ import annotations

from dormie.stages.base import Decisions, Stage
from dormie.stages.dense import Dense
from dormie.stages.fast_stopping import FastStopping
from dormie.stages.geometry import Geometry
from dormie.stages.linear_filter import LinearFilter
from dormie.stages.nearest import Nearest
from dormie.stages.reduced_set import ReducedSet
from dormie.stages.tree import TreeWalk

STAGES: dict[str, type[Stage]] = {
    stage.name: stage for stage in (Dense, FastStopping, Geometry, ReducedSet, LinearFilter, Nearest, TreeWalk)
}

__all__ = [
    "STAGES",
    "Decisions",
    "Dense",
    "FastStopping",
    "Geometry",
    "LinearFilter",
    "Nearest",
    "ReducedSet",
    "Stage",
    "TreeWalk",
]

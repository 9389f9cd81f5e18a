"""Stages by the name a plan file knows them by: one paper, one stage, one file."""

from __future__ import annotations

from dormie.stages.base import Decisions, Stage
from dormie.stages.dense import Dense

STAGES: dict[str, type[Stage]] = {stage.name: stage for stage in (Dense,)}

__all__ = ["STAGES", "Decisions", "Dense", "Stage"]

"""What Spark's event log tells of a run: shuffled bytes, and the time of its tasks by stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

STAGES = ("read", "encode", "search", "decode", "write", "audit")
"""The stages of a run in their order; an audit tells how long each of them took."""


def log_settings(folder: Path) -> dict[str, str]:
    """Return the settings of Spark that make it write its event log to a folder."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def logged(folder: Path) -> list[dict[str, Any]]:
    """Return the events of the one run that logged to a folder."""
    (path,) = [one for one in sorted(folder.iterdir()) if not one.name.startswith(".")]
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def told(events: Iterable[Mapping[str, Any]], stages: Mapping[str, float]) -> dict[str, Any]:
    """Sum up the tasks of a run, by its stages too.

    The log has hours and the audit has durations: stages are laid out backwards from the end of
    the application, and a task belongs to the stage in which it began.
    """
    every = list(events)
    ended = max((one["Timestamp"] for one in every if "ApplicationEnd" in one["Event"]), default=0)
    tasks = [one for one in every if one["Event"] == "SparkListenerTaskEnd"]
    if not ended:
        ended = max((one["Task Info"]["Finish Time"] for one in tasks), default=0)
    begun = _beginnings(stages, ended / 1000)
    figures = {"n_tasks": 0, "task_seconds": 0.0, "shuffle_bytes": 0, "spilled_bytes": 0}
    by_stage = {name: {"task_seconds": 0.0, "shuffle_bytes": 0} for name in begun}
    for task in tasks:
        metrics, told_of = task.get("Task Metrics") or {}, task["Task Info"]
        seconds = (told_of["Finish Time"] - told_of["Launch Time"]) / 1000
        shuffled = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        figures["n_tasks"] += 1
        figures["task_seconds"] += seconds
        figures["shuffle_bytes"] += shuffled
        figures["spilled_bytes"] += metrics.get("Disk Bytes Spilled", 0)
        stage = by_stage[_stage_at(begun, told_of["Launch Time"] / 1000)]
        stage["task_seconds"] += seconds
        stage["shuffle_bytes"] += shuffled
    return {**_rounded(figures), "tasks_by_stage": {n: _rounded(s) for n, s in by_stage.items()}}


def _beginnings(stages: Mapping[str, float], end: float) -> dict[str, float]:
    begun: dict[str, float] = {}
    for name in reversed([one for one in STAGES if one in stages]):
        end -= stages[name]
        begun[name] = end
    return dict(reversed(begun.items()))


def _stage_at(begun: Mapping[str, float], moment: float) -> str:
    """Return the last stage that had begun; before all of them is the first."""
    names = list(begun)
    return next((name for name in reversed(names) if begun[name] <= moment), names[0])


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}

"""A workload in parts, and parts in named cases: each can be measured anew by itself.

Every case's result says where it was measured, and is kept as soon as it is there, since the next
may take long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.shared.plans import Measured
from benchmarks.shared.provenance import provenance
from incrowd.errors import unknown
from incrowd.progress import Progress

Task = Callable[[Path], list[Measured]]
"""Measures one case; it is given the folder of the data sets."""

Planned = Callable[[Any], dict[str, Task]]
"""Plans a part's cases by name, from the workload's sizes."""


def run_cases(
    workload: str,
    table: Mapping[str, Planned],
    folder: Path,
    parts: tuple[str, ...],
    progress: Progress,
    *,
    cases: tuple[str, ...] = (),
    sizes: Any,
    is_small: bool,
    before: Mapping[str, Any] | None = None,
    keep: Callable[[Measured], None] | None = None,
) -> Measured:
    """Measure some parts or cases of a workload, or all; the others stay as they were ``before``.

    ``table`` has the workload's parts; ``keep`` is given all results after every case.
    """
    planned = chosen(table, parts, cases, sizes)
    wanted = [(part, name) for part, tasks in planned.items() for name in tasks]
    kept = {part: dict(found["results"]) for part, found in (before or {}).get("parts", {}).items()}
    for place, (part, name) in enumerate(wanted):
        progress(f"{part}: {name}", place, len(wanted))
        kept.setdefault(part, {})[name] = {
            **provenance(),
            "is_small": is_small,
            "runs": planned[part][name](folder),
        }
        if keep is not None:
            keep(_ordered(workload, table, kept, sizes))
    progress("measured", len(wanted), len(wanted))
    return _ordered(workload, table, kept, sizes)


def chosen(
    table: Mapping[str, Planned], parts: tuple[str, ...], cases: tuple[str, ...], sizes: Any
) -> dict[str, dict[str, Task]]:
    """Return the tasks of the named parts and cases, or of all; raise for a name there is not."""
    for part in parts:
        if part not in table:
            raise unknown("part", part, table)
    planned = {part: table[part](sizes) for part in parts or tuple(table)}
    named = [name for tasks in planned.values() for name in tasks]
    for case in cases:
        if case not in named:
            raise unknown("case", case, named, where=", ".join(planned))
    return {
        part: {name: task for name, task in tasks.items() if not cases or name in cases}
        for part, tasks in planned.items()
    }


def _ordered(
    workload: str, table: Mapping[str, Planned], kept: Mapping[str, dict[str, Any]], sizes: Any
) -> Measured:
    """Return the results in the order of parts and cases, with cases of other sizes last."""
    parts = {}
    for part, plan in table.items():
        if part in kept:
            names = dict.fromkeys([*plan(sizes), *kept[part]])
            found = {name: kept[part][name] for name in names if name in kept[part]}
            parts[part] = {"results": found}
    return {"workload": workload, "parts": parts}

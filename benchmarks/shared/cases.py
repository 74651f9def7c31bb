"""A workload in parts, and parts in named cases: each can be measured again by itself.

Every case's results say where they were measured, and are kept as soon as they are there, since
the next case may take long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.shared.charts import Chart
from benchmarks.shared.provenance import provenance
from incrowd.errors import JobError, unknown
from incrowd.progress import Progress, silent

Measured = dict[str, Any]

Task = Callable[[Path], list[Measured]]
"""Measures one case, given the folder of the data sets."""

Plan = Callable[[Any], dict[str, Task]]
"""Plans a part's cases by name, given the workload's sizes."""


def keep_nothing(_: Measured) -> None:
    """Take results and keep none of them."""


@dataclass(frozen=True)
class Workload:
    """What is measured, in full for the docs or small to try it, and what the docs show of it.

    ``parts`` plan their cases from sizes; ``on_request`` are parts that run only when named.
    ``tables`` are made from results by the name that marks their place in a page, ``charts`` by
    file name under ``docs/images``. A workload that generates its data does not need any.
    """

    name: str
    parts: Mapping[str, Plan]
    full: Any
    small: Any
    tables: Mapping[str, Callable[[Measured], str]]
    charts: Mapping[str, Callable[[Measured], Chart]] = field(default_factory=dict)
    on_request: tuple[str, ...] = ()
    needs_data: bool = True

    def stating(self, **stated: str) -> Workload:
        """Return the workload with sizes that state more; raise where they have no such field."""
        for name in stated:
            if not hasattr(self.full, name):
                raise JobError(
                    f"the workload {self.name!r} has no option --{name}",
                    remedy="See ./dev bench --help.",
                )
        full, small = (replace(sizes, **stated) for sizes in (self.full, self.small))
        return replace(self, full=full, small=small)

    def run(
        self,
        folder: Path,
        *,
        parts: tuple[str, ...] = (),
        cases: tuple[str, ...] = (),
        is_small: bool = False,
        before: Mapping[str, Any] | None = None,
        keep: Callable[[Measured], None] = keep_nothing,
        progress: Progress = silent,
    ) -> Measured:
        """Measure some parts or cases, or all; the others stay as they were ``before``.

        ``keep`` is given all results after every case.
        """
        sizes = self.small if is_small else self.full
        planned = self._choose(parts, cases, sizes)
        wanted = [(part, name) for part, tasks in planned.items() for name in tasks]
        kept = {
            part: dict(measured["results"])
            for part, measured in (before or {}).get("parts", {}).items()
        }
        for place, (part, name) in enumerate(wanted):
            progress(f"{part}: {name}", place, len(wanted))
            runs = planned[part][name](folder)
            kept.setdefault(part, {})[name] = {**provenance(), "is_small": is_small, "runs": runs}
            keep(self._order(kept, sizes))
        progress("measured", len(wanted), len(wanted))
        return self._order(kept, sizes)

    def _choose(
        self, parts: tuple[str, ...], cases: tuple[str, ...], sizes: Any
    ) -> dict[str, dict[str, Task]]:
        """Return the tasks of the named parts and cases, or of all; raise for an unknown name."""
        for part in parts:
            if part not in self.parts:
                raise unknown("part", part, self.parts)
        default = [part for part in self.parts if cases or part not in self.on_request]
        planned = {part: self.parts[part](sizes) for part in parts or default}
        named = [name for tasks in planned.values() for name in tasks]
        for case in cases:
            if case not in named:
                raise unknown("case", case, named, where=", ".join(planned))
        return {
            part: {name: task for name, task in tasks.items() if not cases or name in cases}
            for part, tasks in planned.items()
        }

    def _order(self, kept: Mapping[str, dict[str, Any]], sizes: Any) -> Measured:
        """Return the results in the order of parts and cases, with cases of other sizes last."""
        parts = {}
        for part, plan in self.parts.items():
            if part in kept:
                names = dict.fromkeys([*plan(sizes), *kept[part]])
                results = {name: kept[part][name] for name in names if name in kept[part]}
                parts[part] = {"results": results}
        return {"workload": self.name, "parts": parts}

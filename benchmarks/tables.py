"""The workload ``tables``: methods on Adult with ARX's hierarchies, by settings and k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.greedy.data import DataSet
from benchmarks.greedy.paper import ADULT_LOSS, GKAA, PGPKAA, K
from benchmarks.greedy.runs import task_of
from benchmarks.shared.cases import Measured, Task, Workload
from benchmarks.shared.page import peak_memory, percent, runs_of, table_of
from benchmarks.shared.processes import Case


@dataclass(frozen=True)
class Sizes:
    """Every k for ``greedy``, and those for reorganization and for all methods."""

    greedy_k: tuple[int, ...] = K
    reorganize_k: tuple[int, ...] = (2, 10, 100)
    methods_k: tuple[int, ...] = (2, 5, 10, 100)


FULL = Sizes()
SMALL = Sizes(greedy_k=(10,), reorganize_k=(10,), methods_k=(10,))


def adult(sizes: Sizes) -> dict[str, Task]:
    """Plan Adult, on one thread."""
    return {"adult": task_of(DataSet("adult-nine"), list(_cases(sizes)))}


def _cases(sizes: Sizes) -> Iterator[Case]:
    for k in sizes.greedy_k:
        for partitions in (1, 32):
            settings = {"partitions": partitions, "repair": "no"}
            yield {"method": "greedy", "settings": settings, "k": k}
    for k in sizes.reorganize_k:
        for reorganize in ("levels-first", "values-first", "none"):
            settings = {"partitions": 8, "repair": "no", "reorganize": reorganize}
            yield {"method": "greedy", "settings": settings, "k": k}
    for k in sizes.methods_k:
        for strict in (True, False):
            yield {"method": "mondrian", "settings": {"strict": strict}, "k": k}
        yield {"method": "greedy", "settings": {"metric": "loss"}, "k": k}
        yield {"method": "cluster", "settings": {}, "k": k}


# ── the docs ────────────────────────────────────────────────────────────────────────────────────


class _Runs:
    """The runs by method, settings and k."""

    def __init__(self, measured: Measured) -> None:
        self._runs = runs_of(measured, "adult")

    def k_of(self, method: str, **settings: Any) -> list[int]:
        return [run["k"] for run in self._runs if self._is(run, method, settings)]

    def one(self, method: str, k: int, **settings: Any) -> Measured:
        return next(run for run in self._runs if run["k"] == k and self._is(run, method, settings))

    @staticmethod
    def _is(run: Measured, method: str, settings: dict[str, Any]) -> bool:
        return bool(run["method"] == method and run["settings"] == settings)


def _loss(run: Measured, name: str = "loss") -> str:
    return percent(run["losses"][name])


def _greedy_loss(measured: Measured) -> str:
    runs, rows = _Runs(measured), []
    for k in runs.k_of("greedy", partitions=1, repair="no"):
        one, many = (ADULT_LOSS[key][K.index(k)] for key in ((GKAA, 1), (PGPKAA, 32)))
        alone = runs.one("greedy", k, partitions=1, repair="no")
        parted = runs.one("greedy", k, partitions=32, repair="no")
        rows.append(
            f"| {k} | {_loss(alone, 'nllm')} | {_loss(parted, 'nllm')} | {one:.2f} | {many:.2f} | "
            f"{alone['seconds']:.1f} s, {peak_memory(alone)} |"
        )
    head = (
        "| k | one part | 32 parts | the paper, one part | the paper, 32 parts | one part takes |"
    )
    return table_of(head, rows)


def _reorganize(measured: Measured) -> str:
    runs, rows = _Runs(measured), []
    parted = {"partitions": 8, "repair": "no"}
    every_k = runs.k_of("greedy", **parted, reorganize="none")
    for name in ("levels-first", "values-first", "none"):
        found = [runs.one("greedy", k, **parted, reorganize=name) for k in every_k]
        rows.append(f"| `{name}` | " + " | ".join(_loss(one, "nllm") for one in found) + " |")
    return table_of(f"| | {' | '.join(f'k = {k}' for k in every_k)} |", rows)


def _mondrian_loss(measured: Measured) -> str:
    runs, rows = _Runs(measured), []
    for k in runs.k_of("mondrian", strict=True):
        strict, relaxed = (runs.one("mondrian", k, strict=one) for one in (True, False))
        rows.append(
            f"| {k} | {_loss(strict)} | {_loss(relaxed)} | "
            f"{strict['seconds']:.2f} s, {peak_memory(strict)} |"
        )
    return table_of("| k | strict | relaxed | strict takes |", rows)


def _cluster_loss(measured: Measured) -> str:
    runs, rows = _Runs(measured), []
    for k in runs.k_of("cluster"):
        cluster = runs.one("cluster", k)
        others = runs.one("greedy", k, metric="loss"), runs.one("mondrian", k, strict=True)
        shown = " | ".join(_loss(one) for one in (cluster, *others))
        rows.append(f"| {k} | {shown} | {cluster['seconds']:.1f} s, {peak_memory(cluster)} |")
    head = "| k | `cluster` | `greedy --metric loss` | `mondrian` | `cluster` takes |"
    return table_of(head, rows)


TABLES: dict[str, Callable[[Measured], str]] = {
    "greedy-loss": _greedy_loss,
    "greedy-reorganize": _reorganize,
    "mondrian-loss": _mondrian_loss,
    "cluster-loss": _cluster_loss,
}
WORKLOAD = Workload("tables", {"adult": adult}, FULL, SMALL, TABLES)

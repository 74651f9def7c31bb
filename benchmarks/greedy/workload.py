"""The workload ``greedy``: tables at full strength, in parts that can be measured alone.

=========  ==========================================================================
part       what it measures
=========  ==========================================================================
index      greedy's index against the plain scan of all groups: the same merges, sooner
growth     time and memory by the number of rows; every method on a million voters
paper      Tables V to X of the paper, Figure 8a and the speed-ups of Tables II and IV
boundary   what cutting a table into parts costs, and what repairing the cuts wins back
peers      other Python packages and our own methods on the same table
curve      loss against time of ``cluster``, beside greedy, Mondrian and ARX
=========  ==========================================================================

Every part says where it was measured, so that one can be measured anew by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.greedy.peers import peers
from benchmarks.greedy.sizes import FULL, SMALL, Sizes
from benchmarks.shared.datasets import DataSet
from benchmarks.shared.measured import Case
from benchmarks.shared.plans import OWN, Measured, Plan, cores, measured_plan, own
from benchmarks.shared.provenance import provenance
from incrowd.errors import unknown
from incrowd.progress import Progress

__all__ = ["FULL", "PARTS", "SMALL", "run"]


def run(
    folder: Path,
    parts: tuple[str, ...],
    progress: Progress,
    *,
    sizes: Sizes = FULL,
    before: Mapping[str, Any] | None = None,
    peers_python: str | None = None,
) -> Measured:
    """Measure some parts, or all; the others stay as they were ``before``."""
    for part in parts:
        if part not in PARTS:
            raise unknown("part", part, PARTS)
    kept = dict((before or {}).get("parts", {}))
    for part in parts or tuple(PARTS):
        started = time.perf_counter()
        results, data = PARTS[part](folder, sizes, progress, peers_python)
        kept[part] = {
            **provenance(),
            "is_small": sizes != FULL,
            "took_seconds": round(time.perf_counter() - started, 1),
            "data": data,
            "results": results,
        }
    return {"workload": "greedy", "parts": {name: kept[name] for name in PARTS if name in kept}}


def index(
    folder: Path, sizes: Sizes, progress: Progress, _: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure greedy with its index and with the plain scan, and compare every merge."""
    on_adult = [
        {**_search_case(search, metric, k), "repeats": sizes.index_repeats}
        for metric in ("nllm", "ncp")
        for k in sizes.index_k
        for search in ("index", "scan")
    ]
    on_voters = [
        _search_case(search, "nllm", k)
        for k in sizes.index_voters_k
        for search in ("index", "scan")
    ]
    plan = [
        (DataSet("adult-nine"), on_adult),
        (DataSet("voters", sizes.index_voters), on_voters),
    ]
    results, data = measured_plan("index", plan, folder, progress)
    for one, other in zip(results[::2], results[1::2], strict=True):
        if one["merges_sha256"] != other["merges_sha256"]:
            raise RuntimeError(f"the index made other merges than the scan: {one}")
    return results, data


def _search_case(search: str, metric: str, k: int) -> Case:
    return {"method": "greedy", "search": search, "settings": {"metric": metric}, "k": k}


def growth(
    folder: Path, sizes: Sizes, progress: Progress, _: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure how time and memory grow with the rows, and every method on the same voters.

    The longest list is measured a second time with all ZIP codes covered: most distinct rows.
    """
    plan: Plan = []
    for n_rows in sizes.growth_rows:
        cases: list[Case] = [{"method": "greedy", "settings": {}, "k": 10, "threads": cores()}]
        if n_rows <= sizes.growth_methods_up_to:
            cases += [own(method, settings, 5) for method, settings in OWN]
        plan.append((DataSet("voters", n_rows), cases))
    largest = DataSet("voters", max(sizes.growth_rows), 1_026)
    plan.append((largest, [{"method": "greedy", "settings": {}, "k": 10, "threads": cores()}]))
    return measured_plan("growth", plan, folder, progress)


def paper(
    folder: Path, sizes: Sizes, progress: Progress, _: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure the paper's grid of processors, k and rows; parts are shared by all cores here."""
    adult = [
        _preset(preset, n, k)
        for k in sizes.paper_k
        for preset, n in _presets(sizes.paper_processors)
    ]
    adult += [
        _preset("pgpkaa", n, k, reorganize="none")
        for k in sizes.paper_k
        for n in sizes.unsorted_processors
    ]
    plan: Plan = [(DataSet("adult-nine"), adult)]
    for n_rows in sizes.paper_voters:
        is_last = n_rows == max(sizes.paper_voters)
        processors = sizes.paper_processors if is_last else sizes.voter_processors
        cases = [_preset(preset, n, k) for k in sizes.paper_k for preset, n in _presets(processors)]
        plan.append((DataSet("voters", n_rows), cases))
    return measured_plan("paper", plan, folder, progress)


def _presets(processors: tuple[int, ...]) -> list[tuple[str, int]]:
    many = [(preset, n) for preset in ("pgpkaa", "h-pgpkaa") for n in processors]
    return [("gkaa", 1), *many]


def _preset(preset: str, processors: int, k: int, **more: Any) -> Case:
    settings = {"preset": preset, "processors": processors, **more}
    return {"method": "greedy", "settings": settings, "k": k, "threads": cores()}


def boundary(
    folder: Path, sizes: Sizes, progress: Progress, _: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure one part, many parts, and many parts with their cuts repaired."""
    parted = {"partitions": sizes.boundary_partitions}
    settings: list[dict[str, Any]] = [
        {"partitions": 1},
        {**parted, "repair": "no"},
        {**parted, "repair": "yes"},
    ]
    cases = [own("greedy", stated, k) for k in sizes.boundary_k for stated in settings]
    return measured_plan("boundary", [(DataSet("adult-nine"), cases)], folder, progress)


def curve(
    folder: Path, sizes: Sizes, progress: Progress, _: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure the loss of ``cluster`` with growing effort, beside the quicker methods."""
    searches: list[tuple[str, dict[str, Any]]] = [("greedy", {"metric": "loss"}), ("mondrian", {})]
    searches += [("cluster", {"effort": effort}) for effort in sizes.curve_efforts]
    cases = [own(method, settings, k) for k in sizes.curve_k for method, settings in searches]
    plan = [(DataSet(name), cases) for name in sizes.curve_data]
    return measured_plan("curve", plan, folder, progress)


Part = Callable[[Path, Sizes, Progress, str | None], tuple[list[Measured], list[Measured]]]

PARTS: dict[str, Part] = {
    "index": index,
    "growth": growth,
    "paper": paper,
    "boundary": boundary,
    "peers": peers,
    "curve": curve,
}

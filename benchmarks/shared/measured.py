"""One measured run per process: time, peak memory and loss together.

Runs of one data set come from one *stem* process, which has the rows and the compiled loops and
nothing else; each run is forked off it. So a run's peak memory is its own, and neither reading nor
compiling is part of its time.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.shared.datasets import DataSet, load, reload, save

if TYPE_CHECKING:
    from incrowd.encoding.rows import Rows

Case = dict[str, Any]
"""``method``, ``settings``, ``k`` and ``threads``; for the index against the scan of greedy also
``search``, and then the merges are compared; with ``repeats`` the least time of several counts."""

FEW = 50
"""Loops are compiled on this many rows."""

SHOWN_LOSSES = ("nllm", "loss", "ncp")


class Stem:
    """A data set ready to be searched, and a folder for it."""

    def __init__(self, data: DataSet, folder: Path, scratch: Path) -> None:
        self.data = data
        self._rows = scratch / "rows.pickle"
        request = json.dumps([data.name, data.n_rows, data.n_covered])
        _python("prepare", request, str(folder), str(self._rows))

    def run(self, cases: Sequence[Case], done: Callable[[], None]) -> list[dict[str, Any]]:
        """Measure cases one after the other; ``done`` is told of each."""
        if not cases:
            return []
        results = []
        command = [sys.executable, "-m", "benchmarks.shared.measured", "stem", str(self._rows)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as stem:
            assert stem.stdin is not None
            assert stem.stdout is not None
            stem.stdin.write(json.dumps(list(cases)))
            stem.stdin.close()
            for case, line in zip(cases, stem.stdout, strict=False):
                data = {"data": self.data.name}
                if self.data.n_rows:
                    data["n_rows"] = self.data.n_rows  # type: ignore[assignment]
                results.append({**data, **case, **json.loads(line)})
                done()
        if stem.returncode or len(results) != len(cases):
            raise RuntimeError(f"a measured run failed: {cases[min(len(results), len(cases) - 1)]}")
        return results


@contextmanager
def stem_of(data: DataSet, folder: Path) -> Iterator[Stem]:
    """Prepare a data set for measured runs; what was written is removed afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        yield Stem(data, folder, Path(scratch))


def _python(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.shared.measured", *words], check=True)


# ── inside the processes ────────────────────────────────────────────────────────────────────────


def _main(words: list[str]) -> None:
    if words[0] == "prepare":
        request, folder, target = words[1:]
        save(load(DataSet(*json.loads(request)), Path(folder)), Path(target))
        return
    from incrowd.measures.losses.tables import group_sizes

    rows = reload(Path(words[1]))
    n_distinct = len(group_sizes(rows.nodes, [tree.n_nodes for tree in rows.hierarchies]))
    compiled: dict[str, float] = {}
    for case in json.load(sys.stdin):
        brief = {**case, "k": 2, "threads": 1, "settings": _brief(case["settings"])}
        kind = json.dumps(brief)
        if kind not in compiled:
            started = time.perf_counter()
            _search(_few(rows), brief)
            compiled[kind] = round(time.perf_counter() - started, 3)
        measured = forked(partial(measure, rows, case))
        result = {"n_distinct": n_distinct, **measured}
        result["compile_seconds"] = compiled[kind]
        print(json.dumps(result), flush=True)


def _brief(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that need the same loops, on a few rows and in no time."""
    brief = dict(settings)
    if "effort" in brief:  # a time has loops of its own, which find out how long a change takes
        brief["effort"] = 20 if isinstance(brief["effort"], int) else "0.01s"
    is_parted = brief.pop("partitions", 1) != 1
    preset, _ = brief.pop("preset", "none"), brief.pop("processors", 0)
    if is_parted or preset in ("pgpkaa", "h-pgpkaa"):
        brief["partitions"] = 2
    return brief


def _few(rows: Rows) -> Rows:
    nodes = rows.nodes[:, :FEW].copy()
    return rows.with_nodes(nodes, rows.is_suppressed[:FEW].copy())


def forked(task: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a task in a child of this process; return what it says, its peak memory and CPU time."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(readable)
            with os.fdopen(writable, "w") as pipe:
                json.dump(task(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"the measured run ended with status {status}")
    scale = 1 if sys.platform == "darwin" else 1024
    result: dict[str, Any] = {
        **json.loads(text),
        "peak_memory_bytes": usage.ru_maxrss * scale,
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
    }
    return result


def measure(rows: Rows, case: Case) -> dict[str, Any]:
    """Measure one case in this process."""
    from incrowd.measures.losses.tables import METRICS, tally

    seconds = float("inf")
    for _ in range(case.get("repeats", 1)):
        started = time.perf_counter()
        after, said = _search(rows, case)
        seconds = min(seconds, time.perf_counter() - started)
    counted = tally(rows, after, case["k"])
    smallest = int(counted.group_sizes.min())
    if smallest < case["k"]:
        raise RuntimeError(f"a group of {smallest} rows was released: {case}")
    return {
        "seconds": round(seconds, 3),
        "losses": {name: round(METRICS[name].function(counted), 6) for name in SHOWN_LOSSES},
        "n_groups": len(counted.group_sizes),
        **said,
    }


def _search(rows: Rows, case: Case) -> tuple[Rows, dict[str, Any]]:
    """Run a case's search; return the released rows and what else is to be said of it."""
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.methods.table import METHODS
    from incrowd.progress import silent

    conditions = Conditions(case["k"])
    if "search" in case:
        return _merged(rows, case)
    method: Any = METHODS[case["method"]](**case["settings"])
    engine = LocalEngine(threads=case.get("threads", 1))
    after = method.run(rows, conditions, engine, 0, silent)
    return after, dict(after.trace.figures)


def _merged(rows: Rows, case: Case) -> tuple[Rows, dict[str, Any]]:
    """Run greedy with its index or its scan; what is said tells the merges and their order."""
    from incrowd.methods.greedy.search import Plan, merge
    from incrowd.methods.shared.conditions import Conditions

    limits = Conditions(case["k"]).packed(rows.n_rows)
    plan = Plan.of(rows, case["settings"]["metric"], limits, True)
    merged = merge(rows.nodes, plan, limits, with_index=case["search"] == "index")
    said = {
        "n_merges": len(merged.merged_into) - len(merged.run_start) + 1,
        "merges_sha256": hashlib.sha256(merged.merged_into.tobytes()).hexdigest(),
    }
    return rows.with_nodes(merged.released()), said


if __name__ == "__main__":
    _main(sys.argv[1:])

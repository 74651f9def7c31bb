"""The workload ``tables``: methods on Adult with ARX's hierarchies, by settings and k.

Every case runs in a process of its own, so that its peak memory is its own. The loops are compiled
on a handful of rows first; that time is kept apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.progress import Progress
from incrowd.version import __version__

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
AGES = (17, 90)  # the 74 ages that the paper counts
SMALL_K = (2, 3, 5, 10, 100)
SHOWN_LOSSES = ("nllm", "loss", "ncp", "average_class_size")


def cases() -> Iterator[dict[str, Any]]:
    """Yield every case: a method, its settings and k."""
    for k in SMALL_K:
        for partitions in (1, 32):
            yield {"method": "greedy", "settings": {"partitions": partitions}, "k": k}
    for k in (2, 10, 100):
        for reorganize in ("levels-first", "values-first", "none"):
            settings = {"partitions": 8, "reorganize": reorganize}
            yield {"method": "greedy", "settings": settings, "k": k}
    for k in (2, 5, 10, 100):
        for strict in (True, False):
            yield {"method": "mondrian", "settings": {"strict": strict}, "k": k}
        yield {"method": "greedy", "settings": {"metric": "loss"}, "k": k}
        yield {"method": "cluster", "settings": {}, "k": k}


def run(folder: Path, progress: Progress) -> dict[str, Any]:
    """Measure every case; ``folder`` holds the data sets."""
    data = folder / "adult" / "adult_30162_qi9.csv.gz"
    if not data.exists():
        raise InputError(
            "the workload 'tables' needs the Adult data set (adult/adult_30162_qi9.csv.gz)",
            remedy="Set INCROWD_DATA to the folder that holds the data sets.",
        )
    stated = list(cases())
    results = []
    for number, case in enumerate(stated):
        progress("measuring", number, len(stated))
        results.append({**case, **_measured_apart(data, case)})
    progress("measuring", len(stated), len(stated))
    return {
        "workload": "tables",
        "incrowd": __version__,
        "commit": _commit(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numba", "numpy", "polars", "pyarrow")},
        },
        "data": {
            "name": "Adult, nine columns, ARX's hierarchies, age as 74 values",
            "sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        },
        "results": results,
    }


def measure(data: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Measure one case in this process."""
    import resource
    import tempfile
    import time

    from incrowd.data.encoding import encode
    from incrowd.data.read import read_table
    from incrowd.engines.local import LocalEngine
    from incrowd.methods.conditions import Conditions
    from incrowd.methods.table import METHODS
    from incrowd.metrics.table import measure as losses_of
    from incrowd.progress import silent

    table = read_table(data)
    with tempfile.TemporaryDirectory() as folder:
        specs = _specs(data.parent / "hierarchies_arx", Path(folder))
        rows, _ = encode(table, COLUMNS, specs)
    method = METHODS[case["method"]](**case["settings"])
    engine = LocalEngine(threads=1)
    few = rows.with_nodes(rows.nodes[:, :50].copy(), rows.is_suppressed[:50].copy())
    started = time.perf_counter()
    METHODS[case["method"]]().run(few, Conditions(2), engine, 0, silent)
    compiled = time.perf_counter()
    after = method.run(rows, Conditions(case["k"]), engine, 0, silent)
    finished = time.perf_counter()
    losses = losses_of(rows, after, case["k"])
    return {
        "seconds": round(finished - compiled, 3),
        "compile_seconds": round(compiled - started, 3),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "losses": {name: round(losses[name], 6) for name in SHOWN_LOSSES},
    }


def _specs(folder: Path, scratch: Path) -> dict[str, Any]:
    """Return ARX's hierarchies, with the ages cut down to those that the paper counts."""
    from incrowd.data.specs import HierarchySpec

    specs = {name: HierarchySpec("file", path=folder / f"{name}.csv") for name in COLUMNS}
    lines = (folder / "age.csv").read_text(encoding="utf-8").splitlines()
    ages = [line for line in lines if AGES[0] <= int(line.split(";")[0]) <= AGES[1]]
    cut = scratch / "age.csv"
    cut.write_text("\n".join(ages) + "\n", encoding="utf-8")
    return {**specs, "age": HierarchySpec("file", path=cut)}


def _measured_apart(data: Path, case: dict[str, Any]) -> dict[str, Any]:
    program = (
        "import json, sys; from pathlib import Path; from incrowd.bench.tables import measure; "
        "print(json.dumps(measure(Path(sys.argv[1]), json.loads(sys.argv[2]))))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(data), json.dumps(case)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: dict[str, Any] = json.loads(finished.stdout)
    return measured


def _commit() -> str:
    finished = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return finished.stdout.strip()

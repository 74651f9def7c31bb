"""The workload ``tables``: methods on Adult with ARX's hierarchies, by settings and k.

Every case runs in a process of its own, so that its peak memory is its own. The loops are compiled
on a handful of rows first; that time is kept apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.shared.datasets import ADULT, ADULT_NINE, AGES, require, specs_of
from benchmarks.shared.provenance import file_record, provenance
from incrowd.progress import Progress

SMALL_K = (2, 3, 5, 10, 100)
SHOWN_LOSSES = ("nllm", "loss", "ncp", "average_class_size")


def cases() -> Iterator[dict[str, Any]]:
    """Yield every case: a method, its settings and k."""
    for k in SMALL_K:
        for partitions in (1, 32):
            settings = {"partitions": partitions, "repair": "no"}
            yield {"method": "greedy", "settings": settings, "k": k}
    for k in (2, 10, 100):
        for reorganize in ("levels-first", "values-first", "none"):
            settings = {"partitions": 8, "repair": "no", "reorganize": reorganize}
            yield {"method": "greedy", "settings": settings, "k": k}
    for k in (2, 5, 10, 100):
        for strict in (True, False):
            yield {"method": "mondrian", "settings": {"strict": strict}, "k": k}
        yield {"method": "greedy", "settings": {"metric": "loss"}, "k": k}
        yield {"method": "cluster", "settings": {}, "k": k}


def run(folder: Path, progress: Progress) -> dict[str, Any]:
    """Measure every case; ``folder`` holds the data sets."""
    data = require(folder, ADULT)
    stated = list(cases())
    results = []
    for number, case in enumerate(stated):
        progress("measuring", number, len(stated))
        results.append({**case, **_measured_apart(data, case)})
    progress("measuring", len(stated), len(stated))
    return {
        "workload": "tables",
        **provenance(),
        "data": file_record("Adult, nine columns, ARX's hierarchies, age as 74 values", data),
        "results": results,
    }


def measure(data: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Measure one case in this process."""
    import resource
    import tempfile
    import time

    from incrowd.encoding.encode import encode
    from incrowd.engines.local.engine import LocalEngine
    from incrowd.measures.losses.tables import measure as losses_of
    from incrowd.methods.shared.conditions import Conditions
    from incrowd.methods.table import METHODS
    from incrowd.progress import silent
    from incrowd.tables.read import read_table

    table = read_table(data)
    with tempfile.TemporaryDirectory() as folder:
        specs = specs_of(data.parent / "hierarchies_arx", ADULT_NINE, Path(folder), AGES)
        rows, _ = encode(table, ADULT_NINE, specs)
    kind: Any = METHODS[case["method"]]
    method = kind(**case["settings"])
    engine = LocalEngine(threads=1)
    few = rows.with_nodes(rows.nodes[:, :50].copy(), rows.is_suppressed[:50].copy())
    started = time.perf_counter()
    kind().run(few, Conditions(2), engine, 0, silent)
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


def _measured_apart(data: Path, case: dict[str, Any]) -> dict[str, Any]:
    program = (
        "import json, sys; from pathlib import Path; "
        "from benchmarks.tables.workload import measure; "
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

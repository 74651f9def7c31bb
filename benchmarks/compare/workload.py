"""The workload ``compare``: the front of three methods on Adult, by ``incrowd compare``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.shared.datasets import ADULT, ADULT_EIGHT, ADULT_HIERARCHIES, require
from benchmarks.shared.extras import require_bench_extra
from benchmarks.shared.provenance import file_record, provenance
from incrowd.progress import Progress

K = (2, 5, 10, 50)
METHODS = ("cluster", "greedy", "mondrian")
PREDICTED = "salary-class"


def run(folder: Path, progress: Progress) -> dict[str, Any]:
    """Compare releases of Adult; ``folder`` holds the data sets."""
    from incrowd.compare.comparison import compare
    from incrowd.guarantees.tables.k_anonymity import KAnonymity
    from incrowd.hierarchies.specs import HierarchySpec
    from incrowd.job.job import Job
    from incrowd.methods.table import METHODS as KNOWN
    from incrowd.tables.schema import Schema

    versions = require_bench_extra("the workload compare")
    data = require(folder, ADULT)
    hierarchies = {
        name: HierarchySpec("file", path=require(folder, f"{ADULT_HIERARCHIES}/{name}.csv"))
        for name in ADULT_EIGHT
    }
    job = Job(
        schema=Schema(ADULT_EIGHT, sensitive=[PREDICTED]),
        guarantee=KAnonymity(K[0]),
        method=KNOWN[METHODS[0]](),
        hierarchies=hierarchies,
        data=data,
    )
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch) / "compare.json"
        found = compare(job, K, METHODS, predict=PREDICTED, output=kept, progress=progress)
    comparison = found.to_dict()
    del comparison["fingerprint"]
    return {
        "workload": "compare",
        **provenance(),
        "packages": versions,
        "data": file_record("Adult, eight columns and salary-class, ARX's hierarchies", data),
        "comparison": comparison,
    }

"""The files of the workload ``scale``, each written by a process of its own and kept while it runs.

=========  ============================================================================
data       recipe
=========  ============================================================================
voters     generated voters with a further column, elections voted in (0 to 7), which is
           sensitive and drawn evenly; one Parquet file, and a folder of part files that
           several tasks can read, beside the hierarchies as files
lists      generated user lists as Parquet
payments   generated payments with a k for each of 5 to 20, drawn evenly, as Parquet
baskets    generated baskets of a shop, and as many rules drawn from them
=========  ============================================================================
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.adaptive.data import payments
from benchmarks.greedy.data import ZIP_POPULATION, as_table, voters, zip_population
from benchmarks.rules.data import SHOP, RuleData
from benchmarks.sets import data as sets_data
from benchmarks.shared.cases import Measured
from benchmarks.shared.processes import call_apart
from benchmarks.shared.provenance import file_sha256, require_file
from incrowd.hierarchies.files import write_hierarchy
from incrowd.sets.files import write_sets
from incrowd.sets.format import SetFormat

VOTERS_AT_ONCE = 10_000_000
"""Longer voter lists are drawn in blocks of so many, each from a seed of its own."""

N_PARTS = 8
"""Part files of each block: Spark reads a small file by one task."""

ELECTIONS = 8
LOWEST_K, HIGHEST_K = 5, 20


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Hold files until this process ends."""
    return tempfile.TemporaryDirectory(prefix="incrowd-scale-")


@cache
def write_data(kind: str, sizes: tuple[int, ...], folder: Path) -> tuple[Path, Measured]:
    """Return the folder of some data, written now or before, and what results say of them."""
    target = Path(_scratch().name) / "-".join([kind, *map(str, sizes)])
    target.mkdir()
    words = [kind, json.dumps(sizes), str(folder), str(target)]
    return target, call_apart("benchmarks.scale.data", *words)


# ── inside the process ──────────────────────────────────────────────────────────────────────────


def write_voters(n_rows: int, target: Path, folder: Path) -> Measured:
    """Write ``voters.parquet`` and the hierarchies of its columns."""
    population = zip_population(require_file(folder, ZIP_POPULATION))
    whole, parts = target / "voters.parquet", target / "voters"
    parts.mkdir()
    distinct = np.empty(0, dtype=np.int64)
    for block, first in enumerate(range(0, n_rows, VOTERS_AT_ONCE)):
        count = min(VOTERS_AT_ONCE, n_rows - first)
        rows = voters(count, population, 1 + block)
        sizes = [tree.n_leaves for tree in rows.hierarchies]
        distinct = np.union1d(distinct, np.ravel_multi_index(list(rows.nodes), sizes))
        elections = np.random.default_rng(block).integers(0, ELECTIONS, count)
        names = pa.array([str(number) for number in range(ELECTIONS)])
        table = as_table(rows).append_column("elections", names.take(pa.array(elections)))
        for part in range(N_PARTS):
            start, end = (count * place // N_PARTS for place in (part, part + 1))
            name = f"part-{block * N_PARTS + part:05d}.parquet"
            parquet.write_table(table.slice(start, end - start), parts / name)
        if n_rows <= VOTERS_AT_ONCE:
            parquet.write_table(table, whole)
        for tree in rows.hierarchies:
            write_hierarchy(tree, target / f"{tree.name}.csv")
    digest = hashlib.sha256()
    for path in sorted(parts.iterdir()):
        digest.update(file_sha256(path).encode())
    size = sum(path.stat().st_size for path in parts.iterdir())
    shape = {"n_rows": n_rows, "n_distinct": len(distinct)}
    return {"name": "voters", **shape, "n_bytes": size, "sha256": digest.hexdigest()}


def write_lists(n_rows: int, n_items: int, target: Path) -> Measured:
    """Write ``lists.parquet``."""
    path = target / "lists.parquet"
    return {**sets_data.write_lists(n_rows, n_items, path), "n_bytes": path.stat().st_size}


def write_payments(n_rows: int, target: Path) -> Measured:
    """Write ``payments.parquet``, whose column ``k`` has everybody's own k."""
    drawn = payments(n_rows)
    columns = {
        name: pa.array(codes.astype(str))
        for name, codes in zip(drawn.names, drawn.codes, strict=True)
    }
    k = np.random.default_rng(0).integers(LOWEST_K, HIGHEST_K + 1, n_rows)
    path = target / "payments.parquet"
    parquet.write_table(pa.table({**columns, "k": pa.array(k.astype(str))}), path)
    shape = {"n_rows": n_rows, "columns": list(drawn.names)}
    return {"name": "payments", **shape, **_file(path)}


def write_baskets(n_rows: int, n_items: int, longest: int, n_rules: int, target: Path) -> Measured:
    """Write ``baskets.parquet``, ``rules.txt`` and the sensitive items."""
    data = RuleData(SHOP, n_rules, n_rows, n_items, longest)
    sets, is_sensitive, rules = data.load(target)
    path = target / "baskets.parquet"
    write_sets(sets, path, SetFormat("lists", row_column="basket", item_column="items"))
    held = set(sets.items.tolist())  # of few baskets not all items are
    sensitive = [str(item) for item in is_sensitive.nonzero()[0] if item in held]
    (target / "sensitive.txt").write_text("\n".join(sensitive) + "\n", encoding="utf-8")
    stated = [
        f"{' '.join(map(str, public))} -> {' '.join(map(str, consequent))}\n"
        for public, consequent in map(rules.rule, range(n_rules))
    ]
    (target / "rules.txt").write_text("".join(stated), encoding="utf-8")
    return {"name": "baskets", "n_rows": sets.n_rows, "n_items": n_items, **_file(path)}


def _file(path: Path) -> Measured:
    return {"n_bytes": path.stat().st_size, "sha256": file_sha256(path)}


def main(kind: str, sizes: str, folder: str, target: str) -> Measured:
    """Write some data; return what results say of them."""
    writers: dict[str, Callable[..., Measured]] = {
        "voters": partial(write_voters, folder=Path(folder)),
        "lists": write_lists,
        "payments": write_payments,
        "baskets": write_baskets,
    }
    return writers[kind](*json.loads(sizes), Path(target))

"""Other packages on the same table as our methods, price_table by the same losses.

A released cell may be a node of the column's hierarchy, a range of numbers (``17-23``) or a list of
values (``a,b``): what it covers is what it costs. A row that is missing costs all that there is.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.greedy.data import ADULT, ADULT_EIGHT, ADULT_HIERARCHIES, DataSet
from benchmarks.greedy.peer_script import NOT_INSTALLED, PEERS
from benchmarks.shared.cases import Measured
from benchmarks.shared.provenance import require_file
from incrowd.encoding.rows import Rows
from incrowd.errors import DataError
from incrowd.hierarchies.costs import cost_to_root
from incrowd.hierarchies.tree import Hierarchy
from incrowd.tables.files.read import read_table


def measure_peers(folder: Path, all_k: Sequence[int], seconds: int) -> list[Measured]:
    """Run every peer for every k on Adult, each for so many seconds at most; say who is absent."""
    data = DataSet("adult")
    record, rows = data.record(folder), data.load(folder)
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        table, released = Path(scratch) / "adult.csv", Path(scratch) / "released.csv"
        _write_texts(require_file(folder, ADULT), table)
        for peer in PEERS:
            for k in all_k:
                words = [peer, str(table), str(folder / ADULT_HIERARCHIES), str(k), str(released)]
                result = _run_peer(words, seconds)
                if "seconds" in result:
                    result |= _judge(released, rows, k)
                results.append({"data": record, "peer": peer, "k": k, **result})
    return results


def _run_peer(words: list[str], seconds: int) -> Measured:
    """Run a peer where it is installed: in this environment, else in ``PEERS_PYTHON``."""
    script = str(Path(__file__).with_name("peer_script.py"))
    for interpreter in filter(None, [sys.executable, os.environ.get("PEERS_PYTHON")]):
        try:
            finished = subprocess.run(
                [interpreter, script, *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": f"stopped after {seconds} s"}
        if finished.returncode == 0:
            return {"outcome": "released", **json.loads(finished.stdout.splitlines()[-1])}
        if finished.returncode != NOT_INSTALLED:
            lines = finished.stderr.strip().splitlines()
            return {"outcome": f"failed: {lines[-1].split(':')[0] if lines else 'no message'}"}
    return {"outcome": "not installed"}


def _judge(released: Path, rows: Rows, k: int) -> Measured:
    """Return the losses of a released table by our prices, and whether it keeps k."""
    with released.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    counts = [int(line["count"]) for line in lines]
    cells = {name: [line[name] for line in lines] for name in rows.names}
    groups: dict[tuple[str, ...], int] = {}
    for line, count in zip(lines, counts, strict=True):
        key = tuple(line[name] for name in rows.names)
        groups[key] = groups.get(key, 0) + count
    losses = price_table(cells, counts, rows.hierarchies, rows.n_rows)
    return {
        "losses": {name: round(value, 6) for name, value in losses.items()},
        "n_groups": len(groups),
        "n_suppressed": rows.n_rows - sum(counts),
        "keeps_k": bool(groups) and min(groups.values()) >= k,
    }


def _write_texts(source: Path, target: Path) -> None:
    """Write the eight columns as a plain CSV of texts."""
    frame = read_table(source).frame.select(list(ADULT_EIGHT))
    columns = [column.cast("string").to_pylist() for column in frame.columns]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(ADULT_EIGHT)
        writer.writerows(zip(*columns, strict=True))


_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)")


def price_table(
    cells: Mapping[str, Sequence[str]],
    counts: Sequence[int],
    hierarchies: Sequence[Hierarchy],
    n_rows: int,
) -> dict[str, float]:
    """Return ``loss`` and ``ncp`` of released cells, each line standing for ``counts`` rows."""
    weights = np.asarray(counts, dtype=np.int64)
    n_missing = n_rows - int(weights.sum())
    if n_missing < 0:
        raise DataError(f"{-n_missing} more rows were released than there were")
    lost = {"loss": 0.0, "ncp": 0.0}
    for hierarchy in hierarchies:
        texts, place = np.unique(np.asarray(cells[hierarchy.name], dtype=str), return_inverse=True)
        n_cells = np.bincount(place, weights=weights, minlength=len(texts))
        prices = [cell_prices(text, hierarchy) for text in texts.tolist()]
        for name in lost:
            lost[name] += n_missing + float(n_cells @ np.asarray([price[name] for price in prices]))
    n_cells_in_all = n_rows * len(hierarchies)
    return {name: total / n_cells_in_all for name, total in lost.items()}


def cell_prices(text: str, hierarchy: Hierarchy) -> dict[str, float]:
    """Return what one cell costs under each loss, from 0 to 1."""
    node = hierarchy.node_of_label.get(text)
    if node is not None:
        return {name: 1.0 - float(cost_to_root(hierarchy, name)[node]) for name in ("loss", "ncp")}
    found = _RANGE.fullmatch(text)
    if found and hierarchy.values is not None:
        low, high = float(found[1]), float(found[2])
        n_leaves = int(np.count_nonzero((hierarchy.values >= low) & (hierarchy.values <= high)))
        if n_leaves == 0:
            raise DataError(
                f"column {hierarchy.name!r}: a released range has none of its values",
                examples=[text],
            )
        width = (high - low) / float(hierarchy.width[hierarchy.root])
        return {"loss": _share(n_leaves, hierarchy), "ncp": width}
    listed = set(text.split(","))
    if not listed <= hierarchy.leaf_of_value.keys():
        raise DataError(
            f"column {hierarchy.name!r}: a released cell is no node, range or list of its values",
            examples=[text],
        )
    n_leaves = len(listed)
    share = 0.0 if n_leaves == 1 else n_leaves / hierarchy.n_leaves
    return {"loss": _share(n_leaves, hierarchy), "ncp": share}


def _share(n_leaves: int, hierarchy: Hierarchy) -> float:
    return (n_leaves - 1) / max(1, hierarchy.n_leaves - 1)

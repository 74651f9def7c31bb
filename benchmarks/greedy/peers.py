"""Other packages and our own methods on the same table, in the same run."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from json import loads
from pathlib import Path
from typing import Any

from benchmarks.greedy.peer_script import NOT_INSTALLED, PEERS
from benchmarks.greedy.pricing import priced
from benchmarks.greedy.sizes import Sizes
from benchmarks.shared.datasets import ADULT, ADULT_EIGHT, ADULT_HIERARCHIES, DataSet, load, require
from benchmarks.shared.measured import Case
from benchmarks.shared.plans import OWN, Measured, measured_plan, own
from incrowd.progress import Progress


def peers(
    folder: Path, sizes: Sizes, progress: Progress, python: str | None
) -> tuple[list[Measured], list[Measured]]:
    """Measure our methods, then every peer that this or another Python has; say who is absent."""
    cases: list[Case] = [
        own(method, settings, k)
        for k in sizes.peer_k
        for method, settings in (*OWN, ("mondrian", {"strict": False}))
    ]
    results, data = measured_plan("our methods", [(DataSet("adult"), cases)], folder, progress)
    total = len(PEERS) * len(sizes.peer_k)
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "adult.csv"
        rows = load(DataSet("adult"), folder)
        _write_texts(require(folder, ADULT), table)
        for number, (peer, k) in enumerate((peer, k) for peer in PEERS for k in sizes.peer_k):
            progress("measuring peers", number, total)
            released = Path(scratch) / "released.csv"
            said = _run_peer(peer, table, folder / ADULT_HIERARCHIES, k, released, sizes, python)
            if said.get("seconds") is not None:
                said |= _judged(released, rows, k)
            results.append({"data": "adult", "peer": peer, "k": k, **said})
    progress("measuring peers", total, total)
    return results, data


def _run_peer(
    peer: str,
    table: Path,
    hierarchies: Path,
    k: int,
    released: Path,
    sizes: Sizes,
    python: str | None,
) -> dict[str, Any]:
    """Run a peer where it is installed: in this environment, else in the other one, if given."""
    script = Path(__file__).with_name("peer_script.py")
    for interpreter in [sys.executable, *([python] if python else [])]:
        words = [interpreter, str(script), peer, str(table), str(hierarchies), str(k)]
        try:
            finished = subprocess.run(
                [*words, str(released)],
                capture_output=True,
                text=True,
                check=False,
                timeout=sizes.peer_seconds,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": f"stopped after {sizes.peer_seconds} s"}
        if finished.returncode == 0:
            said: dict[str, Any] = loads(finished.stdout.splitlines()[-1])
            return {"outcome": "released", **said}
        if finished.returncode != NOT_INSTALLED:
            lines = finished.stderr.strip().splitlines()
            return {"outcome": f"failed: {lines[-1].split(':')[0] if lines else 'no message'}"}
    return {"outcome": "not installed"}


def _judged(released: Path, rows: Any, k: int) -> dict[str, Any]:
    """Return the losses of a released table by our prices, and whether it keeps k."""
    with released.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    counts = [int(line["count"]) for line in lines]
    cells = {name: [line[name] for line in lines] for name in rows.names}
    groups: dict[tuple[str, ...], int] = {}
    for line, count in zip(lines, counts, strict=True):
        key = tuple(line[name] for name in rows.names)
        groups[key] = groups.get(key, 0) + count
    losses = priced(cells, counts, rows.hierarchies, rows.n_rows)
    return {
        "losses": {name: round(value, 6) for name, value in losses.items()},
        "n_groups": len(groups),
        "n_suppressed": rows.n_rows - sum(counts),
        "keeps_k": bool(groups) and min(groups.values()) >= k,
    }


def _write_texts(source: Path, target: Path) -> None:
    """Write the eight columns as a plain CSV of texts."""
    from incrowd.tables.read import read_table

    frame = read_table(source).frame.select(list(ADULT_EIGHT))
    columns = [column.cast("string").to_pylist() for column in frame.columns]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(ADULT_EIGHT)
        writer.writerows(zip(*columns, strict=True))

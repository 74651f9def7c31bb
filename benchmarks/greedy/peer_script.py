"""Run one other package on a table, in a process and maybe an environment of its own.

``python peer_script.py PEER DATA HIERARCHIES K RELEASED`` reads a CSV of texts and a folder of
hierarchies (``;`` between levels, no header), writes the released cells with how many rows have
them (``count``), and prints time, peak memory and version as JSON. Exit 3: not installed here.
It needs nothing of incrowd, so that a peer's own environment is enough.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

NOT_INSTALLED = 3


def anjana(data: Any, levels: dict[str, Any], k: int, suppressed_percent: int = 0) -> Any:
    """Full-domain generalization; nothing may be suppressed."""
    from anjana.anonymity import k_anonymity

    columns = list(levels)
    hierarchies = {name: dict(table) for name, table in levels.items()}
    return k_anonymity(data[columns], [], columns, k, suppressed_percent, hierarchies)


def anjana_suppressing(data: Any, levels: dict[str, Any], k: int) -> Any:
    """The same where up to a twentieth of the rows may be suppressed."""
    return anjana(data, levels, k, 5)


def anonypy(data: Any, levels: dict[str, Any], k: int) -> Any:
    """Mondrian, strict on categories; ages are numbers, the rest categories; no hierarchies."""
    import pandas
    from anonypy import Preserver

    columns = list(levels)
    frame = data[columns].copy()
    for name in columns:
        is_number = frame[name].str.fullmatch(r"\d+").all()
        frame[name] = frame[name].astype("int64" if is_number else "category")
    frame["everyone"] = "x"  # it wants a sensitive column
    released = Preserver(frame, columns, "everyone").anonymize_k_anonymity(k=k)
    lines = [{name: _shown(cell) for name, cell in line.items()} for line in released]
    return pandas.DataFrame(lines)


def _shown(cell: Any) -> Any:
    """Return a cell's only text, its values in one order."""
    return ",".join(sorted(cell[0].split(","))) if isinstance(cell, list) else cell


def crowds(data: Any, levels: dict[str, Any], k: int) -> Any:
    """Optimal Lattice Anonymization: one level per column; nothing may be suppressed."""
    from crowds.kanonymity import ola
    from crowds.kanonymity.generalizations import GenRule

    rules = {
        name: GenRule([dict(zip(table[0], table[level], strict=True)).get for level in table][1:-1])
        for name, table in levels.items()
    }
    released, _ = ola.anonymize(data[list(levels)], rules, k=k)
    return released.fillna("*")


PEERS = {
    "anjana": ("anjana", anjana),
    "anjana, 5% suppressed": ("anjana", anjana_suppressing),
    "anonypy": ("anonypy", anonypy),
    "crowds": ("crowds", crowds),
}
"""By name: the package, and how it is run."""


def main(peer: str, data: str, hierarchies: str, k: str, released: str) -> int:
    """Run a peer; what it prints is not shown."""
    package, run = PEERS[peer]
    try:
        import pandas

        version = importlib.metadata.version(package)
        importlib.import_module(package)
    except ImportError:
        return NOT_INSTALLED
    table = pandas.read_csv(data, dtype=str)
    levels = {
        name: pandas.read_csv(Path(hierarchies) / f"{name}.csv", sep=";", header=None, dtype=str)
        for name in table.columns
    }
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result = run(table, levels, int(k))
    seconds = time.perf_counter() - started
    columns = list(table.columns)
    if "count" not in result.columns:
        result = result[columns].value_counts().reset_index(name="count")
    result[[*columns, "count"]].to_csv(released, index=False)
    account = {
        "version": version,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": _peak_memory(),
    }
    print(json.dumps(account))
    return 0


def _peak_memory() -> int:
    """Return this program's own peak: what getrusage says goes on from the process before it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

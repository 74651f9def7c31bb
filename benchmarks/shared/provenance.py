"""Where results come from: the machine, the versions, the commit, the data."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.version import __version__


def provenance() -> dict[str, Any]:
    """Return what a reader needs to judge a measurement: versions, commit and machine."""
    return {
        "incrowd": __version__,
        "commit": _commit(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numba", "numpy", "polars", "pyarrow")},
        },
    }


def _commit() -> str:
    finished = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.stdout.strip()


def cores() -> int:
    """Return how many processors a run may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_file(folder: Path, name: str) -> Path:
    """Return the path of a data set's file; raise if it is missing."""
    path = folder / name
    if not path.exists():
        raise InputError(
            f"a workload needs the data set {name}",
            remedy="Set INCROWD_DATA to the folder that holds the data sets.",
        )
    return path


def file_sha256(path: Path) -> str:
    """Return the hash of a data set's file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
